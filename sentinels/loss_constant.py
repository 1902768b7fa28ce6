"""The loss is always the same.

Decides: dozens of reports have one and the same loss, to the last digit, and one and the same
    gradient norm where the log tells it. A note: it wakes nobody.
Classes: loss_constant
Sources: our choice: fifty reports in a row, and three times the longest such streak of before,
    for a progress bar repeats a loss until it is told another. A loss under a twentieth of its
    first value may be rounded to one value and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, Sentinel, Severity, Step, View
from .kit.loss.flat import FlatMetrics
from .kit.numbers import number


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_constant]`."""

    in_a_row: int = 50
    """Reports with the same loss in a row before it is told; fifty at least."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak while the newest reports all have one loss."""
    still = view.accumulator(FlatMetrics)
    if still is None or still.constant is None or still.constant.count < limits.in_a_row:
        return
    constant = still.constant
    first = constant.first
    since = "" if first.step is None else f" since step {number(first.step)}"
    yield Finding(
        trouble="loss_constant",
        severity=Severity.INFO,
        summary=f"the loss is {first.value:g} in all {constant.count} reports{since}",
        file=constant.file,
        line=first.line,
        decided_line=constant.decided.line if constant.decided else first.line,
        details={"step": first.step, "value": first.value, "count": constant.count},
    )


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(FlatMetrics,))
