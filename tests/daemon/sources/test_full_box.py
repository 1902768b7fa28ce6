"""Thousands of processes beside a run: looked at a few at a time, and what is the run's is found."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.launch.exit_record import RUN_VARIABLE
from middlewatch.daemon.sources import newcomers
from middlewatch.daemon.sources.newcomers import Known, Newcomers
from middlewatch.daemon.sources.processes import LOOK_AT, MOST, TREE_EVERY, Processes
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.listing import Listing
from middlewatch.daemon.system.processes import Process

from ...fakes.clock import FakeClock
from ..launch.test_programs import FakeProc as Commands
from .test_processes import FakeProc, look, looks


class Counting(Listing):
    """Says which processes are looked at."""

    def __init__(self, root: Path) -> None:
        super().__init__(root=str(root), fresh_s=0.0)
        self.looked: list[int] = []

    def stat(self, pid: int) -> procfs.Stat | None:
        self.looked.append(pid)
        return super().stat(pid)

    def since(self) -> list[int]:
        looked, self.looked = self.looked, []
        return looked


@pytest.fixture
def box(tmp_path: Path) -> FakeProc:
    root = tmp_path / "proc"
    root.mkdir()
    made = FakeProc(root)
    made.put(10)
    return made


Begin = Callable[..., tuple[Processes, Counting]]


@pytest.fixture
def begin(box: FakeProc) -> Iterator[Begin]:
    made: list[Processes] = []

    def start(**spec: object) -> tuple[Processes, Counting]:
        counting = Counting(box.root)
        run = RunSpec("run", pid=10, start_ticks=100, **spec)  # type: ignore[arg-type]
        made.append(Processes(run, str(box.root), counting))
        return made[-1], counting

    yield start
    for source in made:
        source.close()


def crowd(box: FakeProc, first: int, count: int, ppid: int = 1) -> None:
    for pid in range(first, first + count):
        box.put(pid, ppid, listed=False)


def test_no_read_looks_at_more_than_some(box: FakeProc, begin: Begin) -> None:
    crowd(box, 1000, 3 * LOOK_AT + 50)
    box.put(9000, 10, listed=False)  # of another thread: only its parent tells
    source, counting = begin()
    looked = []
    for _ in range(5):
        looks(source, 1)
        looked.append(counting.since())
    assert [len(pids) for pids in looked] == [LOOK_AT, LOOK_AT, LOOK_AT, 51, 0]
    assert len({pid for pids in looked for pid in pids}) == 3 * LOOK_AT + 51
    assert set(look(source)[1]) == {10, 9000}
    looks(source, 3 * TREE_EVERY)
    assert counting.since() == [], "what is not of the run is looked at once"


def test_what_has_just_come_goes_before_what_waits(box: FakeProc, begin: Begin) -> None:
    crowd(box, 1000, (TREE_EVERY + 3) * LOOK_AT)
    source, counting = begin()
    looks(source, TREE_EVERY)
    box.put(90_000, 10, listed=False)
    counting.since()
    assert 90_000 in look(source)[1]
    assert counting.since()[0] == 90_000


def test_a_child_that_is_met_before_its_parent(box: FakeProc, begin: Begin) -> None:
    """Pids begin anew: the parent has the higher one, and is looked at a second later."""
    box.put(500, 9000)
    crowd(box, 1000, LOOK_AT)
    box.put(9000, 10, listed=False)
    box.list_children(9000)
    source, _ = begin()
    assert set(look(source)[1]) == {10}
    assert set(look(source)[1]) == {10, 500, 9000}


def test_the_children_of_what_has_left_the_tree(box: FakeProc, begin: Begin) -> None:
    crowd(box, 1000, LOOK_AT)
    box.put(9000, 1, listed=False, env=f"{RUN_VARIABLE}=/run/exit.json")
    box.put(500, 9000)
    source, _ = begin(exit_file="/run/exit.json")
    assert set(looks(source, 3)[1]) == {10, 500, 9000}


def test_too_many_of_one_run_are_not_read_again_and_again(box: FakeProc, begin: Begin) -> None:
    for pid in range(1000, 1000 + MOST + 300):
        box.put(pid, 10, listed=False)
    source, counting = begin()
    looks(source, TREE_EVERY)
    assert source.left_out == 301
    counting.since()
    looks(source, 3 * TREE_EVERY)
    assert counting.since() == []
    box.drop(1000)
    looks(source, TREE_EVERY + 1)
    assert source.left_out == 300, "one that was left out takes the place of one that ended"


def test_a_variable_is_read_once_for_all_runs(
    box: FakeProc, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd(box, 1000, 50)
    read: list[int] = []
    environ = procfs.environ

    def counted(pid: int, root: str = procfs.PROC) -> dict[str, str]:
        read.append(pid)
        return environ(pid, root)

    monkeypatch.setattr(procfs, "environ", counted)
    shared = Listing(FakeClock(), str(box.root))
    runs = []
    for main in range(100, 110):
        box.put(main)
        spec = RunSpec("run", pid=main, start_ticks=100, exit_file=f"/exit-{main}")
        runs.append(Processes(spec, str(box.root), shared))
    for run in runs:
        list(run.read(1.0))
        run.close()
    assert sorted(set(read)) == sorted(read)


def test_newcomers_are_examined_some_at_a_time_and_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, clock = tmp_path / "proc", FakeClock()
    folder.mkdir()
    made = Commands(folder)
    for pid in range(1000, 1000 + 3 * newcomers.MOST):
        made.add(pid, "sleep 9")
    examined: list[int] = []

    def process(root: str, pid: int) -> Process:
        examined.append(pid)
        return Process(root, pid)

    monkeypatch.setattr(newcomers, "Process", process)
    listing = Listing(clock, str(folder))
    known = Known((), (), (), ())
    child = ("sed", "-u", 's/.*/{"runs": []}/')
    source = Newcomers(clock, lambda: known, len, "/panes", str(folder), child, listing)
    source.read(clock.now())
    (answers,) = source.fds()
    select.select([answers], [], [], 180)
    source.ready(answers, clock.now())
    assert source.due_at is None
    counts = []
    made.add(9000, "sleep 9")
    clock.jump(newcomers.EVERY_S)
    for _ in range(4):
        source.read(clock.now())
        counts.append(len(examined))
        if len(counts) == 2:
            assert examined[newcomers.MOST] == 9000
        clock.jump(source.due_at - clock.now() if source.due_at else newcomers.EVERY_S)
    assert counts == [newcomers.MOST * n for n in (1, 2, 3)] + [3 * newcomers.MOST + 1]
    assert len(set(examined)) == len(examined)
    assert source.due_at is None
    clock.jump(newcomers.AGAIN_S)
    source.read(clock.now())
    assert len(examined) == 4 * newcomers.MOST + 1, "all are looked at again, as slowly"
    assert source.due_at == clock.now() + newcomers.HURRY_EVERY_S
    source.close()
