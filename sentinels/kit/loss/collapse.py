"""What is said of a score that has collapsed (:mod:`.scores`)."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Severity
from ..numbers import number
from ..recovery import OpenIncident, values_since
from ..view import View
from .scores import FOR, Scores

KEY = "score:"
"""Begin of the key of its findings."""


def collapsed(view: View) -> Iterator[Finding]:
    """A finding for each score that was learnt, is lost and stands still."""
    scores = view.accumulator(Scores)
    for score in scores.known.values() if scores is not None else ():
        lost, now = score.fell, score.down[-1] if score.down else None
        if not score.lost or lost is None or score.first is None or now is None:
            continue
        since = "" if lost.step is None else f" since step {number(lost.step)}"
        yield Finding(
            trouble="loss_diverged",
            key=f"{KEY}{score.metric}",
            severity=Severity.CRITICAL if score.still or score.broken else Severity.WARNING,
            summary=f"{score.metric} has collapsed from {number(score.best)} to {number(now)}{since}"
            f" and {'stands still' if score.still else 'stays'} there; it began at {number(score.first)}",
            file=score.file,
            line=lost.line,
            decided_line=score.line,
            since=lost.at,
            details={
                "step": lost.step,
                "metric": score.metric,
                "best": score.best,
                "first": score.first,
                "now": now,
                "reports": FOR,
            },
        )


def learnt_again(view: View, case: OpenIncident) -> str:
    """Words once the score has half of what was learnt again."""
    metric, best, first = (case.details.get(name) for name in ("metric", "best", "first"))
    if not isinstance(best, (int, float)) or not isinstance(first, (int, float)):
        return ""
    values = values_since(view, str(metric), case.quiet_since)
    if not values or values[0] < (best + first) / 2:
        return ""
    return f"{metric} is {number(values[0])} again"
