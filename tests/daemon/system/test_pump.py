from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.system.errors import Unsupported
from middlewatch.daemon.system.inotify import Inotify
from middlewatch.daemon.system.isolation import FAILURES, FIRST_PAUSE_S
from middlewatch.daemon.system.loop import ROUND_S, Loop
from middlewatch.daemon.system.pump import UNSUPPORTED_RETRY_S, Pump
from middlewatch.daemon.system.source import Source, TelemetryLost
from middlewatch.sentinels.kit import LogGrowth, Observation, SourceState

from ...fakes.clock import FakeClock

SEEN = LogGrowth(0.0, "a.log", 1, 1, 0.0)


class Scripted(Source):
    """A source that does what the test tells it to."""

    name = "scripted"

    def __init__(self, look: Callable[[], Iterable[Observation]] = lambda: ()) -> None:
        self.look = look
        self.heard: list[int] = []
        self.reads = 0
        self.late: str | None = None
        self.flaw = ""
        self.descriptors: tuple[int, ...] = ()
        self.due: float | None = None
        self.closed = 0

    def fds(self) -> Iterable[int]:
        return self.descriptors

    def read(self, now: float) -> Iterable[Observation]:
        self.reads += 1
        return self.look()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        self.heard.append(fd)
        os.read(fd, 100)
        return self.look()

    @property
    def due_at(self) -> float | None:
        return self.due

    def stalled(self, now: float) -> str | None:
        return self.late

    @property
    def impaired(self) -> str:
        return self.flaw

    def close(self) -> None:
        self.closed += 1


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.bugs: list[str] = []
        self.loop_bugs: list[Exception] = []
        self.loop = Loop(self.clock, self.loop_bugs.append)
        self.pump = Pump(self.loop, self.clock, self.bugs.append)
        self.taken: list[Observation] = []

    def add(self, source: Source) -> None:
        self.pump.add(source, self.taken.extend)
        self.loop.turn(0.0)

    def wait(self, seconds: float = 1.0) -> None:
        self.clock.jump(seconds)
        self.loop.turn(0.0)

    @property
    def states(self) -> list[tuple[str, str]]:
        return [(s.state, s.detail) for s in self.taken if isinstance(s, SourceState)]


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.loop.close()


def raising(error: Exception) -> Callable[[], Iterable[Observation]]:
    def look() -> Iterable[Observation]:
        raise error

    return look


# ------------------------------------------------------------------------ turns and states


def test_the_first_look_is_at_once_and_then_every_second(bench: Bench) -> None:
    source = Scripted(lambda: [SEEN])
    bench.add(source)
    assert source.reads == 1
    for _ in range(3):
        bench.wait()
    assert source.reads == 4
    bench.wait(30)  # a suspended box: missed turns are dropped
    assert source.reads == 5
    assert bench.states == [("ok", "")]
    assert bench.taken.count(SEEN) == 5


def test_a_source_that_fails_and_recovers(bench: Bench) -> None:
    source = Scripted(raising(OSError(13, "Permission denied", "/data/log")))
    bench.add(source)
    bench.wait()
    since = bench.pump.all()[0].state.since
    source.look = raising(TelemetryLost("no answer for 30 s"))
    bench.wait()
    source.look = lambda: ()
    bench.wait()
    assert bench.states == [
        ("failed", "/data/log: Permission denied"),
        ("failed", "no answer for 30 s"),
        ("ok", ""),
    ]
    assert since == bench.clock.now() - 3  # another reason is still the same failure
    assert not bench.bugs


def test_what_this_box_does_not_have_is_asked_again_much_later(bench: Bench) -> None:
    source = Scripted(raising(Unsupported("no GPU here")))
    bench.add(source)
    for _ in range(5):
        bench.wait()
    assert (source.reads, bench.states) == (1, [("unsupported", "no GPU here")])
    source.look = lambda: [SEEN]
    bench.wait(UNSUPPORTED_RETRY_S)
    assert bench.states[-1] == ("ok", "")


def test_a_bug_of_a_source_is_told_once_and_hurts_nobody_else(bench: Bench) -> None:
    other = Scripted(lambda: [SEEN])
    bench.add(Scripted(raising(ZeroDivisionError("oops"))))
    bench.add(other)
    for _ in range(3):
        bench.wait()
    assert len(bench.bugs) == 1
    assert "ZeroDivisionError" in bench.bugs[0]
    assert bench.states[0] == ("failed", "ZeroDivisionError: oops")
    assert other.reads == 4


@pytest.mark.parametrize("part", ["fds", "due_at", "impaired", "stalled", "generator"])
def test_a_bug_in_any_part_of_a_source_hurts_nobody_else(bench: Bench, part: str) -> None:
    class Broken(Scripted):
        def fds(self) -> Iterable[int]:
            return (9999,) if part == "fds" else ()  # no such descriptor

        @property
        def due_at(self) -> float | None:
            return 1 / 0 if part == "due_at" else None

        @property
        def impaired(self) -> str:
            return str(1 / 0) if part == "impaired" else ""

        def stalled(self, now: float) -> str | None:
            return str(1 / 0) if part == "stalled" else None

        def read(self, now: float) -> Iterator[Observation]:
            yield SEEN
            if part == "generator":
                raise KeyError("half way")

    other = Scripted()
    bench.add(Broken())
    bench.add(other)
    for _ in range(3):
        bench.wait()
    assert other.reads == 4
    assert len(bench.bugs) == 1
    assert not bench.loop_bugs


def test_a_bug_behind_the_pump_hurts_no_other_source(bench: Bench) -> None:
    def taker(seen: Iterable[Observation]) -> None:
        raise RuntimeError("a bug of the history")

    bench.pump.add(Scripted(lambda: [SEEN]), taker)
    other = Scripted()
    bench.add(other)
    bench.wait()
    assert other.reads == 2
    assert [str(b) for b in bench.loop_bugs] == ["a bug of the history"]


def test_stalled_impaired_and_well_again(bench: Bench) -> None:
    source = Scripted()
    bench.add(source)
    source.flaw = "the log was deleted"
    bench.wait()
    source.late = "no answer for 5 s"
    bench.wait()
    source.late = None
    bench.wait()
    source.flaw = ""
    bench.wait()
    assert bench.states == [
        ("ok", ""),
        ("impaired", "the log was deleted"),
        ("stalled", "no answer for 5 s"),
        ("impaired", "the log was deleted"),
        ("ok", ""),
    ]


def test_a_source_that_answers_later_is_not_well_before_its_first_answer(bench: Bench) -> None:
    source = Scripted()
    source.answers_later = True
    bench.add(source)
    bench.wait()
    assert bench.states == []
    assert bench.pump.all()[0].state.state == "starting"
    source.look = lambda: [SEEN]
    bench.wait()
    source.look = lambda: ()
    bench.wait()
    assert bench.states == [("ok", "")]
    source.late = "overdue"
    bench.wait()
    source.late = None
    bench.wait()  # nothing came yet: a driver that was asked again is not a driver that answers
    assert bench.states[-1] == ("stalled", "overdue")


# ------------------------------------------------------------------------ early turns


def test_a_source_may_ask_for_an_earlier_turn(bench: Bench) -> None:
    source = Scripted()
    bench.add(source)
    source.due = bench.clock.now() + 1.3
    bench.wait(1.0)
    source.due = bench.clock.now() + 0.1  # sooner after all
    bench.wait(0.0)
    assert source.reads == 2
    bench.pump.all()[0].read()
    source.due = None
    bench.wait(0.1)
    assert source.reads == 4


def test_a_backlog_is_worked_off_at_once_without_starving_the_loop(bench: Bench) -> None:
    source, other = Scripted(), Scripted()
    source.due = 0.0
    bench.add(source)
    bench.add(other)
    for _ in range(5):
        bench.loop.turn(0.0)
    assert source.reads == 7
    source.due = None
    bench.loop.turn(0.0)
    bench.loop.turn(0.0)
    assert source.reads == 8
    assert other.reads == 1


# ------------------------------------------------------------------------ descriptors


def test_a_closed_pipe_whose_number_is_used_again(bench: Bench) -> None:
    """What a child that is started anew does: the new pipe gets the old number."""
    source = Scripted()
    read, write = os.pipe()
    source.descriptors = (read,)
    bench.add(source)
    os.close(read)
    os.close(write)
    fresh, fresh_write = os.pipe()
    assert fresh == read
    bench.wait()
    os.write(fresh_write, b"x")
    bench.wait(0.0)
    assert source.heard == [fresh]
    bench.pump.remove(bench.pump.all()[0])
    assert bench.loop.watched() == set()
    os.close(fresh)
    os.close(fresh_write)


def test_a_number_that_went_to_another_source(bench: Bench) -> None:
    old, new = Scripted(), Scripted()
    read, write = os.pipe()
    old.descriptors = (read,)
    bench.add(old)
    os.close(read)
    os.close(write)
    fresh, fresh_write = os.pipe()
    new.descriptors = (fresh,)
    bench.add(new)
    old.descriptors = ()
    bench.wait()
    os.write(fresh_write, b"x")
    bench.wait(0.0)
    assert (old.heard, new.heard) == ([], [fresh])
    os.close(fresh)
    os.close(fresh_write)


def test_one_inotify_of_two_sources(bench: Bench, tmp_path: Path) -> None:
    class Follower(Scripted):
        def __init__(self, inotify: Inotify, path: Path) -> None:
            super().__init__()
            path.touch()
            self.inotify = inotify
            self.watch = inotify.watch(str(path))
            self.descriptors = (inotify.fd,)
            self.hints = 0

        def ready(self, fd: int, now: float) -> Iterable[Observation]:
            self.inotify.collect(now)
            if self.watch is not None and self.watch.dirty:
                self.hints += 1
                self.watch.dirty = False
            return ()

    inotify = Inotify()
    if not inotify.available:
        pytest.skip(inotify.why_not)
    one, two = (Follower(inotify, tmp_path / name) for name in ("a", "b"))
    bench.add(one)
    bench.add(two)
    (tmp_path / "b").write_text("x")
    bench.wait(0.0)
    assert (one.hints, two.hints) == (0, 1)
    bench.pump.remove(bench.pump.all()[0])  # the other one must go on hearing
    bench.clock.jump(5)
    (tmp_path / "b").write_text("y")
    bench.wait(0.0)
    bench.wait(0.0)
    assert two.hints == 2
    inotify.close()


def test_hundreds_that_share_a_descriptor_are_told_over_several_turns(bench: Bench) -> None:
    class Slow(Scripted):
        def ready(self, fd: int, now: float) -> Iterable[Observation]:
            self.heard.append(fd)
            if not any(other.heard for other in sources if other is not self):
                os.read(fd, 100)  # as with inotify: the first one reads for all
            bench.clock.jump(ROUND_S / 20)
            return ()

    sources: list[Slow] = []
    read, write = os.pipe()
    for _ in range(300):
        sources.append(Slow())
        sources[-1].descriptors = (read,)
        bench.pump.add(sources[-1], bench.taken.extend)
    bench.loop.turn(0.0)
    os.write(write, b"x")
    turns: list[int] = []
    while sum(turns) < len(sources):
        before = sum(len(one.heard) for one in sources)
        bench.loop.turn(0.0)
        turns.append(sum(len(one.heard) for one in sources) - before)
    assert max(turns) <= 22
    assert all(one.heard == [read] for one in sources)
    os.close(read)
    os.close(write)


# ------------------------------------------------------------------------ many


def test_first_looks_of_many_are_spread_over_turns(bench: Bench) -> None:
    def look() -> Iterable[Observation]:
        bench.clock.jump(ROUND_S / 4)
        return ()

    sources = [Scripted(look) for _ in range(40)]
    for source in sources:
        bench.pump.add(source, bench.taken.extend)
    bench.loop.turn(0.0)
    assert 4 <= sum(one.reads for one in sources) <= 5
    gone = bench.pump.add(Scripted(), bench.taken.extend)
    bench.pump.remove(gone)
    for _ in range(10):
        bench.loop.turn(0.0)
    assert [one.reads > 0 for one in sources] == [True] * 40
    assert isinstance(gone.source, Scripted)
    assert gone.source.reads == 0


def test_urgent_sources_are_read_before_hundreds_of_others(bench: Bench) -> None:
    """Where one look at all takes seconds, the logs are not the last to be read."""

    class Urgent(Scripted):
        urgent = True

    def look() -> Iterable[Observation]:
        bench.clock.jump(ROUND_S / 100)
        return ()

    others, urgent = [Scripted(look) for _ in range(900)], [Urgent(look) for _ in range(90)]
    for source in (*others, *urgent):
        bench.pump.add(source, bench.taken.extend)
    while not all(source.reads for source in (*others, *urgent)):
        bench.loop.turn(0.0)
    reads = [source.reads for source in others]
    bench.clock.jump(1.0)
    for _ in range(2):
        bench.loop.turn(0.0)
    assert all(source.reads >= 2 for source in urgent)
    again = sum(one.reads for one in others) - sum(reads)
    assert 0 < again < 150


# ------------------------------------------------------------------------ the end


def test_a_source_that_was_let_go_is_never_asked_again(bench: Bench) -> None:
    source = Scripted()
    read, write = os.pipe()
    source.descriptors = (read,)
    pumped = bench.pump.add(source, bench.taken.extend)
    bench.pump.remove(pumped)  # before its first turn, which is on its way
    bench.wait()
    assert (source.reads, source.closed) == (0, 1)
    assert bench.pump.all() == []
    bench.add(source)
    source.due = bench.clock.now() + 0.5
    bench.wait()
    bench.pump.remove(bench.pump.all()[0])
    os.write(write, b"x")
    bench.wait()
    assert source.reads == 2
    assert source.heard == []
    assert bench.loop.watched() == set()
    os.close(read)
    os.close(write)


def test_a_source_that_cannot_even_be_closed(bench: Bench) -> None:
    class Stubborn(Scripted):
        def close(self) -> None:
            raise OSError("no")

    bench.add(Stubborn())
    bench.pump.remove(bench.pump.all()[0])
    assert len(bench.bugs) == 1


# ------------------------------------------------------------------------ left out


def test_a_source_with_a_bug_is_left_out_for_a_while_and_tried_again(bench: Bench) -> None:
    source, other = Scripted(raising(KeyError("x"))), Scripted(lambda: [SEEN])
    other.name = "other"
    bench.add(source)
    bench.add(other)
    while not bench.pump.isolation.broken():
        bench.wait()
    reads = source.reads
    assert reads == FAILURES
    for _ in range(10):
        bench.wait()
    assert source.reads == reads
    assert other.reads > reads, "the others are read on"
    source.look = lambda: [SEEN]
    bench.wait(FIRST_PAUSE_S)
    assert source.reads == reads + 1
    assert bench.pump.isolation.broken() == []
    assert [s.state for s in bench.taken if isinstance(s, SourceState)][-1] == "ok"


def test_a_pipe_of_a_source_that_is_left_out_does_not_wake_the_loop(bench: Bench) -> None:
    read, write = os.pipe()
    source = Scripted(raising(KeyError("x")))
    source.descriptors = (read,)
    bench.add(source)
    while not bench.pump.isolation.broken():
        bench.wait()
    os.write(write, b"x")
    bench.loop.turn(0.0)
    assert read not in bench.loop.watched()
    source.look = lambda: [SEEN]
    bench.wait(FIRST_PAUSE_S)
    assert read in bench.loop.watched(), "it is listened to again"
    os.close(write)
    os.close(read)


def test_a_source_that_cannot_read_has_no_bug(bench: Bench) -> None:
    source = Scripted(raising(PermissionError(13, "Permission denied", "/x")))
    bench.add(source)
    for _ in range(10):
        bench.wait()
    assert source.reads == 11
    assert list(bench.pump.isolation) == []


def test_when_a_source_last_did_what_it_should(bench: Bench) -> None:
    source = Scripted(lambda: [SEEN])
    pumped = bench.pump.add(source, bench.taken.extend, "gpt-1")
    assert (pumped.true_at, pumped.name) == (None, "scripted of gpt-1")
    bench.loop.turn(0.0)
    first = pumped.true_at
    assert first == bench.clock.now()
    source.look = raising(OSError(5, "Input/output error"))
    bench.wait()
    assert pumped.true_at == first
