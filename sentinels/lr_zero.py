"""The learning rate is zero before the end of the run.

Decides: report after report has a rate of exactly 0, while planned steps remain. Where the plan is
    unknown it takes longer and is a note. A rate that was printed with one digit just before may
    be rounded, and one that was never above zero says nothing.
Classes: lr_zero
Sources: our choice: ten reports in a row before 98 % of the planned steps; fifty without a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, Sentinel, Severity, Step, View
from .kit.loss.flat import FlatMetrics, NoRate
from .kit.numbers import number
from .kit.progress import planned


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.lr_zero]`."""

    in_a_row: int = 10
    """Reports with a rate of zero in a row before it is told; two at least."""
    end_ratio: float = 0.98
    """Part of the planned steps from which on a schedule may have ended."""
    unplanned_in_a_row: int = 50
    """The same reports where nobody knows when the run ends."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak while the newest reports all have a rate of zero."""
    still = view.accumulator(FlatMetrics)
    none = None if still is None else still.no_rate
    if none is None or none.count < limits.in_a_row:
        return
    done = _done(none, view)
    if done is None:
        if none.count >= limits.unplanned_in_a_row:
            yield _finding(none, Severity.INFO, "")
    elif done < limits.end_ratio:
        yield _finding(none, Severity.WARNING, f", at {done:.0%} of the run")


def _done(none: NoRate, view: View) -> float | None:
    """How far the run was when the rate became zero, 0 to 1."""
    first, total = none.first, planned(view)
    if total and first.number is not None:
        return first.number / total
    if first.epoch is not None and first.epochs:
        return first.epoch / first.epochs
    return None


def _finding(none: NoRate, severity: Severity, where: str) -> Finding:
    since = "" if none.first.number is None else f" since step {number(none.first.number)}"
    return Finding(
        trouble="lr_zero",
        severity=severity,
        summary=f"the learning rate is 0{since} ({none.count} reports){where}",
        file=none.file,
        line=none.first.line,
        details={"step": none.first.number, "before": none.before, "count": none.count},
    )


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(FlatMetrics,))
