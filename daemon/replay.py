"""Reading a finished log: the daemon's parsers and sentinels, without clock or box.

Every observation goes through the same rules with ``live=False``; a finding is kept once per
trouble, with the line where it first shows, and the verdict says how the log ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from middlewatch.sentinels.kit import (
    CheckpointSaved,
    Finding,
    LogEvent,
    Observation,
    Phase,
    RunFacts,
    Sentinel,
    Severity,
    Step,
    View,
)
from middlewatch.sentinels.kit.progress import planned

from .engine import Engine
from .history import BoxHistory, RunHistory
from .incidents import IncidentKeeper, cause_rank
from .masking import mask
from .parsers.reader import LogReader

CHUNK = 1 << 20
"""Bytes to read at a time."""
SIDE_EFFECTS = frozenset({"rank_failed", "process_killed", "sigterm_received", "python_exception"})
"""Classes that are the root only when nothing more exact is there."""
DONE_REACH = 200
"""Lines after a completion phrase in which teardown noise may still come."""


@dataclass(slots=True)
class Told:
    """One trouble of the log: its first finding, and how it stands at the end."""

    sentinel: str
    first: Finding
    newest: Finding
    order: int


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
        self._done_line: int | None = None
        self._last_step: float | None = None
        self._last_step_line = 0

    def read(self, chunks: Iterable[bytes], *, metrics: bool) -> Iterator[dict[str, Any]]:
        """Records of the contract, metrics as they come, findings and the end last."""
        for chunk in chunks:
            yield from self._take(self.reader.feed(chunk, 0.0), metrics=metrics)
        yield from self._take(self.reader.finish(0.0), metrics=metrics)
        yield from self._end()

    def _take(self, seen: Iterable[Observation], *, metrics: bool) -> Iterator[dict[str, Any]]:
        for one in seen:
            self._history.add(one)
            if isinstance(one, Step):
                if one.number is not None:
                    self._last_step, self._last_step_line = one.number, one.line
                if metrics:
                    yield self._metric(one)
            elif isinstance(one, CheckpointSaved):
                if metrics:
                    yield {
                        "type": "checkpoint_saved",
                        "file": self.file,
                        "line": one.line,
                        "step": one.step,
                        "path": one.path,
                    }
            elif isinstance(one, Phase) and one.name == "done":
                self._done_line = one.line
            elif isinstance(one, Phase) and one.name == "start":
                self._done_line = None
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
        verdict, cause = self._verdict(view)
        yield {
            "type": "end",
            "file": self.file,
            "lines": self.reader.lines,
            "bytes": self.reader.bytes,
            "verdict": verdict,
            "cause": cause,
            "last_step": self._last_step,
            "finished_at_line": self._finished_line(view) if verdict == "finished" else None,
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

    def _finished_line(self, view: View) -> int | None:
        """Where the log shows that the run reached its end, if it does."""
        total = planned(view)
        if total is not None and self._last_step is not None and self._last_step >= total - 1:
            return self._last_step_line
        return self._done_line

    def _verdict(self, view: View) -> tuple[str, str | None]:
        fatal = [
            t
            for t in self._told.values()
            if t.newest.fatal and t.newest.severity >= Severity.WARNING
        ]
        end = self._finished_line(view)
        if end is not None:
            fatal = [t for t in fatal if t.first.line <= end]
        cause = self._root(fatal)
        if cause is not None:
            return "failed", cause
        return ("finished" if end is not None else "cut"), None

    def _root(self, fatal: list[Told]) -> str | None:
        """The root class: exact ones before fallout, then the highest cause, then the first."""
        if not fatal:
            return None
        exact = [t for t in fatal if t.first.trouble not in SIDE_EFFECTS] or fatal
        roots = [t for t in exact if t.first.details.get("role", "root") == "root"] or exact
        best = min(roots, key=lambda t: (t.first.line, cause_rank(t.first.trouble)))
        return best.first.trouble
