"""The loss is exactly the same in every report.

Decides: Dozens of reports have exactly the same loss, to the last digit, and exactly the same
    gradient norm if the log has it. Always a note, never a push at the default severity.
Classes: loss_constant
Sources: Our choice: fifty reports in a row, and three times the longest such streak before, because
    a progress bar repeats a loss until it gets a new one. A loss below a twentieth of its first
    value may be rounded to one value and is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, Sentinel, Severity, Step, View
from .kit.loss.flat import FlatMetrics
from .kit.numbers import number
from .kit.recovery import OpenIncident, values_since


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_constant]`."""

    in_a_row: int = 50
    """Reports in a row with the same loss before it is reported; fifty at least."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding while the newest reports all have the same loss."""
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


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the loss has changed."""
    values = values_since(view, "train_loss", case.quiet_since)
    return f"the loss moves again: {number(values[0])} now" if len(set(values)) > 1 else ""


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(FlatMetrics,), recovered=recovered)
