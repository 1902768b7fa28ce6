"""The pump: calls the sources when they are due and turns their failures into observations.

The only place where an exception of a source is caught. The state of a source is ``starting``,
``ok``, ``impaired`` (it works, with a flaw), ``failed`` (it raised), ``stalled`` (an answer is
overdue) or ``unsupported`` (this box does not have the thing; tried again every ten minutes).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from middlewatch.sentinels.kit import Observation, SourceState
from middlewatch.sentinels.kit.observations import SourceStateName

from .bounded import SOURCE_CPU_S, bounded
from .clock import Clock
from .errors import Unsupported
from .isolation import Isolation
from .loop import Callback, Loop, Timer
from .source import Source, TelemetryLost

UNSUPPORTED_RETRY_S = 600.0
BREATH = 2.0
"""A source with a backlog is not called for twice as long as its turn took, so that reading an old
log to its end takes at most a third of a core from the training. Our choice."""
Take = Callable[[Iterable[Observation]], None]


class Pumped:
    """One source that the pump calls."""

    def __init__(self, source: Source, pump: Pump, take: Take, of: str = "") -> None:
        self.source = source
        self.of = of
        """The run that it is about; empty for a source of the box."""
        self.true_at: float | None = None
        """Epoch seconds at which it last did what it should; ``None``: not yet."""
        self._pump = pump
        self._take = take
        now = pump.clock.now()
        self.state = SourceState(now, source.name, "starting", now)
        self.fds: set[int] = set()
        self._not_before = 0.0
        self._extra: Timer | None = None
        self._extra_at = 0.0
        self._closed = False

    def read(self) -> None:
        """Call the source's ``read``, unless it waits after :class:`Unsupported`, or is left out."""
        waits = self._pump.clock.monotonic() < self._not_before
        if not (self._closed or waits or self._left_out()):
            self._guard(self.source.read)

    def ready(self, fd: int) -> None:
        """Call the source's ``ready``: its descriptor ``fd`` can be read."""
        if self._left_out():
            self._pump.unwire(self)  # else it would wake the loop again and again
        elif not self._closed:
            self._guard(partial(self.source.ready, fd))

    @property
    def name(self) -> str:
        """Its name, and that of its run: no other source is called so."""
        return f"{self.source.name} of {self.of}" if self.of else self.source.name

    def _left_out(self) -> bool:
        return self._pump.isolation.left_out("source", self.name, self._pump.clock.now())

    def _guard(self, look: Callable[[float], Iterable[Observation]]) -> None:
        now, began = self._pump.clock.now(), self._pump.clock.monotonic()
        try:
            seen = bounded(lambda: list(look(now)), SOURCE_CPU_S)
            late, impaired = self.source.stalled(now), self.source.impaired
        except Unsupported as error:
            self._not_before = self._pump.clock.monotonic() + UNSUPPORTED_RETRY_S
            self._say(now, "unsupported", str(error))
        except OSError as error:
            self._say(now, "failed", _words(error))
        except TelemetryLost as error:
            self._say(now, "failed", str(error))
        except Exception as error:  # noqa: BLE001 - a bug fails this source only
            self._pump.isolation.failed("source", self.name, error, now)
            self._say(now, "failed", f"{type(error).__name__}: {error}")
        else:
            self._pump.isolation.worked("source", self.name, now)
            unheard = self.state.state in ("starting", "unsupported", "failed", "stalled")
            if late:
                self._say(now, "stalled", late)
            elif impaired:
                self._say(now, "impaired", impaired)
            elif seen or not (self.source.answers_later and unheard):
                self._say(now, "ok", "")
            if seen or not (late or self.source.answers_later):
                self.true_at = now
            if seen:
                self._take(seen)
        try:
            self._pump.rewire(self)
            spent = self._pump.clock.monotonic() - began
            self._schedule(now, max(0.0, BREATH * spent))
        except Exception as error:  # noqa: BLE001 - it is still read at its next turn
            self._bug(error)

    def _say(self, now: float, state: SourceStateName, detail: str) -> None:
        old = self.state
        if state == old.state and detail == old.detail:
            return
        since = old.since if state == old.state else now
        self.state = SourceState(now, self.source.name, state, since, detail)
        self._take([self.state])

    def _bug(self, error: Exception) -> None:
        self._pump.isolation.failed("source", self.name, error, self._pump.clock.now())

    def _schedule(self, now: float, breath_s: float) -> None:
        due = self.source.due_at
        if due is None or self._closed:
            return
        if self._extra is not None:
            if self._extra_at <= due:
                return
            self._extra.cancel()
        self._extra, self._extra_at = (
            self._pump.loop.later(max(breath_s, due - now), self._early),
            due,
        )

    def _early(self) -> None:
        self._extra = None
        self.read()

    def close(self) -> None:
        """Call the source no more, and close it."""
        self._closed = True
        if self._extra is not None:
            self._extra.cancel()
        self._pump.unwire(self)
        try:
            self.source.close()
        except Exception as error:  # noqa: BLE001 - the others must be closed as well
            self._bug(error)
        self._pump.isolation.forget("source", self.name)


def _words(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


class _Shared:
    """A descriptor and the sources that wait on it (all log tails share one inotify)."""

    def __init__(self, identity: int, call: Callback) -> None:
        self.identity = identity
        self.call = call
        self.sources: list[Pumped] = []


class Pump:
    """Calls all sources. Those with the same interval share one timer."""

    def __init__(self, loop: Loop, clock: Clock, tell_bug: Callable[[str], None]) -> None:
        self.loop = loop
        self.clock = clock
        self.isolation = Isolation(tell_bug)
        """What failed by a mistake of ours: sources, and whatever else the daemon can do without."""
        self._by_interval: dict[float, list[Pumped]] = {}
        self._timers: dict[float, Timer] = {}
        self._fds: dict[int, _Shared] = {}
        self._under_way: set[float] = set()
        """Intervals whose sources are being read, over several turns of the loop."""

    def add(self, source: Source, take: Take, of: str = "") -> Pumped:
        """Call ``source`` from now on, the first time at once; ``take`` gets its observations.

        ``of``: the run that it is about, if it is not one of the box.
        """
        pumped = Pumped(source, self, take, of)
        every = source.every_s
        self._by_interval.setdefault(every, []).append(pumped)
        if every not in self._timers:
            self._timers[every] = self.loop.every(every, partial(self._turn, every))
        self.loop.later(0.0, pumped.read)
        return pumped

    def remove(self, pumped: Pumped) -> None:
        """Call this source no more, and close it."""
        for same in self._by_interval.values():
            if pumped in same:
                same.remove(pumped)
        pumped.close()

    def _turn(self, every: float) -> None:
        if every not in self._under_way:
            self._under_way.add(every)
            self.loop.each(self._reads(every))

    def _reads(self, every: float) -> Iterator[Callback]:
        for pumped in tuple(self._by_interval[every]):
            yield pumped.read
        self._under_way.discard(every)

    def all(self) -> list[Pumped]:
        """All sources."""
        return [p for group in self._by_interval.values() for p in group]

    def rewire(self, pumped: Pumped) -> None:
        """Wait on the descriptors that the source has now."""
        fds = pumped.source.fds()
        if not fds and not pumped.fds:
            return
        wanted = {fd: os.fstat(fd).st_ino for fd in fds}
        for fd in pumped.fds - wanted.keys():
            self._leave(pumped, fd)
        for fd, identity in wanted.items():
            shared = self._fds.get(fd)
            # The number may now be that of another file, such as the pipe of a restarted child.
            if shared is None or shared.identity != identity:
                shared = self._fds[fd] = _Shared(identity, partial(self._ready, fd))
                self.loop.watch(fd, shared.call)
            if pumped not in shared.sources:
                shared.sources.append(pumped)
        pumped.fds = set(wanted)

    def unwire(self, pumped: Pumped) -> None:
        """Stop waiting on the descriptors of this source."""
        for fd in pumped.fds:
            self._leave(pumped, fd)
        pumped.fds = set()

    def _leave(self, pumped: Pumped, fd: int) -> None:
        shared = self._fds.get(fd)
        if shared is None or pumped not in shared.sources:
            return
        shared.sources.remove(pumped)
        if not shared.sources:
            self.loop.unwatch(fd, shared.call)
            del self._fds[fd]

    def _ready(self, fd: int) -> None:
        shared = self._fds.get(fd)
        for pumped in tuple(shared.sources) if shared else ():
            self.loop.serve(partial(pumped.ready, fd))
