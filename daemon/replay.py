"""Reading a finished log: the daemon's parsers and sentinels, without clock or box.

Every observation goes through the same rules with ``live=False``; a finding is kept once per
trouble, with the line where it first shows, and the verdict says how the log ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from middlewatch.sentinels.kit import (
    CheckpointSaved,
    LogEvent,
    Observation,
    RunFacts,
    Sentinel,
    Step,
)

from .engine import Engine
from .history import BoxHistory, RunHistory
from .incidents import IncidentKeeper
from .masking import mask
from .parsers.reader import LogReader
from .verdict import Progressed, Told, judge

CHUNK = 1 << 20
"""Bytes to read at a time."""


class Replay:
    """One log from its first byte to its last."""

    def __init__(
        self,
        file: str,
        sentinels: dict[str, Sentinel],
        limits: dict[str, Any],
        tell_bug: Callable[[str], None],
    ) -> None:
        self.file = file
        self.reader = LogReader(file)
        self._history = RunHistory(RunFacts(file, 0.0, 0.0), BoxHistory(), live=False)
        self._engine = Engine(sentinels, limits, IncidentKeeper(), tell_bug)
        self._told: dict[tuple[str, str, str], Told] = {}
        self._progress = Progressed()

    def read(self, chunks: Iterable[bytes], *, metrics: bool) -> Iterator[dict[str, Any]]:
        """Records of the contract, metrics as they come, findings and the end last."""
        for chunk in chunks:
            yield from self._take(self.reader.feed(chunk, 0.0), metrics=metrics)
        yield from self._take(self.reader.finish(0.0), metrics=metrics)
        yield from self._end()

    def _take(self, seen: Iterable[Observation], *, metrics: bool) -> Iterator[dict[str, Any]]:
        for one in seen:
            self._history.add(one)
            self._progress.add(one)
            if isinstance(one, Step):
                if metrics:
                    yield self._metric(one)
            elif isinstance(one, CheckpointSaved) and metrics:
                yield {
                    "type": "checkpoint_saved",
                    "file": self.file,
                    "line": one.line,
                    "step": one.step,
                    "path": one.path,
                }
            if isinstance(one, (Step, LogEvent)):
                self._judge(type(one))

    def _metric(self, step: Step) -> dict[str, Any]:
        return {
            "type": "metric",
            "file": self.file,
            "line": step.line,
            "step": step.number,
            "epoch": step.epoch,
            "rank": step.rank,
            "values": dict(step.values),
        }

    def _judge(self, *fresh: type) -> None:
        found, _ = self._engine.findings(self._history.view(0.0), set(fresh), tick=False)
        for sentinel, finding in found:
            key = (sentinel, finding.key, finding.trouble)
            told = self._told.get(key)
            if told is None:
                self._told[key] = Told(sentinel, finding, finding, len(self._told))
            else:
                told.newest = finding

    def _end(self) -> Iterator[dict[str, Any]]:
        self._history.ended = True
        self._judge(Step, LogEvent)
        view = self._history.view(0.0)
        for told in sorted(self._told.values(), key=lambda t: (t.first.line, t.order)):
            yield self._finding(told)
        ending = judge(self._told.values(), self._progress, view)
        yield {
            "type": "end",
            "file": self.file,
            "lines": self.reader.lines,
            "bytes": self.reader.bytes,
            "verdict": ending.verdict,
            "cause": ending.cause,
            "last_step": self._progress.last_step,
            "finished_at_line": ending.finished_line,
        }

    def _finding(self, told: Told) -> dict[str, Any]:
        first, newest = told.first, told.newest
        # What and where as it first showed; how bad and how often as it stands at the end.
        text = next((e.text for e in first.evidence if e.kind == "log"), "") or first.summary
        details = {k: v for k, v in {**newest.details, **first.details}.items() if v is not None}
        if "count" in newest.details:
            details["count"] = newest.details["count"]
        return {
            "type": "finding",
            "file": self.file,
            "line": first.line,
            "decided_line": first.decided_line or first.line,
            "class": first.trouble,
            "severity": newest.severity.label,
            "fatal": newest.fatal,
            "sentinel": told.sentinel,
            "summary": mask(first.summary),
            "evidence": mask(text)[:400],
            "at": None,
            "details": details,
        }
