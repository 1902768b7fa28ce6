"""The watch that goes on: new runs of the box are found and put under watch by themselves.

Begun by ``middlewatch watch`` without options, and kept over restarts of the daemon. A run that was
found by its looks only is *provisional*: nothing about it is pushed until it has shown that it
trains, and when it ends before, it was no training. A command that is started again is another
attempt of the same run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from middlewatch.sentinels.kit.numbers import number, span
from middlewatch.sentinels.kit.recovery import ENOUGH_STEPS

from ..config.run_spec import RunSpec
from ..judge.incidents import Change
from ..judge.proof import by_history, by_words
from ..launch import run_names
from ..launch.attempts import after_failure, again, same_command
from ..launch.purpose import BOOSTS, command_purpose
from ..sources.newcomers import Known, Newcomers
from ..system import procfs
from ..system.pump import Pumped
from .alerting import Alerter
from .context import Context
from .run_processes import ended_at_of, last_seen, places_of, processes_of
from .watched_run import WatchedRun

ORPHANS_S = 15.0
"""Seconds after the end of a run until its surviving ranks are looked for: data loader workers and
ranks that notice the end of their launcher are gone by then (torch checks every 5 s)."""
HANDED_S = 30.0
"""Seconds in which ``middlewatch run`` hands its run to the daemon itself."""
LAST_LINES_S = 1.0
"""Seconds after an end in which its last lines are read; the next program needs longer to import."""
GOES_ON = "its share of time was over, and what gave it goes on"
IMPORTS_S = 2.0
"""Seconds after its start in which a program has logged nothing: it imports its framework."""
_PROOF_LINES = 200

Watch = Callable[[RunSpec, Mapping[str, Any] | None], WatchedRun]


class Finding:
    """Whether the daemon goes on looking for runs, and what becomes of those it finds."""

    def __init__(
        self,
        context: Context,
        alerter: Alerter,
        watch: Watch,
        publish: Callable[[WatchedRun], None],
        tell: Callable[[WatchedRun, Change], None],
        log_line: Callable[[str], None],
    ) -> None:
        self._context = context
        self._alerter = alerter
        self._watch = watch
        self._publish = publish
        self._tell = tell
        self._log_line = log_line
        self._source: Newcomers | None = None
        self._pumped: Pumped | None = None
        self._read: dict[str, int] = {}
        """Provisional run -> bytes of its logs when they were last searched for words."""
        self._ends: dict[str, dict[str, Any]] = {}
        """Run that has ended -> positions in its logs then: what follows is of the next one."""
        self._left: set[str] = set()
        """Runs whose logs are left to what was started after them."""

    # -- on and off ----------------------------------------------------------------------

    def begin(self) -> None:
        """Go on looking if that was asked for before a restart of the daemon."""
        if dict(self._context.store.all("box")).get("finding", {}).get("on"):
            self._start()

    @property
    def on(self) -> bool:
        """True while new runs are looked for."""
        return self._source is not None

    def switch(self, on: bool) -> bool:
        """Begin or end to look for new runs; returns whether it is on now."""
        if on and self._source is None:
            self._start()
        if not on and self._pumped is not None:
            self._context.pump.remove(self._pumped)
            self._source = self._pumped = None
        self._context.store.put("box", "finding", {"on": on}, self._context.clock.now())
        self._context.store.flush()
        return self.on

    def _start(self) -> None:
        clock, listing = self._context.clock, self._context.listing
        panes = str(self._context.state.root / "panes")
        self._source = Newcomers(clock, self.known, self.take, panes, listing=listing)
        # Not to the histories: that new runs cannot be looked for makes nobody blind for a run.
        self._pumped = self._context.pump.add(self._source, lambda seen: None)

    # -- what is found -------------------------------------------------------------------

    def known(self) -> Known:
        """What is watched, for the search."""
        pids, main, parents = set[int](), set[tuple[int, int]](), set[int]()
        ended = dict[int, RunSpec]()
        for run in self._context.runs.values():
            spec = run.spec
            if spec.pid is not None and spec.start_ticks is not None:
                main.add((spec.pid, spec.start_ticks))
            if spec.parent_pid is not None:
                parents.add(spec.parent_pid)
                if not spec.provisional and ended_at_of(run, math.inf) is not None:
                    ended[spec.parent_pid] = spec
            if run.alive:
                main.update((rank.pid, rank.start_ticks) for rank in spec.ranks)
                pids.update(pid for pid, _ in processes_of(run))
        gpu = {pid for ring in self._context.box.gpus.values() for pid in ring[-1].pids or ()}
        containers = {run.spec.container for run in self._context.runs.values()} - {""}
        return Known(pids, main, parents, gpu, containers, ended)

    def take(self, found: list[dict[str, Any]]) -> int:
        """Put those of the found runs under watch that are new; returns how many were."""
        fresh = 0
        for kept in (self._read, self._ends, self._context.asides):
            for run in kept.keys() - self._context.runs.keys():
                del kept[run]
        for data in found:
            try:
                spec = RunSpec.from_json(data)
            except ValueError as error:
                self._log_line(f"a found run cannot be read: {error}")
                continue
            if self._is_known(spec):
                continue
            fresh += 1
            spec, tails = self._placed(spec)
            watched = self._watch(spec, {"tails": tails} if tails else None)
            doubt = f", provisional: {spec.provisional}" if spec.provisional else ""
            self._log_line(f"found {watched.spec.id}: pid {spec.pid}, {spec.home}{doubt}")
            if spec.resumed_from in self._context.runs:
                self._link(self._context.runs[spec.resumed_from], watched)
        return fresh

    def _is_known(self, spec: RunSpec) -> bool:
        """True for a run that is watched already, or is a part or the surroundings of one."""
        now = self._context.clock.now()
        if spec.pid is None or (spec.exit_file and now - spec.started_at < HANDED_S):
            return True
        members = {(spec.pid, spec.start_ticks), *((r.pid, r.start_ticks) for r in spec.ranks)}
        above = set(procfs.ancestors(spec.pid))
        for run in self._context.runs.values():
            seen = set(processes_of(run))
            if not run.alive:
                if members & seen and not self._survives(run, spec):
                    return True
                continue
            if members & seen or above & {pid for pid, _ in seen}:
                return True
            if run.spec.pid is not None and spec.pid in procfs.ancestors(run.spec.pid):
                return True
            if run.spec.pid is None and spec.logs and set(spec.logs) <= set(run.spec.logs):
                return True
        return False

    def _survives(self, earlier: WatchedRun, spec: RunSpec) -> bool:
        """True when the found run is a rank of an ended one that outlives its launcher."""
        last = {(p.pid, p.start_ticks) for p in last_seen(earlier) if p.rank is not None}
        last |= {(r.pid, r.start_ticks) for r in earlier.spec.ranks}
        last.discard((earlier.spec.pid or 0, earlier.spec.start_ticks or 0))
        return any((r.pid, r.start_ticks) in last for r in spec.ranks)

    def _placed(self, spec: RunSpec) -> tuple[RunSpec, dict[str, Any]]:
        """The run as a part of its history: an attempt, a survivor, or the next job of a queue.

        With it the positions in logs of which another run has written the beginning.
        """
        runs = sorted(self._context.runs.values(), key=lambda r: r.facts.started_at)
        now = self._context.clock.now()
        ends = {run.spec.id: ended_at_of(run, now) for run in runs}
        tails = {
            path: state
            for run in runs
            if ends[run.spec.id] is not None and not set(run.spec.logs).isdisjoint(spec.logs)
            for path, state in self._written(run, now - spec.started_at).items()
            if path in spec.logs
        }
        for run in reversed(runs):
            ended = ends[run.spec.id]
            if ended is None or any(r.spec.resumed_from == run.spec.id for r in runs):
                continue
            if self._survives(run, spec):
                note = f"{len(spec.ranks)} ranks of {run.spec.id} that outlive their launcher"
                return self._after(run, spec, note, run.spec.attempt), tails
            if again(run.spec, ended, spec):
                apart = span(max(0.0, spec.started_at - ended))
                attempt = run.spec.attempt + 1
                note = f"attempt {attempt}: {run.spec.id} ended {apart} before it"
                return self._after(run, spec, note, attempt), tails
        taken = {run.spec.name for run in runs if run.alive}
        name = run_names.kept(spec, (run.spec for run in runs), taken)
        if not name:
            alike = [run.spec for run in runs if run.alive and run.spec.name.startswith(spec.name)]
            others = [one.command for one in alike] if spec.name in taken else []
            name = run_names.apart(spec.name, spec.command, others, taken)
        return replace(spec, name=name), tails

    def _written(self, run: WatchedRun, age_s: float) -> dict[str, Any]:
        """How far an ended run has written its logs, when another was started ``age_s`` ago."""
        known = self._ends.get(run.spec.id)
        if known is None or (age_s <= IMPORTS_S and run.spec.id not in self._left):
            run.logs.read_now()  # its last lines may not have been read yet
            known = self._ends[run.spec.id] = places_of(run)
        return known

    def _after(self, run: WatchedRun, spec: RunSpec, note: str, attempt: int) -> RunSpec:
        earlier = run.spec
        return replace(
            spec,
            name=earlier.name,
            resumed_from=earlier.id,
            attempt=attempt,
            checkpoint_dirs=spec.checkpoint_dirs or earlier.checkpoint_dirs,
            logs=spec.logs or earlier.logs,
            provisional=spec.provisional if earlier.provisional else "",
            notes=(*spec.notes, note),
        )

    def _link(self, earlier: WatchedRun, later: WatchedRun) -> None:
        """Say of the earlier run how it goes on."""
        what = (
            f"attempt {later.spec.attempt} of the same command"
            if later.spec.attempt > earlier.spec.attempt
            else f"{len(later.spec.ranks)} of its ranks, which outlive their launcher,"
        )
        words = f"{what} goes on as {later.spec.id} (pid {later.spec.pid})"
        self._context.asides[earlier.spec.id] = f"It goes on: {words}."
        earlier.spec = replace(earlier.spec, notes=(*earlier.spec.notes, words))
        self._publish(earlier)

    def look_at(self, watched: WatchedRun) -> None:
        """Called before a run is judged: what has it shown, and does anything follow its end?"""
        run = watched.spec.id
        if watched.spec.provisional and (proof := self._proof(watched)):
            watched.spec = replace(watched.spec, provisional="")
            self._read.pop(run, None)
            self._log_line(f"{run} is a training: {proof}")
            self._alerter.catch_up(watched)
        if watched.spec.resumed_from and watched.spec.attempt > 1:
            self._resolve_earlier(watched)
        ended = ended_at_of(watched)
        if ended is None:
            return
        if run not in self._ends and self._source is not None:
            self._source.hurry()
        if run not in self._left:
            fresh = self._context.clock.now() - ended <= LAST_LINES_S
            since = self._next_since(watched)
            if fresh or run not in self._ends or since is not None:
                self._ends[run] = places_of(watched)
            if since is not None:
                # What no daemon saw written is read late: only steps that begin anew are another run's.
                seen = watched.lived_at >= (watched.history.gap_at or 0.0)
                watched.history.cut(since, LAST_LINES_S if seen else math.inf)
                # After this time its own last lines were read.
                if self._context.clock.now() - since >= LAST_LINES_S:
                    self._left.add(run)
                    watched.logs.stop(self._context.pump)
        if run in self._left:
            self._settle(watched)
        if run not in self._context.asides and (words := self._followed(watched)):
            self._context.asides[run] = words

    def _proof(self, watched: WatchedRun) -> str:
        other = command_purpose(watched.spec.command) == "other"
        history, began = watched.history, watched.spec.started_at
        boosts = watched.spec.provisional == BOOSTS
        if proof := by_history(history, began, called_other=other, boosts=boosts):
            return proof
        size = sum(log.bytes for log in watched.history.logs.values())
        if other or self._read.get(watched.spec.id) == size:
            return ""
        self._read[watched.spec.id] = size
        line = by_words(watched.logs.tail(_PROOF_LINES))
        return f"its log says: {line[:120]}" if line else ""

    def _resolve_earlier(self, watched: WatchedRun) -> None:
        """The end of the attempt before is over when this one makes steps."""
        history, spec = watched.history, watched.spec
        earlier = self._context.runs.get(spec.resumed_from or "")
        if earlier is None or earlier.alive:
            return
        unit, done = "step", [step for _, step in history.step_times]
        if not done:  # it counts epochs only
            unit, done = "epoch", [s.epoch for s in history.steps if s.epoch is not None]
        if len(done) < ENOUGH_STEPS:
            return
        if spec.again_used and done[-1] <= max(
            (s for _, s in earlier.history.step_times), default=0
        ):
            return  # it has to gain something first
        if spec.again_used or after_failure(earlier.spec, earlier.exit, spec):
            watched.history.facts = replace(watched.history.facts, after_failure=True)
        words = f"attempt {spec.attempt} ({spec.id}) trains again; {unit} {number(done[-1])} now"
        for one in self._context.attempts_before(spec):
            for incident in self._context.incidents.open(one.spec.id):
                if incident.tells_end or incident.holds_end or incident.fatal:
                    now = self._context.clock.now()
                    self._tell(one, self._context.incidents.resolve(incident, now, words))

    def _settle(self, watched: WatchedRun) -> None:
        """A share of time that is over is no trouble when what gave it goes on."""
        watched.history.facts = replace(watched.history.facts, goes_on=True)
        for incident in self._context.incidents.open(watched.spec.id):
            if incident.details.get("limited"):
                now = self._context.clock.now()
                self._tell(watched, self._context.incidents.resolve(incident, now, GOES_ON))

    def _followed(self, watched: WatchedRun) -> str:
        """What is seen at once after an end: survivors, or the next attempt of a wrapper."""
        spec = watched.spec
        left = [p for p in last_seen(watched) if p.rank is not None and p.pid != spec.pid]
        if left:
            count = f"{len(left)} of its ranks" if len(left) > 1 else "one of its ranks"
            runs = "run" if len(left) > 1 else "runs"
            return f"Its launcher (pid {spec.pid}) is gone, {count} still {runs}."
        if spec.parent_pid is None:
            return watched.container.goes_on()
        for pid in procfs.children(spec.parent_pid, all_threads=False) or ():
            newer = (procfs.start_ticks(pid) or 0) > (spec.start_ticks or 0)
            if newer and same_command(spec.command, procfs.cmdline(pid)):
                return f"A new attempt of the same command has begun (pid {pid})."
        return ""

    def _next_since(self, watched: WatchedRun) -> float | None:
        """When the shell or queue that started this run started something after it (epoch s).

        ``None`` when it did not, or processes of the run are left: then its logs are still its own.
        """
        spec = watched.spec
        up = procfs.uptime_s()
        others = any(p.pid != spec.pid for p in last_seen(watched))
        if spec.parent_pid is None or up is None or others:
            return None
        booted = self._context.clock.now() - up
        children = procfs.children(spec.parent_pid, all_threads=False) or ()
        ticks = (procfs.start_ticks(pid) for pid in children)
        starts = [booted + one * procfs.TICK_S for one in ticks if one is not None]
        last = watched.lived_at - procfs.TICK_S
        return min((at for at in starts if at > last), default=None)

    def ended(self, watched: WatchedRun) -> None:
        """Called when a run has ended and its last lines were read."""
        if watched.spec.provisional:
            self._dismiss(watched)
        elif self._source is not None:
            self._source.hurry(ORPHANS_S if last_seen(watched) else None)

    def _dismiss(self, watched: WatchedRun) -> None:
        """It was no training: nobody is told how it ended."""
        now, context = self._context.clock.now(), self._context
        for incident in context.incidents.open(watched.spec.id):
            context.incidents.resolve(incident, now, "it was no training")
            context.save_incident(incident)
        watched.end_alerted = True
        watched.state, watched.since = "finished", now
        why = watched.spec.provisional
        watched.reason = f"not a training: {why}, but it showed no sign of one"
        self._log_line(f"{watched.spec.id} ended: {watched.reason}")
