"""The loop of the resident daemon: one thread, one selector, monotonic deadlines.

Callbacks must not block, and handle the errors of the system themselves (for sources the pump does
that). An exception that reaches the loop is therefore a bug. It goes to ``on_bug``, once per place
in the code and hour, and the loop goes on.
"""

from __future__ import annotations

import heapq
import itertools
import math
import selectors
from collections.abc import Callable, Iterable

from .clock import Clock

Callback = Callable[[], None]
ROUND_S = 0.1
"""Seconds of calls after which the rest waits for the next turn, so that a client is heard however many
runs there are: a tenth of the second within which the daemon is to answer. Our choice."""
LEAST_S = 1e-6
"""Seconds that a call of a round counts at least, so that rounds of calls that take no time take turns."""
LONGEST_OVER_S = 300.0
"""Seconds over which the longest turn is kept; then a new count begins beside the last one."""
TELL_AGAIN_S = 3600.0
"""Seconds before a bug at the same place is reported again."""


class Timer:
    """A deadline of the loop. ``cancel()`` is always safe."""

    __slots__ = ("active", "call", "every_s")

    def __init__(self, call: Callback, every_s: float | None) -> None:
        self.call = call
        self.every_s = every_s
        self.active = True

    def cancel(self) -> None:
        """Never fire again."""
        self.active = False


class _Round:
    """Calls that are served one after the other, over several turns if they take long."""

    __slots__ = ("calls", "share", "spent_s")

    def __init__(self, calls: Iterable[Callback], share: float, spent_s: float) -> None:
        self.calls = iter(calls)
        self.share = share
        self.spent_s = spent_s
        """Seconds that it had, divided by its share."""


class Loop:
    """Runs callbacks when their file descriptor is ready or their time has come."""

    def __init__(self, clock: Clock, on_bug: Callable[[Exception], None]) -> None:
        self.clock = clock
        self._on_bug = on_bug
        self._selector = selectors.DefaultSelector()
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._stopped = False
        self._told: dict[str, float] = {}
        self.serving: Callback | None = None
        """What is called now, for :mod:`.loop_watch`; ``None`` while the loop waits."""
        self.served = 0
        """Calls so far."""
        self._rounds: list[_Round] = []
        self._longest = (0.0, 0.0)
        """Seconds of the longest turn of the time that counts now, and of the one before."""
        self._longest_since = clock.monotonic()

    def every(self, seconds: float, call: Callback) -> Timer:
        """Call every ``seconds`` seconds; calls that were missed are left out.

        Calls come at whole multiples of ``seconds`` on the monotonic clock, so that timers of 1, 2
        and 30 s wake the process at the same moments.
        """
        first = (self.clock.monotonic() // seconds + 1) * seconds
        return self._push(first, Timer(call, seconds))

    def later(self, seconds: float, call: Callback) -> Timer:
        """Call once, in ``seconds`` seconds."""
        return self._push(self.clock.monotonic() + seconds, Timer(call, None))

    def _push(self, due: float, timer: Timer) -> Timer:
        heapq.heappush(self._heap, (due, next(self._order), timer))
        return timer

    def each(self, calls: Iterable[Callback], share: float = 1.0) -> None:
        """Serve these calls in order, after the deadlines of this turn; what is not done after
        :data:`ROUND_S` seconds is done in the next turns, between which descriptors are served. ``calls`` is
        asked for one at a time.

        Several such rounds share the time: next is always the one that had least so far. One with
        ``share`` 4 gets four times as much as one with 1, as long as both have something to do.
        """
        least = min((one.spent_s for one in self._rounds), default=0.0)
        self._rounds.append(_Round(calls, share, least))
        self._rounds.sort(
            key=_share, reverse=True
        )  # of two that had as much, the larger share is first

    def _serve_rounds(self, until: float) -> None:
        """Serve rounds until this time, or half of a round longer where deadlines took it all."""
        before = self.clock.monotonic()
        until = max(until, before + ROUND_S / 2)
        while self._rounds:
            one = min(self._rounds, key=_spent)
            call = self._next(one)
            if call is None:
                self._rounds.remove(one)
                continue
            self.serve(call)
            mono = self.clock.monotonic()
            one.spent_s += max(LEAST_S, mono - before) / one.share
            before = mono
            if mono >= until:
                return

    def _next(self, one: _Round) -> Callback | None:
        """Its next call; ``None`` if there is no other, or its author made a mistake."""
        try:
            return next(one.calls, None)
        except Exception as error:  # noqa: BLE001 - a bug must not end the loop
            self._tell(error)
            return None

    def watch(self, fd: int, call: Callback, *, write: bool = False) -> None:
        """Call whenever ``fd`` is readable (or writable)."""
        events = selectors.EVENT_WRITE if write else selectors.EVENT_READ
        # The file with this number may have been closed meanwhile, and the number now be that of
        # another file. epoll has dropped the first one then, so register again in any case.
        self.unwatch(fd)
        self._selector.register(fd, events, call)

    def unwatch(self, fd: int, call: Callback | None = None) -> None:
        """Stop waiting on ``fd``; does nothing when it was not waited on.

        With ``call``, only if ``fd`` is registered for this callback: the number may meanwhile be
        that of another file.
        """
        try:
            # Equal, not identical: every access to a bound method makes a new object.
            if call is None or self._selector.get_key(fd).data == call:
                self._selector.unregister(fd)
        except (KeyError, ValueError):
            return

    def watched(self) -> set[int]:
        """File descriptors the loop waits on."""
        return {key.fd for key in self._selector.get_map().values()}

    def run(self) -> None:
        """Run until :meth:`stop`, which may have been called before (by a signal at the start)."""
        while not self._stopped:
            self.turn()
        self._stopped = False

    def turn(self, longest_s: float = 60.0) -> None:
        """Wait for the next event or deadline (at most ``longest_s`` seconds); call what is due, and go on
        with the rounds.

        Deadlines that are left after :data:`ROUND_S` seconds wait for the next turn, earliest first:
        three hundred runs that end at once are one deadline each.
        """
        wait = longest_s
        while self._heap and not self._heap[0][2].active:
            heapq.heappop(self._heap)  # cancelled: no reason to wake up for it
        if self._rounds:
            wait = 0.0
        elif self._heap:
            wait = min(wait, max(0.0, self._heap[0][0] - self.clock.monotonic()))
        ready = self._selector.select(wait)
        began = self.clock.monotonic()
        self._serve_ready(ready)
        if ready:
            # A client that was let in has asked already: it need not wait for another turn.
            served = {key.fd for key, _ in ready}
            self._serve_ready(
                [one for one in self._selector.select(0.0) if one[0].fd not in served]
            )
        mono = self.clock.monotonic()
        self._serve_due(mono)
        self._serve_rounds(mono + ROUND_S)
        self._note_turn(began)

    def _serve_ready(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, _ in ready:
            # An earlier callback may have closed this file and opened another with its number.
            now = self._selector.get_map().get(key.fd)
            if now is not None and now.data == key.data:
                self.serve(key.data)

    def catch_up(self) -> None:
        """What a turn does about rounds and deadlines, before anybody is heard: rounds first, as they
        may bring deadlines."""
        self._serve_rounds(self.clock.monotonic() + ROUND_S)
        self._serve_due(self.clock.monotonic())

    def _serve_due(self, mono: float) -> None:
        first_new = next(self._order)
        while self._heap and self._heap[0][0] <= mono and self._heap[0][1] < first_new:
            due, _, timer = heapq.heappop(self._heap)
            if not timer.active:
                continue
            self.serve(timer.call)
            if timer.every_s is not None and timer.active:
                missed = max(0.0, mono - due) // timer.every_s
                self._push(due + (missed + 1) * timer.every_s, timer)
            if self.clock.monotonic() - mono >= ROUND_S:
                break

    def _note_turn(self, began: float) -> None:
        mono = self.clock.monotonic()
        if mono - self._longest_since >= LONGEST_OVER_S:
            self._longest, self._longest_since = (0.0, self._longest[0]), mono
        if mono - began > self._longest[0]:
            self._longest = (mono - began, self._longest[1])

    @property
    def longest_turn_s(self) -> float:
        """Seconds of the longest turn of the last five to ten minutes: so long a client may have waited."""
        return max(self._longest)

    def serve(self, call: Callback) -> None:
        """Call ``call``; an exception is reported as a bug and not raised."""
        outer, self.serving = self.serving, call
        self.served += 1
        try:
            call()
        except Exception as error:  # noqa: BLE001 - a bug must not end the loop
            self._tell(error)
        finally:
            self.serving = outer

    def _tell(self, error: Exception) -> None:
        """Report a bug, once per place and hour: it may occur every second."""
        place = _place(error)
        mono = self.clock.monotonic()
        if mono - self._told.get(place, -math.inf) >= TELL_AGAIN_S:
            self._told[place] = mono
            self._on_bug(error)

    def stop(self) -> None:
        """Make :meth:`run` return after the present turn."""
        self._stopped = True

    def close(self) -> None:
        """Close the selector."""
        self._selector.close()


def _spent(one: _Round) -> float:
    return one.spent_s


def _share(one: _Round) -> float:
    return one.share


def _place(error: Exception) -> str:
    """Type of the error and the line that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return f"{type(error).__name__} at {where}"
