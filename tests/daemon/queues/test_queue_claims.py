"""A start happens once or never, wherever whoever began it was killed. Real supervisors and processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from middlewatch.daemon.launch.exit_record import read_exit
from middlewatch.daemon.launch.start import Launched, launch
from middlewatch.daemon.queues.claims import claiming, give_up, look, resolve, supervisor_of
from middlewatch.daemon.queues.ownership import own
from middlewatch.daemon.queues.roster import Attempt
from middlewatch.daemon.system import procfs

T = TypeVar("T")
BOOT = procfs.boot_id()


def until(look: Callable[[], T], what: str) -> T:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError(f"it never came: {what}")


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(
        run="a-0001",
        digest="d",
        boot=BOOT,
        exit_file=str(tmp_path / "exit.json"),
        log=str(tmp_path / "output.log"),
        claim=str(tmp_path / "claim"),
        intent_at=0.0,
    )


@pytest.fixture
def begin(tmp_path: Path, attempt: Attempt) -> Iterator[Callable[[str], Launched]]:
    started: list[Launched] = []

    def start(script: str) -> Launched:
        launched = launch(
            claiming(Path(attempt.claim), ["sh", "-c", script]),
            name="a",
            log=attempt.log,
            exit_file=attempt.exit_file,
            cwd=tmp_path,
            keep_buffering=True,
        )
        started.append(launched)
        return launched

    yield start
    for one in started:
        for pid in (one.supervisor_pid, one.pid):
            if procfs.start_ticks(pid) is not None and pid != os.getpid():
                os.kill(pid, signal.SIGKILL)


def test_an_intent_that_went_no_further_is_void_for_good(
    tmp_path: Path, attempt: Attempt, begin: Callable[[str], Launched]
) -> None:
    assert resolve(attempt, BOOT).what == "void"
    begin("echo ran >> ran")  # the start was still on its way
    record = until(lambda: read_exit(attempt.exit_file), "the end")
    assert record is not None
    assert record.exit_code == 75
    assert not (tmp_path / "ran").exists()
    assert resolve(attempt, BOOT).what == "void", "the exit status of a start given up is no cell's"


def test_a_start_that_nobody_wrote_down_is_found(
    tmp_path: Path, attempt: Attempt, begin: Callable[[str], Launched]
) -> None:
    launched = begin("echo ran >> ran; exec sleep 600")
    until((tmp_path / "ran").exists, "the command")
    seen = resolve(attempt, BOOT)
    assert (seen.what, seen.pid) == ("running", launched.pid)
    assert seen.ticks == procfs.start_ticks(launched.pid)
    assert supervisor_of(attempt.exit_file) == launched.supervisor_pid
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_an_end_that_nobody_wrote_down_is_found(
    attempt: Attempt, begin: Callable[[str], Launched]
) -> None:
    begin("exit 3")
    until(lambda: read_exit(attempt.exit_file), "the end")
    seen = resolve(attempt, BOOT)
    assert seen.what == "ended"
    assert seen.exit is not None
    assert seen.exit.exit_code == 3


def test_a_process_without_a_record_is_lost_only_when_it_is_gone(
    tmp_path: Path, attempt: Attempt, begin: Callable[[str], Launched]
) -> None:
    launched = begin("echo ran >> ran; exec sleep 600")
    until((tmp_path / "ran").exists, "the command")
    attempt.pid, attempt.ticks = launched.pid, launched.start_ticks
    attempt.supervisor = launched.supervisor_pid
    attempt.supervisor_ticks = procfs.start_ticks(launched.supervisor_pid)
    assert look(attempt, BOOT).what == "running"
    os.kill(launched.supervisor_pid, signal.SIGKILL)
    until(lambda: procfs.start_ticks(launched.supervisor_pid) is None, "the supervisor is gone")
    assert look(attempt, BOOT).what == "running"
    os.kill(launched.pid, signal.SIGKILL)
    until(lambda: procfs.start_ticks(launched.pid) is None, "the command is gone")
    assert look(attempt, BOOT).what == "lost"
    assert resolve(attempt, BOOT).what == "lost"


def test_another_process_with_that_pid_is_not_it(attempt: Attempt) -> None:
    ticks = procfs.start_ticks(os.getpid())
    assert ticks is not None
    attempt.pid, attempt.ticks = os.getpid(), ticks - 1
    assert look(attempt, BOOT).what == "lost"
    attempt.ticks = ticks
    assert look(attempt, BOOT).what == "running"
    assert look(attempt, "another boot").what == "lost"


def test_one_of_many_gives_up(tmp_path: Path) -> None:
    claim = tmp_path / "claim"
    claim.touch()  # as the command makes it
    assert not give_up(str(claim))
    assert give_up(str(tmp_path / "other"))
    assert give_up(str(tmp_path / "other")), "given up stays given up"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claim", "other"]


def test_a_cell_has_one_owner(tmp_path: Path) -> None:
    folder = str(tmp_path / "cells" / "a")
    here = {"queue": "1", "host": "box1", "state_dir": "/s"}
    there = {"queue": "2", "host": "box2", "state_dir": "/s"}
    assert own(folder, here, False) is None
    assert own(folder, here, False) is None
    assert own(folder, there, False) == here
    assert own(folder, there, True) is None
    assert own(folder, here, False) == there
    assert list(Path(folder).iterdir()) == [], "trainers want it empty"
    assert [path.name for path in (tmp_path / "cells" / ".owners").iterdir()] == ["a.json"]
