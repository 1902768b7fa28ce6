"""When a run is looked at again: real processes, the real child, and a clock of our own."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.save_folder import SaveFolder, joined, shape
from middlewatch.daemon.sources.programs.save_search import answer_to
from middlewatch.daemon.sources.save_folders import (
    LATER_S,
    MOST_PAUSE_S,
    REGULAR_S,
    SaveFolders,
)
from middlewatch.daemon.sources.searches import AT_ONCE, Searches
from middlewatch.daemon.system import descriptors, procfs
from middlewatch.daemon.system.descriptors import Descriptors
from middlewatch.sentinels.kit import CheckpointSaved

WRITER = """
import os, sys
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Stage:
    """One process that does what it is told, and the source that watches it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.child = subprocess.Popen(
            [sys.executable, "-c", WRITER],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.found: dict[str, SaveFolder] = {}
        self.grown_at: float | None = None
        self.source = SaveFolders(
            self.question, lambda: [self.child.pid], lambda: self.grown_at, self.take
        )
        self.now = time.time()

    def question(self) -> dict[str, Any]:
        seen = procfs.stat(self.child.pid)
        return {
            "pids": [[self.child.pid, seen.start_ticks if seen else 0]],
            "cwd": str(self.folder / "work"),
            "started_at": time.time() - 60,
            "known": [
                {"path": f.path, "whole": f.whole, "names": f.names} for f in self.found.values()
            ],
        }

    def take(self, folders: list[SaveFolder], unclear: list[str]) -> None:
        for folder in folders:
            self.found[folder.path] = joined(self.found.get(folder.path, folder), folder)

    def do(self, code: str) -> None:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(code + "\n")
        self.child.stdin.flush()
        assert self.child.stdout.readline() == "done\n"

    def turns(self, seconds: float) -> int:
        """Let time pass in turns of a second; the number of looks."""
        before = self.source.looks
        for _ in range(round(seconds)):
            self.now += 1.0
            self.source.read(self.now)
            self._answer()
        return self.source.looks - before

    def _answer(self) -> None:
        self.answer(self.source, self.now)

    def answer(self, source: SaveFolders, now: float) -> None:
        """Wait for the child of this source."""
        deadline = time.monotonic() + 180
        while source._worker is not None and time.monotonic() < deadline:
            for fd in source.fds():
                if select.select([fd], [], [], 0.2)[0]:
                    source.ready(fd, now)

    def close(self) -> None:
        self.source.close()
        self.source._searches.close()
        self.child.kill()
        self.child.communicate()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    (tmp_path / "work").mkdir()
    made = Stage(tmp_path)
    yield made
    made.close()


def test_it_looks_often_at_first_and_rarely_later(stage: Stage) -> None:
    stage.turns(1)
    assert stage.turns(REGULAR_S[-1]) == len(REGULAR_S)
    assert stage.turns(3 * LATER_S) == 3


def test_a_look_that_must_wait_for_descriptors_is_made_up_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.turns(REGULAR_S[-1] + 1)
    with monkeypatch.context() as scarce:
        scarce.setattr(descriptors, "own", Descriptors(limit=lambda: 0))
        for child in stage.source._searches._idle:
            child.close()
            # No other one is started before the kernel has ended it, which a busy box puts off.
            deadline = time.monotonic() + 180
            while child.stuck_pid is not None and time.monotonic() < deadline:
                time.sleep(0.01)
        assert stage.turns(LATER_S) == 0
    assert stage.turns(3) == 1
    assert stage.turns(20) == 0


def test_a_folder_that_comes_late(stage: Stage) -> None:
    stage.turns(REGULAR_S[-1] + 1)
    stage.do("os.makedirs('work/late'); open('work/late/step_1.pt', 'wb').write(b'x' * 50000)")
    assert stage.turns(3) == 1
    assert list(stage.found) == [str(stage.folder / "work/late")]


def test_what_a_process_has_open_when_it_writes_much(stage: Stage) -> None:
    stage.turns(REGULAR_S[-1] + 1)
    stage.do("os.makedirs('far'); f = open('far/model.pt', 'wb'); f.write(b'x' * 50000); f.flush()")
    stage.now += 1
    stage.source.read(stage.now)  # here it is still open
    stage.do("f.close()")
    stage.turns(3)
    assert stage.found[str(stage.folder / "far")].why.endswith(f"{stage.folder}/far/model.pt")


def test_a_claim_in_the_log(stage: Stage) -> None:
    stage.turns(REGULAR_S[-1] + 1)
    path = str(stage.folder / "far/7.state")
    stage.source.claimed(CheckpointSaved(stage.now, 7, path), f"Saving to {path}", stage.now)
    assert stage.turns(3) == 1
    assert stage.found == {}  # the line came before the save
    stage.do("os.makedirs('far'); open('far/7.state', 'wb').write(b'x')")
    stage.turns(9)
    assert stage.found[str(stage.folder / "far")].names == ("#.state",)


def test_saves_to_known_folders_need_no_look(stage: Stage) -> None:
    stage.turns(REGULAR_S[-1] + 1)
    for number in range(5):
        stage.do("open('x.log', 'wb').write(b'x' * 50000)")
        stage.source.claimed(CheckpointSaved(stage.now, number, "7.pt"), "saved 7.pt", stage.now)
        stage.grown_at = stage.now + 1
        assert stage.turns(30) == 0


def test_a_run_that_writes_much_and_saves_nothing_costs_little(stage: Stage) -> None:
    stage.turns(REGULAR_S[-1] + 1)
    looks = 0
    for _ in range(200):
        stage.do("open('x.log', 'ab').write(b'x' * 50000)")
        looks += stage.turns(3)
    assert looks <= 10  # the pause between two of them has doubled to 300 s
    assert stage.source._pause_s == MOST_PAUSE_S
    stage.do("os.makedirs('work/a'); open('work/a/last.pt', 'wb').write(b'x' * 50000)")
    stage.source.ended(stage.now)
    stage.turns(1)
    assert list(stage.found) == [str(stage.folder / "work/a")]


def test_the_child_answers_anything() -> None:
    assert answer_to(b"{}") == {"folders": [], "unclear": []}
    for line in (b"", b"[]", b'{"pids": 3}', b'{"known": [{}]}'):
        assert "error" in answer_to(line)


def test_what_two_looks_say_of_one_folder() -> None:
    first = SaveFolder("/w", "a", whole=False, names=("net_#.pt",))
    both = joined(first, SaveFolder("/w", "b", whole=False, names=("=x.pt", "net_#.pt")))
    assert both == SaveFolder("/w", "a", whole=False, names=("net_#.pt", "=x.pt"))
    assert [both.holds(n) for n in ("net_12.pt", "x.pt", "y.pt")] == [True, True, False]
    many = joined(first, SaveFolder("/w", "", False, tuple(f"={n}" for n in range(100))))
    assert (len(many.names), many.names[-1]) == (64, "=99")
    assert shape("epoch=3-val_loss=0.25.ckpt") == "epoch=#-val_loss=#.#.ckpt"


def test_few_of_many_runs_are_looked_at_at_once(stage: Stage) -> None:
    """Of six runs that are due, two are asked, then the next two, by the same two children."""
    together = Searches()
    sources = [
        SaveFolders(stage.question, list, lambda: None, stage.take, searches=together)
        for _ in range(6)
    ]
    now, looked = stage.now, list[int]()
    try:
        for _ in range(4):
            now += REGULAR_S[-1]
            for source in sources:
                source.read(now)
            looked.append(sum(source.looks for source in sources))
            for source in sources:
                stage.answer(source, now)
    finally:
        for source in sources:
            source.close()
    assert looked == [0, 2, 4, 6]  # the first turn only begins the watch
    assert [worker.starts for worker in together._idle] == [1] * AT_ONCE
    together.close()


def test_a_child_that_ended_by_itself_is_reaped_and_another_started(stage: Stage) -> None:
    stage.turns(2)
    (child,) = stage.source._searches._idle
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 180
    while child.alive and time.monotonic() < deadline:
        stage.now += 1.0
        stage.source.read(stage.now)
        time.sleep(0.01)
    assert procfs.start_ticks(pid) is None
    stage.do("os.makedirs('work/late'); open('work/late/step_1.pt', 'wb').write(b'x' * 50000)")
    stage.turns(6)
    assert stage.found
    assert child.starts == 2


def test_a_child_that_dies_over_one_run_is_not_lent_to_another(stage: Stage) -> None:
    together = Searches()
    one, two = (
        SaveFolders(stage.question, list, lambda: None, stage.take, searches=together)
        for _ in range(2)
    )
    one.read(stage.now)
    now = stage.now + 2.0
    one.read(now)
    lost = one._worker
    assert lost is not None
    assert lost.pid is not None
    os.kill(lost.pid, signal.SIGKILL)
    stage.answer(one, now)
    assert one.trouble(now).endswith("the child that looks has ended")
    two.read(now)
    two.read(now + 2.0)
    assert two._worker is not None
    assert two._worker is not lost
    stage.answer(two, now + 2.0)
    assert two.trouble(now + 2.0) == ""
    one.close()
    two.close()
    together.close()
