"""A log that is not kept open, because descriptors are scarce. Most of what may happen to it is in
``test_log_tail.py``, where every test is run with and without descriptors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.sources.log_follow import QUIET_S, Follower
from middlewatch.daemon.system.descriptors import LEAST_RESERVE, Use
from middlewatch.daemon.system.inotify import ChangeHints, Inotify

from ..budget import Box

NOW = 1e9


class Log:
    """A log and its follower; ``look`` gives the new lines."""

    def __init__(self, path: Path, box: Box, **options: object) -> None:
        self.path = path
        self.text = b""
        self.follower = Follower(str(path), budget=box.budget, **options)  # type: ignore[arg-type]

    def write(self, text: str, at: float = NOW - 10) -> None:
        with self.path.open("a") as file:
            file.write(text)
        os.utime(self.path, (at, at))

    def look(self) -> str:
        """Read as the daemon does: only if something has changed."""
        self.text = b""
        while not self.follower.unchanged() or self.follower.more:
            self.follower.advance(self._feed, NOW)
            if not self.follower.more:
                break
        return self.text.decode()

    def _feed(self, text: bytes) -> None:
        self.text += text

    @property
    def is_open(self) -> bool:
        return self.follower.fd >= 0


@pytest.fixture
def box() -> Iterator[Box]:
    """A budget with room for two logs."""
    with contextlib.closing(Box(2)) as made:
        yield made


def logs(folder: Path, box: Box, count: int) -> list[Log]:
    return [Log(folder / f"{n}.log", box) for n in range(count)]


def test_all_are_read_and_some_are_open(tmp_path: Path, box: Box) -> None:
    every = logs(tmp_path, box, 5)
    for number in range(1, 4):
        for log in every:
            log.write(f"{number}\n")
            assert log.look() == f"{number}\n"
            assert log.look() == ""
        assert [log.is_open for log in every] == [True, True, False, False, False]
        assert all(log.follower.size == 2 * number for log in every)
    assert box.budget.figures().without[Use.LOG] == 3
    every[0].follower.close()
    assert not every[2].is_open, "a log is not opened only because there is room"
    every[2].write("4\n")
    assert every[2].look() == "4\n"
    assert every[2].is_open
    for log in every:
        log.follower.close()
    assert box.budget.figures().used == 0


def test_an_unchanged_one_is_not_even_opened(tmp_path: Path, box: Box) -> None:
    box.limit -= 2
    (log,) = logs(tmp_path, box, 1)
    log.write("1\n")
    assert log.look() == "1\n"
    assert not log.is_open
    assert log.follower.known
    assert not log.follower.wakes
    box.limit = 0  # opening would fail
    assert log.follower.unchanged()
    assert log.look() == ""


def test_those_that_do_not_grow_are_let_go_first(tmp_path: Path, box: Box) -> None:
    quiet, growing, new = logs(tmp_path, box, 3)
    growing.write("1\n")
    growing.look()
    quiet.write("1\n", NOW - QUIET_S - 1)
    quiet.look()
    new.write("1\n")
    new.look()
    assert [quiet.is_open, growing.is_open, new.is_open] == [False, True, True]
    quiet.write("2\n", NOW - QUIET_S - 1)
    assert quiet.look() == "2\n"
    assert not quiet.is_open
    for log in (quiet, growing, new):
        log.follower.close()


def test_a_deleted_one_stays_open(tmp_path: Path, box: Box) -> None:
    deleted, other = logs(tmp_path, box, 2)
    for log in (deleted, other):
        log.write("1\n")
        log.look()
    with deleted.path.open("a") as writer:
        deleted.path.unlink()
        assert not box.budget.make_room(99)
        assert [deleted.is_open, other.is_open] == [True, False]
        writer.write("2\n")
        writer.flush()
        assert deleted.look() == "2\n"
        assert deleted.follower.nameless
        assert box.budget.figures().kept == 0, "it is needed"
    deleted.follower.close()
    other.follower.close()


def test_one_that_is_replaced_before_it_was_read_to_its_end(tmp_path: Path, box: Box) -> None:
    box.limit -= 2
    (log,) = logs(tmp_path, box, 1)
    log.write("1\n")
    log.look()
    log.write("2\n")
    log.path.rename(tmp_path / "old")
    assert log.look() == "2\n"
    assert log.is_open, "it has another name, and may still be written to"
    log.path.write_text("3\n")
    assert log.look() == "3\n"
    assert not log.is_open


def test_one_that_is_deleted_and_that_nobody_has_open_is_over(tmp_path: Path, box: Box) -> None:
    box.limit -= 2
    (log,) = logs(tmp_path, box, 1)
    log.write("1\n")
    log.look()
    log.path.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            log.look()
    log.path.write_text("5\n6\n")
    assert log.look() == "5\n6\n", "another log, from its start"


def test_it_is_not_searched_for_among_open_files_again_and_again(tmp_path: Path, box: Box) -> None:
    box.limit -= 2
    asked: list[int] = []
    log = Log(tmp_path / "0.log", box, reach=lambda place: asked.append(place.offset))
    log.write("1\n")
    log.look()
    log.path.unlink()
    for _ in range(20):
        with pytest.raises(FileNotFoundError):
            log.look()
    assert asked == [2, 2, 2]


def test_without_any_descriptor_nothing_is_lost_or_told_twice(tmp_path: Path, box: Box) -> None:
    (log,) = logs(tmp_path, box, 1)
    log.write("1\n")
    log.look()
    box.budget.make_room(99)
    assert not log.is_open
    log.write("2\n")
    room = box.limit
    for free in range(6):
        box.limit = free
        with pytest.raises(OSError, match="Too many open files"):
            log.look()
    box.limit = room
    assert log.look() == "2\n"
    log.follower.close()


def test_hints_of_growth_come_while_it_rests(tmp_path: Path) -> None:
    inotify = Inotify()
    with contextlib.closing(Box(1)) as box, contextlib.closing(inotify):
        hints = ChangeHints(inotify, str(tmp_path / "0.log"))
        log = Log(tmp_path / "0.log", box, adopted=hints.ask, released=hints.forget_file)
        log.write("1\n")
        log.look()
        box.budget.make_room(LEAST_RESERVE + 2)
        assert not log.is_open
        hints.clear(1.0)
        log.write("2\n")
        assert hints.collect(2.0)
        watches = inotify.count
        assert log.look() == "2\n"
        assert inotify.count == watches, "the same file, the same watch"
        hints.close()
        log.follower.close()
