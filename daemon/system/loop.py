"""One thread, one selector, monotonic deadlines: the loop that owns all state.

Callbacks never block and never raise for a reason of the world (sources are wrapped by the
pump); an exception that reaches the loop is a bug of ours and goes to ``on_bug``, once per
place and hour, so that one broken part does not take the watch down.
"""

from __future__ import annotations

import heapq
import itertools
import math
import selectors
from collections.abc import Callable

from .clock import Clock

Callback = Callable[[], None]
TELL_AGAIN_S = 3600.0


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

    def every(self, seconds: float, call: Callback) -> Timer:
        """Call again and again; missed turns are dropped, never made up for.

        Turns lie on whole multiples of ``seconds`` on the monotonic clock, so that timers of
        1, 2 and 30 s wake the process together and not one after the other.
        """
        first = (self.clock.monotonic() // seconds + 1) * seconds
        return self._push(first, Timer(call, seconds))

    def later(self, seconds: float, call: Callback) -> Timer:
        """Call once."""
        return self._push(self.clock.monotonic() + seconds, Timer(call, None))

    def _push(self, due: float, timer: Timer) -> Timer:
        heapq.heappush(self._heap, (due, next(self._order), timer))
        return timer

    def watch(self, fd: int, call: Callback, *, write: bool = False) -> None:
        """Call whenever ``fd`` is readable (or writable)."""
        events = selectors.EVENT_WRITE if write else selectors.EVENT_READ
        # A number may stand for a file that was closed behind our back and is now another:
        # epoll has forgotten it then, and only a fresh registration helps.
        self.unwatch(fd)
        self._selector.register(fd, events, call)

    def unwatch(self, fd: int, call: Callback | None = None) -> None:
        """Stop waiting on ``fd``; fine when it was not waited on.

        With ``call``, only if it is still that callback's: the number may be another's now.
        """
        try:
            # Equal, not identical: a bound method is another object at every look.
            if call is None or self._selector.get_key(fd).data == call:
                self._selector.unregister(fd)
        except (KeyError, ValueError):
            return

    def watched(self) -> set[int]:
        """File descriptors the loop waits on."""
        return {key.fd for key in self._selector.get_map().values()}

    def run(self) -> None:
        """Until :meth:`stop`, which may have been called already (a signal at the start)."""
        while not self._stopped:
            self.turn()
        self._stopped = False

    def turn(self, longest_s: float = 60.0) -> None:
        """Wait for the next event or deadline and serve what is due."""
        wait = longest_s
        while self._heap and not self._heap[0][2].active:
            heapq.heappop(self._heap)  # nobody waits for it: no reason to wake up
        if self._heap:
            wait = min(wait, max(0.0, self._heap[0][0] - self.clock.monotonic()))
        for key, _ in self._selector.select(wait):
            # A callback before this one may have closed it, and its number be another's.
            now = self._selector.get_map().get(key.fd)
            if now is not None and now.data == key.data:
                self.serve(key.data)
        mono = self.clock.monotonic()
        first_new = next(self._order)
        while self._heap and self._heap[0][0] <= mono and self._heap[0][1] < first_new:
            due, _, timer = heapq.heappop(self._heap)
            if not timer.active:
                continue
            self.serve(timer.call)
            if timer.every_s is not None and timer.active:
                missed = max(0.0, mono - due) // timer.every_s
                self._push(due + (missed + 1) * timer.every_s, timer)

    def serve(self, call: Callback) -> None:
        """Call it; an exception is told and goes no further."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the boundary: our own bugs end here
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        """Hand over a bug, once per place and hour: it may come back every second."""
        place = _place(error)
        mono = self.clock.monotonic()
        if mono - self._told.get(place, -math.inf) >= TELL_AGAIN_S:
            self._told[place] = mono
            self._on_bug(error)

    def stop(self) -> None:
        """Leave :meth:`run` after this turn."""
        self._stopped = True

    def close(self) -> None:
        """Give the selector back."""
        self._selector.close()


def _place(error: Exception) -> str:
    """Type of the error and the line that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return f"{type(error).__name__} at {where}"
