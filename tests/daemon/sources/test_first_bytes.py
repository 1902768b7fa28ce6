"""The resident process opens no file to see whether it is a checkpoint: a child does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.finder import CheckpointFinder
from middlewatch.daemon.service.context import FAR_ARGV
from middlewatch.daemon.sources.far_scan import FolderSearch
from middlewatch.daemon.system.guard import Guards

MODEL = '{"learner":{"attributes":{}},"version":[2,1,0]}'


@pytest.fixture
def guards() -> Iterator[Guards]:
    made = Guards(FAR_ARGV)
    yield made
    made.close()


def until(search: FolderSearch, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not done():
        assert time.monotonic() < deadline
        search.scan(time.time())
        time.sleep(0.05)


def child_of(search: FolderSearch) -> int | None:
    assert search._bytes is not None
    return search._bytes._guard._child.pid


def test_a_model_is_found_by_what_a_child_reads(tmp_path: Path, guards: Guards) -> None:
    (tmp_path / "booster-10.json").write_text(MODEL)
    (tmp_path / "scores-10.json").write_text("{}")
    search = FolderSearch([str(tmp_path)], guards)
    assert search.scan(time.time()) == {}
    until(search, lambda: bool(search.known()))
    assert [os.path.basename(p) for p in search.known()] == ["booster-10.json"]
    assert search.was_first(str(tmp_path / "booster-10.json")), "it was there before"
    # The next of its kind need not be opened; the child is not kept.
    (tmp_path / "booster-20.json").write_text(MODEL)
    until(search, lambda: len(search.known()) == 2)
    until(search, lambda: child_of(search) is None)
    search.close()


def test_a_child_that_hangs_stops_nobody(tmp_path: Path, guards: Guards) -> None:
    """As on a disk that does not answer: the scans go on, and the file is found when it does."""
    (tmp_path / "booster-10.json").write_text(MODEL)
    search = FolderSearch([str(tmp_path)], guards)
    search.scan(time.time())
    pid = child_of(search)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    (tmp_path / "step_5.safetensors").write_bytes(b"")
    until(search, lambda: len(search.known()) == 1)
    os.kill(pid, signal.SIGCONT)
    until(search, lambda: len(search.known()) == 2)
    search.close()


def test_a_child_that_dies_is_asked_again(tmp_path: Path, guards: Guards) -> None:
    (tmp_path / "booster-10.json").write_text(MODEL)
    search = FolderSearch([str(tmp_path)], guards)
    search.scan(time.time())
    pid = child_of(search)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(search, lambda: len(search.known()) == 1)
    search.close()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "data-10.pkl")
    assert CheckpointFinder([str(tmp_path)]).scan_all() == {}
