"""One run under watch: its sources, the history of what they saw, and its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from middlewatch.sentinels.kit import (
    CheckpointSaved,
    CheckpointSeen,
    LogEvent,
    MemorySample,
    Observation,
    ProcessEnded,
    RunFacts,
    Step,
    View,
)
from middlewatch.sentinels.kit.pace.silence import last_sign
from middlewatch.sentinels.kit.pace.suspects import HangLimits

from ..box.durability import MarkDurability, PathDurability
from ..checkpoints.index import Settled, build
from ..checkpoints.kept import kept_checkpoints
from ..checkpoints.ranking import RankingRules
from ..config.run_spec import ENDED, RunSpec, RunState
from ..config.secrets import mask
from ..judge.history import BoxHistory, RunHistory
from ..judge.incidents import Incident
from ..judge.run_state import judge_state
from ..launch.planned import expected_steps, kept_saves
from ..mirror.source import Copies
from ..mirror.trees import words_about
from ..parsers.last_words import hear
from ..report import facts
from ..sources.cgroup_memory import CgroupMemory
from ..sources.cpu_quota import CpuQuota
from ..sources.parts_used import PartsInUse
from ..sources.processes import Processes
from ..sources.session import Session
from ..sources.walltime import Walltime
from ..system.clock import Clock, iso
from ..system.guard import Guard, Guards
from ..system.inotify import Inotify
from ..system.listing import Listing
from ..system.pump import Pump, Pumped
from .held_end import HeldEnd
from .run_container import RunContainer
from .run_logs import RunLogs
from .run_saves import RunSaves, doubted
from .run_stacks import RunStacks

URGENT = (Step, LogEvent, ProcessEnded)
"""Observations that are judged at once; all others with the next tick (1 s)."""
SETTLE_S = 8.0
"""Seconds after the end of a run in which its last log lines, counters and saves are still read."""
LATE_RECORD_S = 60.0
"""The same while the exit record of our supervisor is missing: it may find the disk full."""
REST_S = 60.0
"""Seconds after the end of a run in which everything about it is kept in memory, for what follows at
once: a late exit record, the next attempt, the last saves. Our choice."""


class WatchedRun:
    """Sources, history and state of one run.

    ``saved`` is what :meth:`save` gave before a restart of the daemon; times are epoch seconds.
    """

    def __init__(
        self,
        spec: RunSpec,
        box: BoxHistory,
        clock: Clock,
        saved: Mapping[str, Any] | None = None,
        places: PathDurability | None = None,
    ) -> None:
        self.spec = spec
        self.clock = clock
        now = clock.now()
        memory = saved or {}
        self.state: RunState = memory.get("state", "running")
        self.since: float = memory.get("since", now)
        self.reason: str = memory.get("reason", "just begun to watch")
        self.ended_at: float | None = memory.get("ended_at")
        self.exit: dict[str, int | None] | None = memory.get("exit")
        self.index: dict[str, Any] = memory.get("index") or build(spec.id, (), now)
        self.facts = RunFacts(
            name=spec.name,
            started_at=spec.started_at or now,
            watched_since=float(memory.get("watched_since", now)),
            pid=spec.pid,
            ours=spec.exit_file is not None,
            expected_steps=expected_steps(spec.command),
            world_size=spec.world_size,
            attempt=spec.attempt,
            keep_saves=kept_saves(spec.command),
            command=" ".join(spec.command),
        )
        self.history = RunHistory(self.facts, box)
        if saved:
            self.history.restore(dict(memory.get("history", {})))
            self.history.gap_at = now
        if self.ended_at is not None:
            self.history.checkpoints = kept_checkpoints(self.index)
        self.fresh: set[type] = set()
        self.end_alerted = self.state in ENDED
        self._end = HeldEnd(self.history, clock)
        self.resting = False
        self._lived_at: float = memory.get("lived_at", now)
        self._saves_seen = self.index_stale = False
        """``index_stale``: checkpoints came or went since the index was written."""
        self._saved = memory
        self.logs = RunLogs(self, memory.get("log_tail", ()), memory.get("tails", {}))
        self.container = RunContainer(self, memory.get("container"))
        self.saves = RunSaves(self)
        self.saves.promised.update(memory.get("promised", {}))
        self._marked = MarkDurability(places or PathDurability())
        self.copies = Copies.of(self.index)
        self.trees: list[dict[str, Any]] = []
        """How far the copies of its other results are behind."""
        self._settled = Settled()
        self._memory: CgroupMemory | None = None
        self._processes: Processes | None = None
        self._session: Session | None = None
        self.guards: Guards | None = None
        self.listing: Listing | None = None
        self.docker: Guard | None = None
        self._pumped: list[Pumped] = []
        self._pump: Pump | None = None
        self._stacks = RunStacks(self, spec.id)
        self._urgent: Callable[[], None] = lambda: None

    # -- sources ------------------------------------------------------------------------

    def start_sources(
        self, pump: Pump, inotify: Inotify, urgent: Callable[[], None], ends: Mapping[str, float]
    ) -> None:
        """Start every source of a run that has not ended; ``guards`` reach what is far.

        ``urgent`` is called when observations have to be judged at once. ``ends`` are the ends of
        the run that the configuration names (origin -> epoch seconds).
        """
        self._urgent, self._pump, spec = urgent, pump, self.spec
        if spec.pid is not None:
            self._memory = CgroupMemory(
                spec.pid, resume=self._saved.get("cgroup"), memory=self.history.memory_by_pid
            )
            self._session = Session(spec.pid, self._saved.get("session"))
            self.container.start(pump, inotify)
            self._processes = Processes(spec, listing=self.listing, witness=self.container.source)
            parts = PartsInUse(self.history.pids, spec.command, spec.cwd)
            for source in (self._memory, CpuQuota(spec.pid), self._processes, parts):
                self._pumped.append(pump.add(source, self.add_observations, spec.id))
        self._pumped.append(pump.add(Walltime(spec.pid, ends), self.add_observations, spec.id))
        self.logs.start(pump, inotify)
        self.saves.start(pump, self.guards)

    def stop_sources(self, pump: Pump) -> None:
        """Close every source; saves without a verdict are still followed."""
        self._stacks.forget(pump)
        for pumped in self._pumped:
            pump.remove(pumped)
        self._pumped.clear()
        self.logs.stop(pump)
        self.container.stop(pump)
        if not self.saves.waits(self.clock.now()):
            self.saves.stop(pump)

    def rest(self, now: float) -> None:
        """Give back what only a living run needs, once :data:`REST_S` seconds have passed since the end
        and no save waits for a verdict; does nothing before, and nothing the second time."""
        if self.resting or self.ended_at is None or self.saves.open:
            return
        if 0 <= now - self.ended_at < REST_S:
            return
        self.resting = True
        self._saved = self._kept()
        self._session = self._memory = self._processes = self._pump = self.guards = None
        self._urgent = lambda: None
        self._settled = Settled()
        self.logs.rest()
        self.saves.rest()
        self.history.rest()

    def add_observations(self, seen: Iterable[Observation]) -> None:
        """Add what a source saw to the history; ask for a judgement at once if it is urgent."""
        self.history.keep_time(self.clock.now(), self.clock.monotonic())
        urgent = False
        for one in seen:
            if self._session is not None:
                one = self._session.note(one)
            if isinstance(one, ProcessEnded):
                self._end.add(one, self.logs)
            else:
                self.history.add(one)
            self.fresh.add(type(one))
            urgent = urgent or isinstance(one, URGENT)
            if isinstance(one, CheckpointSeen):
                self._saves_seen = True
            elif isinstance(one, (CheckpointSaved, ProcessEnded)):
                self.saves.see(one, self.clock.now())
        if urgent:
            self._urgent()

    @property
    def gone_at(self) -> float | None:
        """When the main process was seen to be gone (epoch seconds); ``None`` while it lives."""
        return self._end.at

    def take_end(self) -> None:
        """Let the end of the main process be judged, once its logs were read to where it left them."""
        if self._end.release(self.logs):
            self.fresh.add(ProcessEnded)

    def note_checkpoints(self) -> None:
        """Copy the known checkpoints from the source to the history.

        A deleted checkpoint disappears here: no observation is made of it.
        """
        self._saves_seen = False
        if self.saves.looked and self.saves.source is not None:
            self.history.saving_at = self.saves.source.growing()
            known = self.copies.marked(self._marked(self.saves.source.checkpoints()))
            if known != self.history.checkpoints:
                self.history.checkpoints = known
                self.index_stale = True

    def look_closer(self, view: View, silence_s: float, limits: HangLimits | None) -> None:
        """Sample wait channels and I/O at every read after ``silence_s`` seconds without progress.

        If the silence may be a hang by ``limits`` (``None``: never), take stacks as well.
        """
        if self._processes is None:
            return
        shown, _ = last_sign(view)
        begun = max(self.facts.started_at, self.facts.watched_since)
        silent = view.now - (begun if shown is None else shown) > silence_s
        self._processes.closer_look = silent
        if limits is None or not silent:
            self._stacks.forget(self._pump)
        elif self._pump is not None:
            self._stacks.choose(view, limits, self._pump)

    def log_line_text(self, file: str, number: int) -> str | None:
        """Text of a recent log line, for evidence."""
        return self.logs.line_text(file, number)

    # -- state --------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """True until the end of the run was seen and its last observations were taken."""
        return self.ended_at is None

    @property
    def lived_at(self) -> float:
        """When the main process was seen alive last (epoch seconds), also by an earlier daemon."""
        looks, pid = reversed(self.history.process_samples), self.spec.pid
        lived = (look.at for look in looks if any(one.pid == pid for one in look.processes))
        return next(lived, self._lived_at)

    def view(self, now: float) -> View:
        """The history as the sentinels see it at ``now``."""
        self.history.keep_time(now, self.clock.monotonic())
        if self._saves_seen:  # once for all of them: it looks at every checkpoint
            self.note_checkpoints()
        hear(self.history.last_words, self.logs.readers, self.history.endings)
        return self.history.view(now)

    def update_state(self, view: View, open_incidents: Iterable[Incident]) -> bool:
        """Work out the run's state; True when it changed."""
        now = view.now
        ending = view.ending
        if ending is not None and self.ended_at is None:
            self.exit = {"code": ending.exit_code, "signal": ending.signal}
            unseen = self.facts.ours and ending.exit_code is None and ending.signal is None
            if now - ending.at >= (LATE_RECORD_S if unseen else SETTLE_S):
                self.ended_at = ending.at
                self.history.ended = True
        self.note_checkpoints()
        before = self.state
        self.state, self.reason = judge_state(view, list(open_incidents), now)
        self.since = self.since if self.state == before else now
        return self.state != before

    def reindex(self, now: float, rules: RankingRules) -> None:
        """Build the checkpoint index from what is on disk now, once that was looked at."""
        if not self.saves.looked:
            return
        if self._saves_seen:
            self.note_checkpoints()
        self.index = build(
            self.spec.id,
            [doubted(c, self.history.not_finite_since) for c in self.history.checkpoints],
            now,
            steps=self.history.steps,
            claims=self.history.claimed_saves,
            rules=replace(rules, paths=self.spec.milestones),
            started_at=self.facts.started_at,
            before=self.index,
            settled=self._settled,
        )
        self.index["resumed_from"] = self.spec.resumed_from
        self.copies.into(self.index)

    def rescan(self, now: float) -> bool:
        """Have every checkpoint verified again; ``False`` if the source is closed or missing."""
        if self.saves.source is None or not self.alive:
            return False
        self.saves.source.rescan(now)
        return True

    def status(self, now: float, incidents: list[dict[str, Any]]) -> dict[str, Any]:
        """Everything about the run, as ``status --json`` shows it."""
        spec, history = self.spec, self.history
        return {
            "run": spec.id,
            "name": spec.name,
            "state": self.state,
            "state_reason": mask(self.reason),
            "since": iso(self.since),
            "pid": spec.pid,
            "start_ticks": spec.start_ticks,
            "command": list(spec.command),
            "cwd": spec.cwd,
            "home": spec.home,
            "container": self.container.facts(),
            "uid": spec.uid,
            "gid": spec.gid,
            "env_names": list(spec.env_names),
            "resumed_from": spec.resumed_from,
            "started_at": iso(self.facts.started_at),
            "ended_at": iso(self.ended_at),
            "exit": self.exit,
            "now": facts.now_block(history, now, moving=self.alive and self.state != "stalled"),
            "curve": facts.curve(history),
            "paces": facts.paces(history),
            "logs": self.logs.rows(),
            "log_tail": self.logs.tail(),
            "processes": facts.processes(history.process_samples) if self.alive else [],
            "checkpoint_dirs": list(spec.checkpoint_dirs),
            "checkpoint_folders": facts.folders(spec),
            "checkpoints": facts.checkpoints(
                history.checkpoints, self.index, history.claimed_saves, now
            ),
            "mirrored_folders": self.trees,
            "incidents": incidents,
            "watch": [facts.source(s) for s in history.sources.values()] if self.alive else [],
            "notes": self.notes(),
        }

    def notes(self) -> list[str]:
        """Sentences for a person that are worth knowing and no trouble."""
        notes = list(self.spec.notes)
        if any(row["buffered"] for row in self.logs.rows()):
            notes.append(
                "stdout is block-buffered: steps arrive in bursts of whole 4 KiB blocks; "
                "start it with python -u or PYTHONUNBUFFERED=1"
            )
        notes += self.saves.notes(self.clock.now())
        notes += words_about(self.trees)
        if self._processes is not None and self._processes.left_out:
            notes.append(f"{self._processes.left_out} processes of the run are not sampled")
        return [mask(note) for note in (*notes, *self.logs.notes())]

    @property
    def memory(self) -> MemorySample | None:
        """The newest memory sample."""
        return self.history.memory[-1] if self.history.memory else None

    def save(self) -> dict[str, Any]:
        """The state that a restarted daemon needs, as plain JSON values."""
        kept = self._kept() | ({"promised": self.saves.promised} if self.saves.promised else {})
        return kept | {
            "spec": self.spec.to_json(),
            "state": self.state,
            "since": self.since,
            "reason": mask(self.reason),
            "ended_at": self.ended_at,
            "exit": self.exit,
            "watched_since": self.facts.watched_since,
            "lived_at": self.lived_at,
            "history": self.history.save(),
            "index": self.index,
            "log_tail": self.logs.tail(),
            "tails": self.logs.states(),
        }

    def _kept(self) -> dict[str, Any]:
        """What its sources remember over a restart."""
        parts: dict[str, Any] = {"session": self._session, "cgroup": self._memory}
        parts |= {"container": self.container} if self.spec.container else {}
        return {name: p.state() if p else self._saved.get(name) for name, p in parts.items()}
