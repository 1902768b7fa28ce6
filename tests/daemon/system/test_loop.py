from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from functools import partial

import pytest

from middlewatch.daemon.system.loop import (
    LONGEST_OVER_S,
    ROUND_S,
    TELL_AGAIN_S,
    Callback,
    Loop,
)

from ...fakes.clock import FakeClock


class Bench:
    """A loop with its clock and the bugs it told."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.bugs: list[Exception] = []
        self.loop = Loop(self.clock, self.bugs.append)
        self.called: list[str] = []

    def note(self, word: str) -> None:
        self.called.append(word)

    def after(self, seconds: float) -> list[str]:
        """What was called when this much time has passed at one stroke."""
        self.called.clear()
        self.clock.jump(seconds)
        self.loop.turn(0.0)
        return list(self.called)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.loop.close()


def test_timers_fire_in_order_and_once(bench: Bench) -> None:
    bench.loop.later(2, lambda: bench.note("b"))
    bench.loop.later(1, lambda: bench.note("a"))
    bench.loop.later(2, lambda: bench.note("c"))
    assert bench.after(0.5) == []
    assert bench.after(2) == ["a", "b", "c"]
    assert bench.after(100) == []


def test_missed_turns_are_dropped_and_the_beat_is_kept(bench: Bench) -> None:
    bench.loop.every(10, lambda: bench.note("x"))
    assert bench.after(10) == ["x"]
    assert bench.after(57) == ["x"]  # six were missed
    assert bench.after(2.9) == []
    assert bench.after(0.1) == ["x"]  # at 70, as if nothing had been missed


def test_timers_of_different_beats_meet(bench: Bench) -> None:
    bench.clock.jump(0.7)
    bench.loop.every(1, lambda: bench.note("second"))
    bench.clock.jump(0.6)
    bench.loop.every(2, lambda: bench.note("other second"))
    assert bench.after(0.7) == ["second", "other second"]  # one wake-up, at 1002


def test_cancelled_timers_stay_silent(bench: Bench) -> None:
    timer = bench.loop.every(1, lambda: bench.note("x"))
    once = bench.loop.later(1, lambda: bench.note("y"))
    once.cancel()
    assert bench.after(1) == ["x"]
    timer.cancel()
    assert bench.after(5) == []


def test_a_timer_may_cancel_itself(bench: Bench) -> None:
    timer = bench.loop.every(1, lambda: timer.cancel())
    bench.after(1)
    assert bench.after(1) == []


def test_a_callback_that_asks_for_now_again_and_again_starves_nobody(bench: Bench) -> None:
    def again() -> None:
        bench.note("again")
        bench.loop.later(0.0, again)

    bench.loop.later(0.0, again)
    bench.loop.later(0.0, lambda: bench.note("other"))
    assert bench.after(0) == ["again", "other"]
    assert bench.after(0) == ["again"]


def test_a_bug_is_told_once_an_hour_and_stops_nobody(bench: Bench) -> None:
    def broken() -> None:
        raise KeyError("ours")

    bench.loop.every(1, broken)
    bench.loop.every(1, lambda: bench.note("x"))
    for _ in range(5):
        assert bench.after(1) == ["x"]
    assert [type(b) for b in bench.bugs] == [KeyError]
    bench.after(TELL_AGAIN_S)
    assert len(bench.bugs) == 2


def test_a_descriptor_that_is_ready_is_served(bench: Bench) -> None:
    read, write = os.pipe()
    bench.loop.watch(read, lambda: bench.note(os.read(read, 9).decode()))
    assert bench.after(0) == []
    os.write(write, b"hello")
    assert bench.after(0) == ["hello"]
    bench.loop.unwatch(read)
    os.write(write, b"more")
    assert bench.after(0) == []
    os.close(read)
    os.close(write)


def test_writing_is_waited_for_as_well(bench: Bench) -> None:
    left, right = socket.socketpair()
    with left, right:
        bench.loop.watch(left.fileno(), lambda: bench.note("writable"), write=True)
        assert bench.after(0) == ["writable"]


def test_a_closed_pipe_whose_number_is_used_again(bench: Bench) -> None:
    read, write = os.pipe()
    bench.loop.watch(read, lambda: bench.note("old"))
    os.close(read)  # behind the loop's back: epoll forgets it, the selector does not
    fresh, fresh_write = os.pipe()
    assert fresh == read
    bench.loop.watch(fresh, lambda: bench.note("new"))
    os.write(fresh_write, b"x")
    assert bench.after(0) == ["new"]
    for fd in (write, fresh, fresh_write):
        os.close(fd)


def test_letting_go_of_a_number_that_is_another_s_by_now(bench: Bench) -> None:
    read, write = os.pipe()

    def old() -> None:
        bench.note("old")

    def new() -> None:
        bench.note("new")

    bench.loop.watch(read, old)
    bench.loop.watch(read, new)
    bench.loop.unwatch(read, old)
    assert read in bench.loop.watched()
    bench.loop.unwatch(read, new)
    assert read not in bench.loop.watched()
    bench.loop.unwatch(read, new)  # and once more is no trouble
    bench.loop.unwatch(-1)
    os.close(read)
    os.close(write)


def test_a_bound_method_is_recognised_when_it_lets_go(bench: Bench) -> None:
    class Part:
        def ready(self) -> None:
            bench.note("ready")

    part = Part()
    read, write = os.pipe()
    bench.loop.watch(read, part.ready)
    bench.loop.unwatch(read, part.ready)
    assert bench.loop.watched() == set()
    os.close(read)
    os.close(write)


def test_what_one_callback_closes_another_is_not_called_for(bench: Bench) -> None:
    pipes = [os.pipe() for _ in range(2)]
    by_number = dict(pipes)

    def served(mine: int) -> None:
        bench.note("served")
        for other in by_number:
            if other != mine:
                bench.loop.unwatch(other)
                os.close(other)

    for read, write in pipes:
        bench.loop.watch(read, lambda read=read: served(read))  # type: ignore[misc]
        os.write(write, b"x")
    assert bench.after(0) == ["served"]
    for read, write in pipes:
        os.close(write)
        if read in bench.loop.watched():
            os.close(read)


def test_what_a_client_sends_after_it_has_connected_is_read_in_the_same_turn(bench: Bench) -> None:
    outer, outer_write = os.pipe()
    inner, inner_write = os.pipe()

    def connected() -> None:
        bench.note(os.read(outer, 9).decode())
        bench.loop.watch(inner, lambda: bench.note(os.read(inner, 9).decode()))

    bench.loop.watch(outer, connected)
    os.write(outer_write, b"hello")
    os.write(inner_write, b"ping")
    assert bench.after(0) == ["hello", "ping"]
    for fd in (outer, outer_write, inner, inner_write):
        os.close(fd)


def test_run_goes_on_until_stop(bench: Bench) -> None:
    bench.loop.later(0, lambda: bench.note("x"))
    bench.loop.later(0, bench.loop.stop)
    bench.loop.run()
    assert bench.called == ["x"]


def test_a_stop_before_the_start_is_not_lost(bench: Bench) -> None:
    bench.loop.stop()
    bench.loop.later(0, lambda: bench.note("x"))
    bench.loop.run()
    assert bench.called == []


def test_a_long_round_leaves_room_for_what_comes_meanwhile(bench: Bench) -> None:
    """Twelve calls, four of which take a little longer than a round: four, then it is the turn of others."""

    def call(number: int) -> None:
        bench.note(str(number))
        bench.clock.jump(ROUND_S / 3.5)

    bench.loop.each(partial(call, number) for number in range(12))
    assert bench.after(0.0) == ["0", "1", "2", "3"]
    bench.loop.later(0.0, lambda: bench.note("another"))
    assert bench.after(0.0) == ["another", "4", "5", "6", "7"]
    assert bench.after(0.0) == ["8", "9", "10", "11"]


def test_many_deadlines_at_once_leave_room_for_what_comes_meanwhile(bench: Bench) -> None:
    """Six deadlines, two of which take longer than a turn may: the rest waits, and comes in order."""

    def call(number: int) -> None:
        bench.note(str(number))
        bench.clock.jump(ROUND_S / 1.5)

    for number in range(6):
        bench.loop.later(1.0, partial(call, number))
    assert bench.after(1.0) == ["0", "1"]
    bench.loop.later(0.0, lambda: bench.note("another"))
    assert bench.after(0.0) == ["2", "3"]
    assert bench.after(0.0) == ["4", "5"]
    assert bench.after(0.0) == ["another"]


def test_deadlines_without_end_leave_something_to_a_round(bench: Bench) -> None:
    def again() -> None:
        bench.clock.jump(2 * ROUND_S)
        bench.loop.later(0.0, again)

    bench.loop.later(0.0, again)
    bench.loop.each(partial(bench.note, str(number)) for number in range(3))
    called = [word for _ in range(3) for word in bench.after(0.0)]
    assert called == ["0", "1", "2"]


def test_rounds_take_turns(bench: Bench) -> None:
    """A long round of writing does not keep the round of reading waiting."""

    def call(word: str) -> None:
        bench.note(word)
        bench.clock.jump(ROUND_S / 1.5)

    bench.loop.each(partial(call, f"write {number}") for number in range(4))
    assert bench.after(0.0) == ["write 0", "write 1"]
    bench.loop.each(partial(call, f"read {number}") for number in range(2))
    assert bench.after(0.0) == ["write 2", "read 0"]
    assert bench.after(0.0) == ["write 3", "read 1"]
    assert bench.after(0.0) == []


def test_a_round_of_short_calls_is_not_slowed_by_one_of_long_calls(bench: Bench) -> None:
    """Time is shared, not the number of calls: a write takes as long as thirty reads."""

    def call(word: str, seconds: float) -> None:
        bench.note(word)
        bench.clock.jump(seconds)

    bench.loop.each(partial(call, "write", 0.03) for _ in range(30))
    bench.loop.each(partial(call, "read", 0.001) for _ in range(90))
    bench.called.clear()
    first = [word for _ in range(3) for word in bench.after(0.0)]
    assert first.count("read") == 90
    assert 3 <= first.count("write") <= 9


def test_a_round_with_a_larger_share_gets_more_time(bench: Bench) -> None:
    def call(word: str) -> None:
        bench.note(word)
        bench.clock.jump(ROUND_S / 50)

    bench.loop.each(partial(call, "other") for _ in range(300))
    bench.loop.each((partial(call, "urgent") for _ in range(300)), share=4.0)
    called = [word for _ in range(4) for word in bench.after(0.0)]
    assert 3.5 <= called.count("urgent") / called.count("other") <= 4.5


def test_the_longest_turn_is_forgotten_after_a_while(bench: Bench) -> None:
    bench.loop.later(0.0, lambda: bench.clock.jump(3.0))
    bench.loop.turn(0.0)
    assert bench.loop.longest_turn_s == 3.0
    for _ in range(2):
        bench.after(LONGEST_OVER_S)
    assert bench.loop.longest_turn_s == 0.0


def test_a_bug_in_a_round_itself_ends_that_round_only(bench: Bench) -> None:
    def broken() -> Iterator[Callback]:
        yield partial(bench.note, "first")
        raise KeyError("ours")

    bench.loop.each(broken())
    bench.loop.each(partial(bench.note, str(number)) for number in range(3))
    assert sorted(bench.after(0.0)) == ["0", "1", "2", "first"]
    assert [type(bug) for bug in bench.bugs] == [KeyError]
