"""From which checkpoint a run goes on, and whether it may."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.resume import plan as resuming
from middlewatch.daemon.resume.requirements import missing_names, what_is_missing
from middlewatch.daemon.system.clock import iso
from middlewatch.sentinels.handbook import pages

NOW = 1_800_000_000.0


def run(**more: Any) -> dict[str, Any]:
    return {
        "run": "gpt-1",
        "name": "gpt",
        "state": "failed",
        "pid": 7,
        "command": ["python", "train.py"],
        "cwd": "/nowhere",
        "home": "setsid",
        "started_at": iso(NOW - 900),
        "ended_at": iso(NOW),
        "exit": {"code": None, "signal": 9},
        "env_names": ["HOME", "CUDA_VISIBLE_DEVICES"],
        "resumed_from": None,
        "now": {"step": 57, "last_step_at": iso(NOW - 60)},
        "checkpoint_dirs": [],
        "checkpoints": {"resume_from": None},
        **more,
    }


def incident(trouble: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "i1",
        "class": trouble,
        "severity": "critical",
        "state": "open",
        "opened_at": iso(NOW - 60),
        "last_seen_at": iso(NOW),
        "remedy": {"first_step": "Look."},
        **more,
    }


class Disk:
    """Files that pass or do not, and how often each was read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.read: list[str] = []
        self.bad: dict[str, tuple[str, str]] = {}

    def save(self, name: str, step: int, state: str = "ok", **more: Any) -> dict[str, Any]:
        path = self.folder / name
        path.write_bytes(b"x" * 100)
        at = NOW - 600 + step
        os.utime(path, (at, at))
        return {
            "path": str(path),
            "step": step,
            "epoch": None,
            "saved_at": iso(at),
            "bytes": 100,
            "format": "torch",
            "verified": {"state": state, "level": "finite", "at": iso(at), "detail": ""},
            **more,
        }

    def check(self, path: str) -> dict[str, Any]:
        self.read.append(os.path.basename(path))
        state, detail = self.bad.get(os.path.basename(path), ("ok", ""))
        return {"path": path, "state": state, "level": "finite", "detail": detail, "step": 1,
                "epoch": None, "bytes": 100, "format": "torch"}  # fmt: skip


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def test_the_newest_that_passed(disk: Disk) -> None:
    index = {"checkpoints": [disk.save("a.pt", 10), disk.save("b.pt", 20)]}
    chosen = resuming.choose(index, "", disk.check, again=False, now=NOW)
    assert chosen.entry is index["checkpoints"][1]
    assert disk.read == []  # the verdict of the index holds: nothing has changed
    chosen = resuming.choose(index, "", disk.check, again=True, now=NOW)
    assert disk.read == ["b.pt"]
    assert chosen.verdict is not None
    assert chosen.verdict["at"] == iso(NOW)


@pytest.mark.parametrize("state", ["pending", "unverifiable"])
def test_what_was_not_judged_is_read_now(disk: Disk, state: str) -> None:
    index = {"checkpoints": [disk.save("a.pt", 10), disk.save("b.pt", 20, state)]}
    chosen = resuming.choose(index, "", disk.check, again=False, now=NOW)
    assert chosen.entry is not None
    assert (chosen.entry["step"], disk.read) == (20, ["b.pt"])


def test_a_file_that_changed_since_is_read_now(disk: Disk) -> None:
    index = {"checkpoints": [disk.save("a.pt", 10), disk.save("b.pt", 20)]}
    (disk.folder / "b.pt").write_bytes(b"y" * 100)
    disk.bad["b.pt"] = ("corrupt", "one bit")
    chosen = resuming.choose(index, "", disk.check, again=False, now=NOW)
    assert chosen.entry is index["checkpoints"][0]
    assert [s["detail"] for s in chosen.skipped] == ["one bit"]


def test_bad_and_vanished_ones_are_passed_over(disk: Disk) -> None:
    index = {
        "checkpoints": [
            disk.save("a.pt", 10),
            disk.save("b.pt", 20, "corrupt"),
            disk.save("c.pt", 30, "incomplete"),
            disk.save("d.pt", 40),
        ]
    }
    (disk.folder / "d.pt").unlink()
    chosen = resuming.choose(index, "", disk.check, again=True, now=NOW)
    assert [s["state"] for s in chosen.skipped] == ["gone", "incomplete", "corrupt"]
    plan = resuming.plan(run(), [run()], chosen, resuming.NOTHING, [])
    assert f"falls back to {disk.folder}/a.pt" in plan.warnings[2]
    assert disk.read == ["a.pt"]
    told = resuming.as_dict(plan)
    assert (told["step_lost"], told["minutes_lost"]) == (47, pytest.approx(530 / 60, abs=0.01))


def test_nothing_passed(disk: Disk) -> None:
    index = {"checkpoints": [disk.save("a.pt", 10, "corrupt")]}
    chosen = resuming.choose(index, "", disk.check, again=True, now=NOW)
    told = resuming.as_dict(resuming.plan(run(), [run()], chosen, resuming.NOTHING, []))
    assert (told["checkpoint"], told["command"], told["step_lost"]) == (None, None, None)


def test_one_that_a_person_names(disk: Disk) -> None:
    entry = disk.save("a.pt", 10, "pending")
    chosen = resuming.named({"checkpoints": [entry]}, entry["path"], disk.check, NOW)
    assert chosen.entry is entry
    disk.bad["a.pt"] = ("corrupt", "one bit")
    chosen = resuming.named({"checkpoints": []}, entry["path"], disk.check, NOW)
    assert chosen.entry is None
    assert chosen.skipped[0]["state"] == "corrupt"


def test_a_script_that_takes_its_newest_must_not_find_the_bad_one(disk: Disk) -> None:
    (disk.folder / "train.py").write_text(
        "from transformers import Trainer, TrainingArguments\n"
        "Trainer(args=TrainingArguments('o')).train(resume_from_checkpoint=True)\n"
    )
    good, bad = disk.save("checkpoint-10", 10), disk.save("checkpoint-20", 20, "corrupt")
    chosen = resuming.choose({"checkpoints": [good, bad]}, "", disk.check, again=False, now=NOW)
    there = run(cwd=str(disk.folder))
    told = resuming.as_dict(resuming.plan(there, [there], chosen, resuming.NOTHING, []))
    assert told["how"] == "itself"
    assert told["before"] == [f"mv {bad['path']} {bad['path']}.bad"]


# ------------------------------------------------------------------------------ whether it may


def test_every_class_of_the_handbook_is_decided() -> None:
    for trouble, entry in pages().items():
        retry = resuming.retry_of("failed", [incident(trouble)], ())
        allowed = entry.retry in ("yes", "once", "none", "ask") or trouble in resuming.BAD_SAVES
        assert retry["allowed"] is allowed, trouble
        assert retry["why"] == ("" if trouble in resuming.BAD_SAVES else entry.sections["Retry"])


def test_once_is_once() -> None:
    assert resuming.retry_of("failed", [incident("hang")], ())["allowed"]
    again = resuming.retry_of("failed", [incident("hang")], ("hang",))
    assert not again["allowed"]
    assert again["why"].startswith("it was tried once already")


def test_once_is_once_for_the_run_itself_too() -> None:
    """By its id it could be gone on with for ever, one run after the other."""
    first = run()
    assert not resuming.was_resumed([first], first)
    assert resuming.was_resumed([first, run(run="gpt-2", resumed_from="gpt-1")], first)


def test_a_save_from_after_the_numbers_went_bad_is_told(disk: Disk) -> None:
    good, late = disk.save("a.pt", 10), disk.save("b.pt", 50)
    retry = resuming.retry_of("failed", [incident("loss_nan", opened_at=iso(NOW - 570))], ())
    index = {"checkpoints": [good, late]}
    older = resuming.before_trouble(index, retry)
    assert older == good["path"]
    chosen = resuming.ChosenCheckpoint(late, late["verified"])
    plan = resuming.plan(run(), [run()], chosen, retry, [], older)
    assert any(f"--from {older} is older" in text for text in plan.warnings)
    plan = resuming.plan(
        run(), [run()], resuming.ChosenCheckpoint(good, good["verified"]), retry, [], older
    )
    assert not any("--from" in text for text in plan.warnings)
    killed = resuming.retry_of("failed", [incident("process_killed")], ())
    assert resuming.before_trouble(index, killed) == ""


def test_what_the_command_needs_is_looked_for(tmp_path: Path) -> None:
    assert what_is_missing(["sh", "-c", "true"], str(tmp_path)) == ""
    assert what_is_missing(["sh"], str(tmp_path / "gone")).startswith("its folder")
    assert what_is_missing(["./train"], str(tmp_path)) == "its program ./train does not exist"
    (tmp_path / "train").write_text("")
    (tmp_path / "train").chmod(0o755)
    assert what_is_missing(["./train"], str(tmp_path)) == ""


def test_open_critical_ones_decide_the_strictest_first() -> None:
    rows = [incident("preempted"), incident("loss_nan"), incident("cuda_oom", state="resolved")]
    assert resuming.retry_of("failed", rows, ())["class"] == "loss_nan"
    rows = [incident("gpu_slow", severity="warning"), incident("preempted", state="resolved")]
    assert resuming.retry_of("failed", rows, ())["class"] == "preempted"
    assert resuming.retry_of("failed", rows[:1], ()) == resuming.NOTHING
    unknown = resuming.retry_of("failed", [incident("no_such_class")], ())
    assert not unknown["allowed"]


def test_a_finished_run_has_nothing_left_to_do() -> None:
    assert not resuming.retry_of("finished", [], ())["allowed"]


def test_a_living_run_is_left_alone() -> None:
    alive = run(ended_at=None, exit=None)
    nothing = resuming.ChosenCheckpoint(None)
    plan = resuming.plan(alive, [alive], nothing, resuming.NOTHING, [])
    assert plan.refused == ["gpt-1 still runs (pid 7)"]
    ended = run()
    child = run(run="gpt-2", resumed_from="gpt-1", ended_at=None, exit=None, pid=9)
    plan = resuming.plan(ended, [ended, child], nothing, resuming.NOTHING, [])
    assert plan.refused == ["gpt-2 was resumed from it and still runs (pid 9)"]
    assert resuming.ancestors([ended, child], child) == ["gpt-1"]
    loop = run(resumed_from="gpt-1")
    assert resuming.ancestors([loop], loop) == ["gpt-1"]


def test_a_rank_without_its_launcher_counts_as_alive(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\ntime.sleep(60)\n")
    words = ["torchrun", "--nproc-per-node", "2", "train.py", "--seed", "41871"]
    rank = subprocess.Popen(
        [sys.executable, "-u", *words[3:]], cwd=tmp_path, stdin=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 120
        while not (found := resuming.survivors(words, str(tmp_path))):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert found == [rank.pid]
        assert resuming.survivors([*words, "--lr", "1"], str(tmp_path)) == []
    finally:
        rank.kill()
        rank.wait()


def test_which_run_is_meant() -> None:
    old = run(run="a-1", name="a", started_at=iso(NOW - 300))
    gone_on = run(run="b-1", name="b", started_at=iso(NOW - 200))
    living = run(run="b-2", name="b", state="running", started_at=iso(NOW - 100), resumed_from="b-1")  # fmt: skip
    runs = [old, gone_on, living]
    assert resuming.pick(runs, None) is old
    assert resuming.pick(runs, "b") is living
    assert resuming.pick(runs, "b-1") is gone_on
    assert resuming.pick(runs, "c") is None
    assert resuming.pick([living], None) is living
    assert resuming.pick([], None) is None


def test_variables_that_are_not_set_now() -> None:
    names = ["CUDA_VISIBLE_DEVICES", "SHLVL", "SSH_CONNECTION", "HOME", "WANDB_PROJECT", "LC_ALL"]
    assert missing_names(names, {"HOME": "/root"}) == [
        "CUDA_VISIBLE_DEVICES",
        "WANDB_PROJECT",
    ]


def test_a_tier_that_dies_is_said(disk: Disk) -> None:
    tier = {"survives_stop": False, "survives_destroy": False, "where": "/tmp of the container"}
    entry = disk.save("a.pt", 10, durability=tier)
    chosen = resuming.ChosenCheckpoint(entry, entry["verified"])
    plan = resuming.plan(run(), [run()], chosen, resuming.NOTHING, ["WANDB_PROJECT"])
    assert "lost when this box is stopped: /tmp of the container" in plan.warnings[0]
    assert "not set now: WANDB_PROJECT" in plan.warnings[1]


def test_who_is_started_inherits_nothing_of_the_check() -> None:
    """The check of the numbers keeps its library to one thread; the training has all of them."""
    code = (
        "import os; was = dict(os.environ); import middlewatch.daemon.cli.resume; "
        "import middlewatch.daemon.checkpoints.verify.nonfinite; assert dict(os.environ) == was"
    )
    bare = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    subprocess.run([sys.executable, "-c", code], env=bare, check=True)
