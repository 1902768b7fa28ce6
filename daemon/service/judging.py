"""When each run is judged, what follows from it, and what is done about a run that has ended.

A run is judged once a second, and at once when something urgent was seen; both are one judgement where
they meet. All that is done for every run
is a round of the loop, so that a client is heard however many runs there are. A run that has ended is
told first; closing its sources and writing its files comes after the pushes of all that end with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from middlewatch.sentinels.kit.own_rules import look
from middlewatch.sentinels.kit.pace.suspects import HangLimits

from ..judge.engine import Engine
from ..judge.incidents import Change
from ..system.loop import Callback, Loop
from .alerting import Alerter
from .attribution import Attribution
from .context import Context
from .finding import Finding
from .publishing import Publisher
from .watched_run import WatchedRun

SHARE = 2.0
"""Judging gets twice the time of other rounds, and half of that of reading logs: where time is short, a
run is judged by what was just read of it, once and not twice. Our choice."""
QUIET_EVERY = 4
"""Each fourth run that is judged is one that is due, even while something urgent is seen of others all
the time. Our choice."""


class Judging:
    """Judges all runs of a daemon. ``follow`` gets what those who follow the incidents are sent."""

    def __init__(
        self,
        context: Context,
        loop: Loop,
        engine: Engine,
        alerter: Alerter,
        publisher: Publisher,
        attribution: Attribution,
        follow: Callable[[dict[str, Any]], None],
        hang: HangLimits | None,
        closer_after_s: float,
    ) -> None:
        """``hang``: the limits of the rule about hangs, ``None`` if it is switched off; from
        ``closer_after_s`` seconds of silence on, the processes of a run are looked at more closely."""
        self._context = context
        self._loop = loop
        self._engine = engine
        self._alerter = alerter
        self._publisher = publisher
        self._attribution = attribution
        self._follow = follow
        self._hang = hang
        self._closer_after_s = closer_after_s
        self.finding: Finding | None = None
        self.ready = True
        """False while runs are taken up after a restart: nothing is judged before all are known."""
        self._urgent: dict[str, None] = {}
        """Runs of which something urgent was seen since they were judged, in order."""
        self._ticks: dict[str, None] = {}
        """Runs that are still to be judged in this second."""
        self._lingering: list[WatchedRun] = []
        """Runs that have ended and are still to be looked at in this second."""
        self._judging = self._writing = self._closing = False
        self._judged = 0
        self._changed: dict[str, WatchedRun] = {}
        """Runs whose files are to be written because of a change, which was told already."""
        self._ended: dict[str, WatchedRun] = {}
        """Runs whose end was told, and whose sources and files still have to be closed and written."""

    # -- when -----------------------------------------------------------------------------

    def soon(self, run: str) -> None:
        """Judge a run before those of which nothing urgent was seen."""
        self._urgent[run] = None
        self._judge_all()

    def tick(self) -> None:
        """Called once a second: judge every run, and write the pages that are due."""
        if not (self._ticks or self._lingering):  # else there was not the time for all
            self._attribution.share_memory()
            for run, watched in self._context.runs.items():
                if watched.alive:
                    self._ticks[run] = None
                elif not (watched.resting or run in self._ended):
                    self._lingering.append(watched)
            self._judge_all()
        self._write()

    def _judge_all(self) -> None:
        if self.ready and not self._judging:
            self._judging = True
            self._loop.each(self._judgements(), SHARE)

    def _judgements(self) -> Iterator[Callback]:
        """What is to be judged, over several turns of the loop if that is much."""
        try:
            while self._urgent or self._ticks or self._lingering:
                if not (self._urgent or self._ticks):
                    yield partial(self._linger, self._lingering.pop())
                    continue
                self._judged += 1
                quiet = self._judged % QUIET_EVERY == 0 and self._ticks
                run = next(iter(quiet or self._urgent or self._ticks))
                self._urgent.pop(run, None)
                tick = self._ticks.pop(run, self) is None
                yield partial(self._judge, run, tick=tick)
        finally:
            self._judging = False

    def _write(self) -> None:
        if not self._writing:
            self._writing = True
            self._loop.each(self._writings())

    def _writings(self) -> Iterator[Callback]:
        """The files of runs that have changed, or are due; a disk takes some 30 ms for each."""
        try:
            for watched in self._context.living_runs():
                yield from self._changes()
                if watched.alive and self._publisher.is_old(watched):
                    yield from self._publisher.steps(watched)
            yield from self._changes()
        finally:
            self._writing = False

    def _changes(self) -> Iterator[Callback]:
        while self._changed:
            yield from self._publisher.steps(self._changed.pop(next(iter(self._changed))))

    # -- one run --------------------------------------------------------------------------

    def _judge(self, run: str, *, tick: bool) -> None:
        watched = self._context.runs.get(run)
        if watched is None or not watched.alive or not (tick or watched.fresh):
            return
        if self.finding is not None:
            self._loop.serve(partial(self.finding.look_at, watched))
        watched.take_end()
        now = self._context.clock.now()
        fresh, watched.fresh = watched.fresh, set()
        view = watched.view(now)
        changes = self._engine.judge(run, view, fresh, tick=tick, line=watched.log_line_text)
        watched.look_closer(view, self._closer_after_s, self._hang)
        changed = watched.update_state(view, self._context.incidents.open(run))
        look(watched.history.accumulators, now, watched.state)
        for change in changes:
            self._loop.serve(partial(self.tell, watched, change))
        if not watched.alive:
            self._changed.pop(run, None)
            self._end(watched)
        elif changes or changed or self._publisher.is_due(watched):
            self._take_down(watched)

    def _take_down(self, watched: WatchedRun) -> None:
        """Have the files of a run written; what is to be pushed about its saves comes first."""
        if watched.saves.promised:
            self._publisher.reindex(watched)
            self._loop.serve(partial(self._alerter.correct_saves, watched))
        self._changed[watched.spec.id] = watched
        self._write()

    def tell(self, watched: WatchedRun, change: Change) -> None:
        """Push a change if it is worth that, store it, and send it to those who follow."""
        self._alerter.alert(watched, change)
        if change.kind != "joined":  # `incidents --follow` does not show these
            incident = self._context.incident_json(change.incident)
            self._follow({"change": change.kind, "incident": incident})

    def _end(self, watched: WatchedRun) -> None:
        """Tell what is to be told of an end, and let the rest come later."""
        self._publisher.reindex(watched)  # the last push names the newest good checkpoint
        self._loop.serve(partial(self._alerter.correct_saves, watched))
        if self.finding is not None:
            self._loop.serve(partial(self.finding.ended, watched))
        self._loop.serve(partial(self._alerter.alert_end, watched))
        self._ended[watched.spec.id] = watched
        if not self._closing:
            self._closing = True
            self._loop.each(self.closings())

    def closings(self) -> Iterator[Callback]:
        """What is left to do about the runs that have ended, one after the other."""
        try:
            while self._ended:
                run, watched = next(iter(self._ended.items()))
                yield partial(self._close, watched)
                yield from self._publisher.steps(watched)
                self._ended.pop(run, None)
        finally:
            self._closing = False

    def _close(self, watched: WatchedRun) -> None:
        watched.stop_sources(self._context.pump)
        self._attribution.watch_disks()

    def _linger(self, watched: WatchedRun) -> None:
        """Follow the last saves of an ended run until they have a verdict; then let it rest."""
        if not watched.saves.open:
            if watched.index_stale:
                self._take_down(watched)
            else:
                watched.rest(self._context.clock.now())
            return
        watched.note_checkpoints()
        if self._publisher.is_due(watched):
            self._take_down(watched)
        if not watched.saves.waits(self._context.clock.now()):
            watched.saves.stop(self._context.pump)
