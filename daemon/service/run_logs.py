"""The logs of one run: those named when the watch began, and those found while it lives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol, Union

from middlewatch.sentinels.kit import Observation
from middlewatch.sentinels.kit.numbers import size, span

from ..config.run_spec import RunSpec
from ..config.secrets import mask
from ..judge.history import RunHistory
from ..launch.log_files import NO_LOG
from ..parsers.metric_readers import MetricFileReader, live_reader
from ..parsers.recurring import LiveReader
from ..report import facts
from ..sources.container_log import EngineLog
from ..sources.log_lag import TOLD_S
from ..sources.log_tail import LogTail, TailState
from ..sources.run_outputs import Output, RunOutputs
from ..system.clock import Clock
from ..system.errors import Unsupported
from ..system.guard import Guards
from ..system.inotify import Inotify
from ..system.pump import Pump, Pumped
from .run_saves import RunSaves

READS_AT_ONCE = 16
"""Reads of one log in a row: 4 MiB, or 5,000 reports; under a second."""


Tail = Union[LogTail, EngineLog]
Made = Callable[[LiveReader, TailState | None], Tail]
"""Makes the source of a log from its reader, and from what its state was before a restart."""


class Run(Protocol):
    """What is used here of a :class:`.watched_run.WatchedRun`."""

    spec: RunSpec
    history: RunHistory
    clock: Clock
    guards: Guards | None
    saves: RunSaves

    @property
    def gone_at(self) -> float | None:
        """When the main process was seen to be gone."""
        ...

    def add_observations(self, seen: Iterable[Observation]) -> None:
        """Take what a source saw."""
        ...


class RunLogs:
    """The sources of the logs of one run, and their readers.

    ``newest``: the newest lines, as kept over a restart; ``states``: what :meth:`states` gave then.
    """

    def __init__(self, run: Run, newest: Iterable[str], states: Mapping[str, TailState]) -> None:
        self._run = run
        self.newest = [mask(line) for line in newest]
        self._before = states
        self.readers: dict[str, LiveReader] = {}
        self._tails: dict[str, Tail] = {}
        self._pump: Pump | None = None
        self._inotify: Inotify | None = None
        self._pumped: list[Pumped] = []

    def start(self, pump: Pump, inotify: Inotify) -> None:
        """Read the known logs, and look for more."""
        self._pump, self._inotify = pump, inotify
        run = self._run
        for path in run.spec.logs:
            self._add(path, self._before.get(path))
        if run.spec.pid is not None:
            outputs = RunOutputs(
                run.history.pids,
                lambda: run.spec.logs,
                lambda: not run.history.step_times,
                self._take,
                main=run.spec.pid,
                guards=run.guards,
            )
            self._pumped.append(pump.add(outputs, run.add_observations, run.spec.id))

    def _add(self, path: str, state: TailState | None, *, from_start: bool = True) -> None:
        def file(reader: LiveReader, state: TailState | None) -> LogTail:
            return LogTail(
                path,
                reader,
                self._inotify,
                via=self._run.spec.log_via.get(path),
                offset=state,
                from_start=from_start,
                guards=self._run.guards,
                pids=self._run.history.pids,
                ended_at=lambda: self._run.gone_at,
            )

        self._follow(path, file, state)

    def add(self, label: str, make: Made) -> None:
        """Read one more log, which is called so; it goes on where it was left before a restart."""
        if self._pump is not None and label not in self._tails:
            self._follow(label, make, self._before.get(label))

    def _follow(self, label: str, make: Made, state: TailState | None) -> None:
        assert self._pump is not None
        kind = live_reader(label)
        reader = kind.restore(label, state["reader"]) if state else kind(label)
        tail = make(reader, state)
        reader.isolated = self._pump.isolation.one("parser", f"{label} of {self._run.spec.id}")
        self.readers[label], self._tails[label] = reader, tail
        self._pumped.append(self._pump.add(tail, self._run.add_observations, self._run.spec.id))

    def _take(self, found: Output) -> None:
        """One more file that the run prints to."""
        run, spec = self._run, self._run.spec
        via = {found.path: found.via} if found.via else {}
        run.spec = replace(
            spec,
            logs=(*spec.logs, found.path),
            log_via={**spec.log_via, **via},
            notes=tuple(note for note in spec.notes if not note.startswith(NO_LOG)),
        )
        self._add(found.path, None, from_start=found.from_start)
        run.saves.learnt()

    def also(self, paths: Iterable[str]) -> list[str]:
        """Read logs that a person has named; those that are new."""
        new = [path for path in paths if path not in self._run.spec.logs]
        for path in new:
            self._take(Output(path, None, from_start=True))
        return new

    def stop(self, pump: Pump) -> None:
        """Close the sources."""
        for pumped in self._pumped:
            pump.remove(pumped)
        self._pumped = []

    def rest(self) -> None:
        """Keep of the logs of an ended run their last lines, and how far they were read."""
        self.newest, self._before = self.tail(), self.states()
        self.readers, self._tails = {}, {}
        self._pump = self._inotify = None

    def read_now(self) -> None:
        """Read what is in the logs now, of those that are not far."""
        for tail in self._tails.values():
            if tail.answers_later:
                continue
            try:
                for _ in range(READS_AT_ONCE):
                    self._run.add_observations(tail.read(self._run.clock.now()))
                    if not tail.more:
                        break
            except (OSError, Unsupported):
                tail.level.begin()
                tail.level.end()

    def forget_level(self) -> None:
        """Something happened before which the logs may have grown: they have to be read to their end again."""
        for tail in self._tails.values():
            tail.level.forget()

    def level(self) -> bool:
        """Whether every log was read to its end since :meth:`forget_level`; those that are not far are read now.

        One that cannot be read counts: nothing more is known of it.
        """
        if not all(tail.level for tail in self._tails.values()):
            self.read_now()
        return all(tail.level for tail in self._tails.values())

    def line_text(self, file: str, number: int) -> str | None:
        """Text of a recent log line, for evidence."""
        reader = self.readers.get(file)
        if reader is None:
            return None
        return next((text for n, text in reversed(reader.tail) if n == number), None)

    def tail(self, lines: int = 50) -> list[str]:
        """The newest lines of the log that grew last, masked: they leave the daemon."""
        if self.readers:
            self.newest = self.newest_lines(lines)
        return self.newest

    def newest_lines(self, lines: int) -> list[str]:
        """The same; what was kept of a log that is not read any more may be fewer."""
        if not self.readers:
            return self.newest[-lines:]
        growth = self._run.history.logs
        newest = max(
            self.readers.values(),
            key=lambda r: g.grown_at if (g := growth.get(r.file)) else 0.0,
        )
        return [mask(text) for _, text in list(newest.tail)[-lines:]]

    def rows(self) -> list[dict[str, Any]]:
        """The logs as ``status --json`` shows them, with how far behind their end they are read."""
        run, now = self._run, self._run.clock.now()
        rows = facts.logs(run.history, run.spec)
        for row in rows:
            tail, before = self._tails.get(row["path"]), self._before.get(row["path"], {})
            lag = tail.lag if tail else None
            late = lag.seconds(now) if lag else None
            row["behind_bytes"] = lag.bytes if lag else before.get("unread_bytes")
            row["behind_s"] = None if late is None else round(late, 1)
            row["left_out_bytes"] = tail.left_out_bytes if tail else before.get("left_out_bytes")
        return rows

    def notes(self) -> list[str]:
        """Sentences for a person."""
        notes = []
        now = self._run.clock.now()
        for tail in self._tails.values():
            notes += [tail.detail] if tail.detail else []
            late = tail.lag.seconds(now) if tail.lag else None
            if tail.lag and late is not None and late >= TOLD_S:
                behind = f"{tail.path} is read {size(tail.lag.bytes)} behind its end"
                notes.append(f"{behind}: what stands in it is told {span(late)} late")
            if tail.left_out_bytes:
                left_out = f"{size(tail.left_out_bytes)} in the middle of {tail.path} were not read"
                notes.append(f"{left_out}: it grew too fast; its line numbers do not count them")
            if tail.skipped_bytes:
                began = f"the first {size(tail.skipped_bytes)} of {tail.path} were not read"
                notes.append(f"{began}; its line numbers count from there")
        for path, reader in self.readers.items():
            if isinstance(reader, MetricFileReader) and reader.damaged:
                notes.append(f"{path} is damaged: nothing more of it can be read")
        return notes

    def states(self) -> Mapping[str, TailState]:
        """Where reading goes on after a restart of the daemon: path -> state."""
        return {**self._before, **{path: tail.state() for path, tail in self._tails.items()}}
