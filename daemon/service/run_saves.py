"""Where one run saves and what lies there: learnt and followed for as long as the run lives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from middlewatch.sentinels.kit import (
    CheckpointSaved,
    CheckpointSeen,
    Observation,
    ProcessEnded,
    RunFacts,
)
from middlewatch.sentinels.kit.numbers import number

from ..config.run_spec import RunSpec
from ..config.save_folder import SaveFolder
from ..judge.history import RunHistory
from ..sources.checkpoint_dir import VERIFIER_ARGV, VERIFIER_DEADLINE_S, CheckpointDir
from ..sources.save_folders import NOTICE_S, SaveFolders
from ..sources.searches import Searches
from ..system.clock import Clock
from ..system.guard import Guards
from ..system.pump import Pump, Pumped
from ..system.worker import JsonWorker

LINGER_S = 120.0
"""Seconds after the end of a run in which saves without a verdict are still followed. A folder that
is not whole gets its verdict after 90 s at the latest; a person looks at the last save first."""
_MOST_PIDS = 48


class Run(Protocol):
    """What is used here of a :class:`.watched_run.WatchedRun`."""

    spec: RunSpec
    facts: RunFacts
    history: RunHistory
    index: dict[str, Any]
    ended_at: float | None
    clock: Clock
    saves: RunSaves

    def add_observations(self, seen: Iterable[Observation]) -> None:
        """Take what a source saw."""
        ...

    def log_line_text(self, file: str, number: int) -> str | None:
        """Text of a recent log line."""
        ...


class RunSaves:
    """The two sources about the saves of one run. ``others`` gives the other living runs."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.source: CheckpointDir | None = None
        self.others: Callable[[], Iterable[Run]] = tuple
        self.searches = Searches()
        """Shared by all runs: how many of them look at the same time."""
        self.never: tuple[str, ...] = ()
        """Folders that we write to: copies of checkpoints."""
        self.learnt: Callable[[], None] = lambda: None
        """Called when a folder was found."""
        self.unclear: list[str] = []
        """Saves of which it is not known whether this run wrote them."""
        self.promised: dict[str, str] = {}
        """Path of a save that a push called still being checked -> id of the incident."""
        self._ended = False
        """The main process of the run is gone."""
        self._taken_at = float("-inf")
        """When a folder was found last, epoch seconds."""
        self._search: SaveFolders | None = None
        self._pump: Pump | None = None
        self._guards: Guards | None = None
        self._pumped: list[Pumped] = []

    def start(self, pump: Pump, guards: Guards | None = None) -> None:
        """Begin to follow the known folders, and to look for more; ``guards`` reach what is far."""
        self._pump, self._guards = pump, guards
        if self._run.spec.checkpoint_dirs:
            self._follow(pump)
        self._search = SaveFolders(
            self._question, self._writers, self._grown_at, self._take, searches=self.searches
        )
        self._pumped.append(pump.add(self._search, self._run.add_observations, self._run.spec.id))

    def _follow(self, pump: Pump) -> None:
        run = self._run
        self.source = CheckpointDir(
            run.spec.checkpoint_dirs,
            JsonWorker(VERIFIER_ARGV, VERIFIER_DEADLINE_S, walls="verifier", can_wait=True),
            earlier=run.index["checkpoints"],
            since=run.facts.watched_since,
            learnt=run.spec.save_folders,
            guards=self._guards,
        )
        self.source.writer_gone = self._ended
        self._pumped.append(pump.add(self.source, run.add_observations, run.spec.id))

    def stop(self, pump: Pump) -> None:
        """Close the sources."""
        for pumped in self._pumped:
            pump.remove(pumped)
        self._pumped = []

    def rest(self) -> None:
        """Let go of the sources of an ended run: its saves are in its history and its index."""
        self.source = self._search = self._pump = self._guards = None
        self.learnt = lambda: None

    def see(self, one: CheckpointSaved | ProcessEnded, now: float) -> None:
        """The log claims a save, or a process of the run has ended."""
        if isinstance(one, ProcessEnded):
            self._ended = self._ended or one.main
            if self.source is not None:
                self.source.writer_gone = self._ended
            if one.main and self._search is not None:
                self._search.ended(now)
        elif self._search is not None:
            text = self._run.log_line_text(one.file, one.line) or one.path or "saved"
            self._search.claimed(one, text.strip(), now)

    def notes(self, now: float) -> list[str]:
        """Sentences for a person."""
        found = self.source.notes() if self.source is not None else []
        if self.unclear:
            shown = ", ".join(self.unclear[:4])
            found.append(f"who saved {shown} is not known: others work in that folder too")
        trouble = self._search.trouble(now) if self._search and self.open else ""
        return [*found, trouble] if trouble else found

    @property
    def looked(self) -> bool:
        """False while the known folders are followed and were not looked at yet: after a restart it is
        not the truth that there is nothing."""
        return self.source is None or self.source.looked

    @property
    def open(self) -> bool:
        """Whether the sources are open."""
        return bool(self._pumped)

    def waits(self, now: float) -> bool:
        """Whether the run has ended, and a last look for saves is under way or a save has no
        verdict yet."""
        ended = self._run.ended_at
        if ended is None or not self._pumped or not 0 <= now - ended < LINGER_S:
            return False
        if self._search is not None and self._search.busy:
            return True
        if 0 <= now - self._taken_at < NOTICE_S:
            return True  # what lies in a new folder is not known yet
        return any(seen.state == "pending" for seen in self._run.history.checkpoints)

    def also(self, folders: Iterable[str]) -> list[str]:
        """Follow folders that a person has named; those that are new."""
        new = [f for f in folders if f not in self._run.spec.checkpoint_dirs]
        named = [SaveFolder(folder, "a person has named it") for folder in new]
        self._take(named, self.unclear)
        return new

    # -- the search ---------------------------------------------------------------------

    def _take(self, folders: list[SaveFolder], unclear: list[str]) -> None:
        """Follow what was found from now on."""
        self.unclear = unclear
        run = self._run
        wholly = {one.path for one in run.spec.save_folders if one.whole}
        plain = set(run.spec.checkpoint_dirs) - {one.path for one in run.spec.save_folders}
        fresh = [f for f in folders if f.path not in wholly | plain or f.names]
        if not fresh or self._pump is None:
            return
        run.spec = run.spec.learnt(fresh)
        self._taken_at = self._run.clock.now()
        if self.source is None:
            self._follow(self._pump)
        else:
            for folder in fresh:
                self.source.add(folder)
        for other in self.others():
            other.saves.give_up(fresh)
        self.learnt()

    def give_up(self, theirs: Iterable[SaveFolder]) -> None:
        """Another run saves to a folder that was taken for this run's alone: of such a folder only
        what is known to be this run's counts from now on, by its own name."""
        run = self._run
        for one in theirs:
            mine = next((f for f in run.spec.save_folders if f.path == one.path), None)
            if mine is None or not mine.whole or one.whole:
                continue
            known = [c.path for c in run.history.checkpoints if c.path.startswith(f"{one.path}/")]
            tops = (path[len(one.path) + 1 :].partition("/")[0] for path in known)
            own = tuple(f"={top}" for top in tops if not one.holds(top))
            shared = SaveFolder(mine.path, mine.why, whole=False, names=own[-64:])
            folders = (shared if f is mine else f for f in run.spec.save_folders)
            run.spec = replace(run.spec, save_folders=tuple(folders))
            if self.source is not None:
                self.source.replace(shared)

    def _question(self) -> dict[str, Any]:
        run, spec = self._run, self._run.spec
        known = sorted(self.others(), key=lambda other: -(other.ended_at or float("inf")))
        others = [other.saves.known_to_others(spec.cwd) for other in known[:32]]
        return {
            "pids": self._pids(),
            "cwd": spec.cwd,
            "started_at": run.facts.started_at if spec.pid is not None else 0.0,
            "command": [word[:400] for word in spec.command[:64]],
            "beside": [] if spec.cwd else [log.rpartition("/")[0] for log in spec.logs],
            "known": [
                {"path": f.path, "whole": f.whole, "names": f.names}
                for f in map(spec.folder, spec.checkpoint_dirs)
            ],
            "others": others,
            "never": self.never,
        }

    def known_to_others(self, cwd: str) -> dict[str, Any]:
        """What another run that works in ``cwd`` has to know of this one."""
        run, spec = self._run, self._run.spec
        claims = list(run.history.claimed_saves)[-16:] if spec.cwd == cwd else []
        return {
            "cwd": spec.cwd,
            "pids": self._pids() if spec.cwd == cwd else [],
            "started_at": run.facts.started_at,
            "ended_at": run.ended_at,
            "command": [word[:200] for word in spec.command[:32]] if spec.cwd == cwd else [],
            "dirs": [f for f in spec.checkpoint_dirs if spec.folder(f).whole],
            "claims": [{"path": claim.path} for claim in claims if claim.path],
        }

    def _pids(self) -> list[tuple[int, int]]:
        """(pid, start time in ticks) of the processes of the run, the main one first."""
        samples = self._run.history.process_samples
        main = self._run.spec.pid
        seen = samples[-1].processes if samples else ()
        first = sorted(seen, key=lambda p: (p.pid != main, p.rank is None, p.rank or 0, p.pid))
        return [(p.pid, p.start_ticks) for p in first[:_MOST_PIDS]]

    def _writers(self) -> Sequence[int]:
        samples = self._run.history.process_samples
        seen = samples[-1].processes if samples else ()
        first = sorted(seen, key=lambda p: (p.rank is None, -(p.rss_bytes or 0)))
        return [p.pid for p in first]

    def _grown_at(self) -> float | None:
        return None if self.source is None else self.source.growing()


def doubted(seen: CheckpointSeen, since: tuple[float, float | None] | None) -> CheckpointSeen:
    """Call a checkpoint unverifiable that was saved after the loss became NaN or infinite.

    Its files are whole, but as long as its weights were not read they are probably not finite:
    nobody is advised to resume from it. Other checkpoints are returned unchanged. ``since``: (at,
    step) of the first such loss.
    """
    if since is None or seen.state != "ok" or seen.level in ("finite", "load"):
        return seen
    at, step = since
    if seen.saved_at < at if seen.step is None or step is None else seen.step < step:
        return seen
    named = "" if step is None else f" (step {number(step)})"
    detail = f"saved after the loss stopped being a number{named}; its weights were not checked"
    return replace(seen, state="unverifiable", detail=detail)
