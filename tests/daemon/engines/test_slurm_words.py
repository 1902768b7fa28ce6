"""States, reasons and nodes in plain words. The lines were printed by Slurm 22.05."""

from __future__ import annotations

import pytest

from middlewatch.daemon.engines import slurm_words
from middlewatch.daemon.engines.engine import Standing

RUNNING = (
    "JobId=12 ArrayJobId=10 ArrayTaskId=1 JobName=gpt UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A "
    "JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=2 BatchFlag=1 ExitCode=0:0 "
    "RunTime=01:02:03 TimeLimit=1-00:00:00 NodeList=n[1-2] TRES=cpu=4,mem=200M,node=2,billing=4 "
    "Command=/home/ada/my jobs/gpt.sbatch WorkDir=/home/ada/训练 StdOut=/home/ada/训练/gpt-12.out"
)


def test_a_line_as_fields() -> None:
    job = slurm_words.fields(RUNNING)
    assert job["JobState"] == "RUNNING"
    assert job["TRES"] == "cpu=4,mem=200M,node=2,billing=4"
    assert job["Command"] == "/home/ada/my jobs/gpt.sbatch"
    assert job["WorkDir"] == "/home/ada/训练"
    assert slurm_words.asked_bytes(job) == 200 << 20
    assert slurm_words.reason(job) == ""


@pytest.mark.parametrize(
    ("state", "standing"),
    [
        ("PENDING", "waiting"),
        ("REQUEUE_HOLD", "waiting"),
        ("RUNNING", "running"),
        ("COMPLETING", "running"),
        ("COMPLETED", "finished"),
        ("OUT_OF_MEMORY", "failed"),
        ("CANCELLED by 1000", "stopped"),
        ("CANCELLED+", "stopped"),
        ("TIMEOUT", "stopped"),
        ("NODE_FAIL", "stopped"),
        ("NEW_IN_30", "unknown"),
    ],
)
def test_standings(state: str, standing: Standing) -> None:
    assert slurm_words.standing(state) == standing


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("JobState=PENDING Reason=Priority", "other jobs come first (Priority)"),
        ("JobState=PENDING Reason=QOSMaxGRESPerUser", "a limit of its QOS or account"),
        ("JobState=PENDING Reason=SomethingNew", "SomethingNew"),
        ("JobState=PENDING Reason=Dependency Dependency=afterok:7(unfulfilled)", "afterok:7"),
        (
            "JobId=8 JobState=PENDING Reason=DependencyNeverSatisfied Dependency=afterok:7(failed)",
            "it waits for ever: what it had to come after will never be (afterok:7(failed)); end it: scancel 8",
        ),
        ("JobState=TIMEOUT Reason=TimeLimit TimeLimit=00:01:00", "its time limit of 00:01:00"),
        ("JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0", "it ended with exit status 3"),
        ("JobState=FAILED Reason=RaisedSignal:9(Killed) ExitCode=0:9", "signal 9 ended it"),
        ("JobState=PREEMPTED Reason=None", "a job that goes before it"),
        ("JobState=COMPLETED Reason=None", ""),
    ],
)
def test_reasons(line: str, said: str) -> None:
    reason = slurm_words.reason(slurm_words.fields(line))
    assert said in reason
    assert bool(said) == bool(reason)


def test_memory() -> None:
    ended = "JobState=OUT_OF_MEMORY ExitCode=0:125 TRES=cpu=1,mem=1G"
    assert "try 1.2 times that, --mem=1229M" in slurm_words.reason(slurm_words.fields(ended))
    # With accounting the largest of its steps is known.
    said = slurm_words.reason(slurm_words.fields(f"{ended} MaxRSS=2000M"))
    assert "the most that was seen is 2000M: ask for 1.2 times that, --mem=2400M" in said
    # Only the step was killed, and the script ended as it likes.
    step = "JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0 DerivedExitCode=0:125"
    assert "it needed more memory" in slurm_words.reason(slurm_words.fields(step))
    plain = "JobState=FAILED ExitCode=1:0 DerivedExitCode=1:0"
    assert "memory" not in slurm_words.reason(slurm_words.fields(plain))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1-02:03:04", 93784.0), ("03:04", 184.0), ("00:00:00", 0.0), ("UNLIMITED", None)],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert slurm_words.seconds(text) == seconds


def test_sizes() -> None:
    words = ("81234K", "1.5G", "12", "4Gn", "", "16?")
    assert [slurm_words.size(word) for word in words] == [
        *(81234 << 10, 3 << 29, 12, 4 << 30, None, None),
    ]


def test_nodes() -> None:
    text = "n1|idle|none\nn2|down*|Not responding\nn3|drained|ECC errors\nn3|drained|ECC errors\nn4|mixed|none\n"
    mended = "once that is mended, an administrator types: scontrol update NodeName={} State=RESUME"
    assert [*slurm_words.nodes_in_trouble(text)] == [
        f"node n2 is down, and does not answer: Not responding; {mended.format('n2')}",
        f"node n3 is drained: ECC errors; {mended.format('n3')}",
    ]
