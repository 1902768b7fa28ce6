"""How a finished log ended: finished, failed or cut, and the root among its troubles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from middlewatch.sentinels.kit import Finding, Observation, Phase, Severity, Step, View
from middlewatch.sentinels.kit.progress import planned

from .incidents import cause_rank

SIDE_EFFECTS = frozenset({"rank_failed", "process_killed", "sigterm_received", "python_exception"})
"""Classes that are the root only when nothing more exact is there."""


@dataclass(slots=True)
class Told:
    """One trouble of the log: its first finding, and how it stands at the end."""

    sentinel: str
    first: Finding
    newest: Finding
    order: int


@dataclass(frozen=True, slots=True)
class Ending:
    """What the `end` record says."""

    verdict: str
    """``finished``, ``failed`` or ``cut``."""
    cause: str | None
    """Root class, where the verdict is ``failed``."""
    finished_line: int | None


class Progressed:
    """How far the log got: its last step, and where it says that the run is over."""

    def __init__(self) -> None:
        self.last_step: float | None = None
        self.last_step_line = 0
        self.done_line: int | None = None

    def add(self, one: Observation) -> None:
        """Look at one observation, in order."""
        if isinstance(one, Step):
            if one.number is not None:
                self.last_step, self.last_step_line = one.number, one.line
        elif isinstance(one, Phase) and one.name == "done":
            self.done_line = one.line
        elif isinstance(one, Phase) and one.name == "start":
            self.done_line = None

    def finished_line(self, view: View) -> int | None:
        """Where the log shows that the run reached its end, if it does."""
        total = planned(view)
        if total is not None and self.last_step is not None and self.last_step >= total - 1:
            return self.last_step_line
        return self.done_line


def judge(told: Iterable[Told], progress: Progressed, view: View) -> Ending:
    """The verdict over all troubles of a log."""
    fatal = [t for t in told if t.newest.fatal and t.newest.severity >= Severity.WARNING]
    end = progress.finished_line(view)
    if end is not None:
        fatal = [t for t in fatal if t.first.line <= end]
    cause = _root(fatal)
    if cause is not None:
        return Ending("failed", cause, None)
    return Ending("cut" if end is None else "finished", None, end)


def _root(fatal: list[Told]) -> str | None:
    """The root class: exact ones before fallout, then the highest cause, then the first."""
    if not fatal:
        return None
    exact = [t for t in fatal if t.first.trouble not in SIDE_EFFECTS] or fatal
    roots = [t for t in exact if t.first.details.get("role", "root") == "root"] or exact
    best = min(roots, key=lambda t: (t.first.line, cause_rank(t.first.trouble)))
    return best.first.trouble
