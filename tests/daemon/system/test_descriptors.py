"""The budget of descriptors: on real files of this process, and at a real limit in a child."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.system import descriptors
from middlewatch.daemon.system.descriptors import LEAST_RESERVE, Descriptors, Use

from ..budget import Box, Held


@pytest.fixture
def box() -> Iterator[Box]:
    """A budget with 10 descriptors for keepers, beside those that this process has open already."""
    with contextlib.closing(Box(10)) as made:
        yield made


def test_what_is_open_is_counted() -> None:
    before = Descriptors().figures()
    assert before.used == len(os.listdir("/proc/self/fd")) - 1
    with open(os.devnull):
        assert Descriptors().figures().used == before.used + 1
    assert 0 < before.reserved < before.limit
    assert before.needed == before.used


@pytest.mark.parametrize(("limit", "reserved"), [(20, 16), (128, 32), (256, 64), (1 << 20, 128)])
def test_the_reserve_is_in_proportion(limit: int, reserved: int) -> None:
    assert Descriptors(limit=lambda: limit).reserved == reserved


def test_nobody_keeps_more_than_there_is_room_for(box: Box) -> None:
    kept = [box.open(Use.PROCESS) for _ in range(13)]
    assert [one.held for one in kept] == [True] * 10 + [False] * 3
    figures = box.budget.figures()
    assert (figures.kept, figures.without[Use.PROCESS]) == (10, 3)
    assert figures.limit - figures.used == LEAST_RESERVE
    assert not box.budget.has_room(Use.PROCESS)
    assert box.budget.has_room(Use.LOG), "something less useful can be given back"
    kept[0].close()
    assert box.budget.has_room(Use.PROCESS)
    assert kept[12].ask()
    assert not kept[11].ask()
    for one in kept[10:]:
        one.close()
    assert not any(box.budget.figures().without), "nobody asks any more"


def test_the_least_useful_goes_first(box: Box) -> None:
    groups = [box.open(Use.CONTROL_GROUP) for _ in range(4)]
    logs = [box.open(Use.LOG) for _ in range(6)]
    exits = [box.open(Use.MAIN_EXIT) for _ in range(7)]
    assert [one.held for one in groups] == [False] * 4
    assert [one.held for one in logs] == [False] * 3 + [True] * 3
    assert all(one.held for one in exits)
    assert not groups[0].ask()
    assert not logs[0].ask(), "its like are not sent away for it"
    assert box.budget.figures().without[Use.CONTROL_GROUP] == 4


def test_what_cannot_be_done_without_stays(box: Box) -> None:
    deleted = box.open(Use.CONTROL_GROUP, refuses=True)
    others = [box.open(Use.PROCESS) for _ in range(10)]
    assert deleted.held
    assert [one.held for one in others] == [True] * 9 + [False]
    assert box.budget.figures().kept == 9


def test_what_others_need_is_given_back(box: Box) -> None:
    kept = [box.open(Use.PROCESS), *(box.open(Use.LOG) for _ in range(9))]
    with contextlib.ExitStack() as needed:
        for held in (9, 9, 9, 6):
            for _ in range(3):
                needed.enter_context(open(os.devnull))
            box.budget.settle()
            assert sum(one.held for one in kept) == held
        assert [one.held for one in kept] == [False] * 4 + [True] * 6
        assert box.budget.make_room(LEAST_RESERVE // 2 + 2)
        assert [one.held for one in kept] == [False] * 6 + [True] * 4
        assert not box.budget.make_room(LEAST_RESERVE // 2 + 3, below=Use.LOG)
        assert sum(one.held for one in kept) == 4
        assert not box.budget.make_room(LEAST_RESERVE + 99)
        assert not any(one.held for one in kept)
    assert all(one.ask() for one in kept)


def test_a_limit_that_is_lowered_meanwhile(box: Box) -> None:
    kept = [box.open(Use.LOG) for _ in range(10)]
    box.limit -= LEAST_RESERVE // 2 + 2
    assert not box.open(Use.LOG).held
    box.budget.settle()
    assert sum(one.held for one in kept) == 8
    box.limit = 3
    box.budget.settle()
    assert not any(one.held for one in kept)
    assert box.budget.reserved == LEAST_RESERVE


def test_what_is_offered_goes_before_anything_that_is_kept(box: Box) -> None:
    kept = [box.open(Use.CONTROL_GROUP) for _ in range(9)]
    pipes = box.held(3)
    box.budget.offer(pipes, Use.IDLE_CHILD, 3)
    box.budget.settle()
    assert not pipes.held
    assert all(one.held for one in kept)
    assert not any(box.budget.figures().without), "nothing is lost by it"


def test_another_thread_gives_nothing_back(box: Box) -> None:
    kept = box.open(Use.CONTROL_GROUP)
    box.budget._thread += 1
    assert not box.budget.make_room(LEAST_RESERVE + 99)
    assert kept.held


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(list(Use)[1:]), st.booleans())))
def test_the_reserve_is_never_taken(moves: list[tuple[int, Use, bool]]) -> None:
    with contextlib.closing(Box(7)) as box:
        known: dict[int, Held] = {}
        for number, use, close in moves:
            if close and number in known:
                known.pop(number).close()
            elif not close:
                known[number] = known.get(number) or box.held(1)
                known[number].ask(use)
            figures = box.budget.figures()
            assert figures.limit - figures.used >= LEAST_RESERVE
            assert figures.kept == sum(one.held for one in known.values()) <= 7
            assert figures.kept + sum(figures.without) == len(known)


LIMITED = """
import os, resource
from middlewatch.daemon.system import descriptors
from middlewatch.daemon.system.descriptors import Use, own
from middlewatch.daemon.system.kept_file import KeptFile

assert resource.getrlimit(resource.RLIMIT_NOFILE) == (40, 64)
descriptors.raise_limit()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (64, 64)
assert descriptors.limit_of_children() == 40
files = [KeptFile("/proc/self/stat", use=Use.PROCESS, by_inode=False) for _ in range(100)]
figures = own.figures()
assert figures.used + figures.reserved == figures.limit == 64, figures
assert figures.kept + figures.without[Use.PROCESS] == 100, figures
needed = [os.open("/dev/null", os.O_RDONLY) for _ in range(16)]
try:
    os.open("/dev/null", os.O_RDONLY)
except OSError:
    pass
else:
    raise AssertionError("the limit is not what it should be")
needed.append(own.open_file("/dev/null", os.O_RDONLY))
assert own.figures().kept == figures.kept - 1
while own.figures().kept:
    needed.append(own.open_file("/dev/null", os.O_RDONLY))
try:
    own.open_file("/dev/null", os.O_RDONLY)
except OSError as error:
    assert descriptors.none_left(error), error
else:
    raise AssertionError("more than the limit")
os.close(needed.pop())
assert all(file.read().startswith(b"%d (" % os.getpid()) for file in files)
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
assert descriptors.limit_of_children() == 20
print("well")
"""


def test_a_process_at_its_limit() -> None:
    limits = 'ulimit -Sn 40; ulimit -Hn 64; exec "$0" -c "$1"'
    done = subprocess.run(
        ["sh", "-c", limits, sys.executable, LIMITED], capture_output=True, text=True, check=False
    )
    assert done.stdout == "well\n", done.stderr


def test_before_linux_6_2_the_folder_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Look:
        st_size = 0

    with monkeypatch.context() as before:
        before.setattr(os, "stat", lambda path: Look)
        listed = descriptors._open_now()
    assert listed == descriptors._open_now()
