"""The pump: calls the sources when they are due and turns their failures into observations.

The only place where an exception of a source is caught. The state of a source is ``starting``,
``ok``, ``impaired`` (it works, with a flaw), ``failed`` (it raised), ``stalled`` (an answer is
overdue) or ``unsupported`` (this box does not have the thing; tried again every ten minutes).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from middlewatch.sentinels.kit import Observation, SourceState
from middlewatch.sentinels.kit.observations import SourceStateName

from .bounded import SHORT_SOURCE_CPU_S, SOURCE_CPU_S, bounded
from .clock import Clock
from .errors import Unsupported
from .isolation import Isolation
from .loop import Callback, Loop, Timer
from .source import Source, TelemetryLost

UNSUPPORTED_RETRY_S = 600.0
BREATH = 2.0
"""A source with a backlog is not called for twice as long as its turn took, so that reading an old
log to its end takes at most a third of a core from the training. Our choice."""
URGENT_SHARE = 4.0
"""Sources that are urgent get so many times the time of others that are due: where the processors are
busy and there are hundreds of runs, their logs and ends are read before their quotas. Our choice."""
Take = Callable[[Iterable[Observation]], None]


class Pumped:
    """One source that the pump calls."""

    def __init__(self, source: Source, pump: Pump, take: Take, of: str = "") -> None:
        self.source = source
        self.of = of
        """The run that it is about; empty for a source of the box."""
        self.true_at: float | None = None
        """Epoch seconds at which it last did what it should; ``None``: not yet."""
        self.looked_at: float | None = None
        """Epoch seconds of the last look that did not fail, also one that has no answer yet."""
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
        isolation, code = self._pump.isolation, type(self.source).__name__
        most_s = isolation.cpu_s(code, SOURCE_CPU_S, SHORT_SOURCE_CPU_S, now)
        try:
            seen = bounded(lambda: list(look(now)), most_s)
            late, impaired = self.source.stalled(now), self.source.impaired
        except Unsupported as error:
            self._not_before = self._pump.clock.monotonic() + UNSUPPORTED_RETRY_S
            self._say(now, "unsupported", str(error))
        except OSError as error:
            self._say(now, "failed", _words(error))
        except TelemetryLost as error:
            self._say(now, "failed", str(error))
        except Exception as error:  # noqa: BLE001 - a bug fails this source only
            isolation.failed("source", self.name, error, now, code=code)
            self._say(now, "failed", f"{type(error).__name__}: {error}")
        else:
            isolation.worked("source", self.name, now)
            self.looked_at = now
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
        self.sources: dict[Pumped, None] = {}
        """In order; a dict, as hundreds leave and come back with every batch of events."""
        self.going = False
        """They are being told, over several turns of the loop."""


class _Group(NamedTuple):
    """Sources that are read in the same round."""

    every_s: float
    urgent: bool


def _group(source: Source) -> _Group:
    return _Group(source.every_s, source.urgent)


class Pump:
    """Calls all sources. Those with the same interval share one timer, those that are urgent another."""

    def __init__(self, loop: Loop, clock: Clock, tell_bug: Callable[[str], None]) -> None:
        self.loop = loop
        self.clock = clock
        self.isolation = Isolation(tell_bug)
        """What failed by a mistake of ours: sources, and whatever else the daemon can do without."""
        self._groups: dict[_Group, dict[Pumped, None]] = {}
        self._timers: dict[_Group, Timer] = {}
        self._fds: dict[int, _Shared] = {}
        self._under_way: set[_Group] = set()
        """Groups whose sources are being read, over several turns of the loop."""

    def add(self, source: Source, take: Take, of: str = "") -> Pumped:
        """Call ``source`` from now on, the first time at once; ``take`` gets its observations.

        ``of``: the run that it is about, if it is not one of the box.
        """
        pumped = Pumped(source, self, take, of)
        group = _group(source)
        self._groups.setdefault(group, {})[pumped] = None
        if group not in self._timers:
            self._timers[group] = self.loop.every(source.every_s, partial(self._turn, group))
        # A deadline, not a round: it comes before the next second, in which the run is judged.
        self.loop.later(0.0, pumped.read)
        return pumped

    def remove(self, pumped: Pumped) -> None:
        """Call this source no more, and close it."""
        self._groups.get(_group(pumped.source), {}).pop(pumped, None)
        pumped.close()

    def _turn(self, group: _Group) -> None:
        if group not in self._under_way:
            self._under_way.add(group)
            self.loop.each(self._reads(group), URGENT_SHARE if group.urgent else 1.0)

    def _reads(self, group: _Group) -> Iterator[Callback]:
        try:
            for pumped in tuple(self._groups[group]):
                yield pumped.read
        finally:
            self._under_way.discard(group)

    def all(self) -> list[Pumped]:
        """All sources."""
        return [p for group in self._groups.values() for p in group]

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
            shared.sources[pumped] = None
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
        del shared.sources[pumped]
        if not shared.sources:
            self.loop.unwatch(fd, shared.call)
            del self._fds[fd]

    def _ready(self, fd: int) -> None:
        """Tell the sources that wait on this descriptor: the first now, which reads what is there, and
        all others in a round of the loop: hundreds of logs share that of inotify."""
        shared = self._fds.get(fd)
        if shared is None:
            return
        first, *others = shared.sources
        self.loop.serve(partial(first.ready, fd))
        if others and not shared.going:
            shared.going = True
            self.loop.each(self._tells(shared, fd, others), URGENT_SHARE)

    def _tells(self, shared: _Shared, fd: int, others: list[Pumped]) -> Iterator[Callback]:
        try:
            for pumped in others:
                if pumped in shared.sources:
                    yield partial(pumped.ready, fd)
        finally:
            shared.going = False
