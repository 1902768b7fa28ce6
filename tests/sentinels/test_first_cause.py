"""Which of many errors was the first: one rank fails, and its peers lose their connections."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.sentinels.kit import Finding, ProcessEnded
from middlewatch.sentinels.kit.first_cause import root

from .story import MAIN, Story

PEER = "RuntimeError: [transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:4711"
BY_LAUNCHER = "E1122 20:12:34.51 7 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {code}) local_rank: 1 (pid: 71) of binary: /usr/bin/python"


def crash(story: Story) -> Finding:
    (finding,) = story.asks("crash")
    return finding


def survivors(story: Story, named: bool = True) -> Story:
    for rank in (0, 2):
        story.wait(0.1).says("gloo_error", PEER, rank=rank if named else None)
    return story


def launcher(story: Story, code: int) -> Story:
    text = BY_LAUNCHER.format(code=code)
    story.wait(1).says("rank_failed", text, role="cascade", rank=1, exitcode=code)
    if code == -9:
        story.says("process_killed", text, exitcode=code, signal=9)
    return story


def rank_ends(story: Story, code: int | None = None, signal: int | None = None) -> Story:
    story.endings.append(ProcessEnded(story.now, 71, False, code, signal, 1, "python"))
    return story


def test_an_error_of_the_program_beats_those_of_its_peers(story: Story) -> None:
    survivors(story.train(30)).wait(0.2).says(
        "python_exception", "KeyError: 'a'", rank=1, exception="KeyError", message="'a'"
    )
    finding = crash(launcher(story, 1).end(1).wait(3))
    assert finding.trouble == "python_exception"
    assert finding.summary.startswith("KeyError: 'a' (rank 1); the run ended")


@pytest.mark.parametrize(
    ("code", "trouble", "words"),
    [
        (3, "rank_failed", "process 71 ended with exit status 3 (rank 1)"),
        (-9, "process_killed", "process 71 was killed (SIGKILL) (rank 1)"),
        (-11, "segfault", "process 71 crashed (SIGSEGV) (rank 1)"),
        (1, "rank_failed", "process 71 ended with exit status 1 (rank 1)"),
    ],
)
def test_the_rank_that_the_launcher_saw_failing_first(
    story: Story, code: int, trouble: str, words: str
) -> None:
    finding = crash(launcher(survivors(story.train(30)), code).end(1).wait(3))
    assert (finding.trouble, finding.summary.split(";")[0]) == (trouble, words)


@pytest.mark.parametrize("code", [-15, -6])
def test_a_rank_that_the_launcher_or_its_library_ended_is_no_cause(story: Story, code: int) -> None:
    finding = crash(launcher(survivors(story.train(30)), code).end(1).wait(3))
    assert finding.trouble == "gloo_error"


def test_exit_status_1_says_nothing_where_no_line_has_a_rank(story: Story) -> None:
    finding = crash(launcher(survivors(story.train(30), named=False), 1).end(1).wait(3))
    assert finding.trouble == "gloo_error"


def test_a_survivor_that_ended_first_is_no_cause(story: Story) -> None:
    """The failed rank may take long to die: then torchrun sees a peer of it failing first."""
    story.train(30).says("gloo_error", PEER, rank=1)
    finding = crash(launcher(story, 1).end(1).wait(3))
    assert finding.trouble == "gloo_error"


@pytest.mark.parametrize(
    ("code", "signal", "trouble", "words"),
    [
        (None, 9, "process_killed", "process 71 was killed (SIGKILL) (rank 1)"),
        (None, 11, "segfault", "process 71 crashed (SIGSEGV) (rank 1)"),
        (3, None, "rank_failed", "process 71 ended with exit status 3 (rank 1)"),
    ],
)
def test_the_end_of_a_rank_as_the_kernel_tells_it(
    story: Story, code: int | None, signal: int | None, trouble: str, words: str
) -> None:
    survivors(rank_ends(story.train(30), code, signal))
    finding = crash(story.end(1).wait(3))
    assert (finding.trouble, finding.summary.split(";")[0]) == (trouble, words)
    assert finding.details["pid"] == 71


@pytest.mark.parametrize(("code", "signal"), [(0, None), (None, 15), (None, 6), (None, None)])
def test_an_end_that_says_nothing(story: Story, code: int | None, signal: int | None) -> None:
    survivors(rank_ends(story.train(30), code, signal))
    assert crash(story.end(1).wait(3)).trouble == "gloo_error"


def test_the_run_is_stuck_because_a_rank_was_killed(story: Story) -> None:
    survivors(rank_ends(story.train(30), signal=9)).wait(40)
    finding = crash(story)
    assert (finding.trouble, finding.key) == ("process_killed", "error")
    assert crash(story.end(1).wait(3)).replaces[:2] == ("error", "loop")


def test_the_table_of_a_launcher_names_all(story: Story) -> None:
    story.train(30).says("nccl_timeout", "collective operation timeout", rank=0)
    story.says("process_killed", "  exitcode  : -9 (pid: 72)", exitcode=-9, signal=9)
    assert crash(story.end(1).wait(3)).trouble == "nccl_timeout"


def test_what_passes_an_error_on_is_no_root(story: Story) -> None:
    story.says("python_exception", "the wrapper", role="cascade", exception="CalledProcessError")
    story.says("python_exception", "the program", exception="ValueError")
    found = root(story.events)
    assert found is not None
    assert found.text == "the program"


def _fault(story: Story, pid: int = MAIN, **more: Any) -> Story:
    text = f"python[{pid}]: segfault at 0 ip 00007f sp 00007f error 4 in libfoo.so[7f00+1000]"
    return story.says("segfault", text, file="kernel", pid=pid, **more)


def test_the_kernel_names_the_library(story: Story) -> None:
    _fault(story.train(30), library="libfoo.so").end(None, 11)
    finding = crash(story.wait(3))
    assert finding.trouble == "segfault"
    assert finding.summary.startswith("process 100 crashed in libfoo.so, says the kernel; the run")


def test_the_kernel_knows_how_a_process_ended_that_nobody_saw(story: Story) -> None:
    _fault(story.train(30, total=99)).end().wait(3)
    assert crash(story).trouble == "segfault"
    assert story.asks("silent_end") == []


def test_the_kernel_log_has_the_crashes_of_others(story: Story) -> None:
    _fault(story.train(30, total=99), pid=4711).end().wait(3)
    assert story.asks("crash") == []
    assert len(story.asks("silent_end")) == 1


def test_an_exception_that_ended_a_thread_is_quoted(story: Story) -> None:
    story.train(30).says(
        "python_exception", "OSError: queue closed", role="confirmation", severity="info",
        fatal=False, exception="OSError", message="queue closed",
    )  # fmt: skip
    finding = crash(story.end(4).wait(3))
    assert "OSError: queue closed" in [e.text for e in finding.evidence]


def test_timeout_tells_itself_by_its_status(story: Story) -> None:
    finding = crash(story.train(30).end(124).wait(3))
    assert finding.trouble == "sigterm_received"
    assert "time limit" in finding.summary


def test_a_rank_that_its_launcher_has_started_again_is_no_cause(story: Story) -> None:
    """At the end of a stage all ranks leave with a status of their own, by design."""
    rank_ends(story.train(60), code=64)
    assert story.train(20).asks("crash") == []
    survivors(story, named=False).wait(1).end(1).wait(5)
    assert crash(story).trouble == "gloo_error"
