"""The loss is exactly the same in every report.

Decides: Dozens of reports have exactly the same loss, to the last digit, and exactly the same
    gradient norm if the log has it: a note. Where each of three or more measured values (losses,
    accuracies, …) is the same in a dozen reports, nothing is learnt: a warning.
Classes: loss_constant
Sources: Our choice: fifty reports in a row, twelve for all values together, and three times the
    longest such streak before, because a progress bar repeats a loss until it gets a new one. A
    loss below a twentieth of its first value may be rounded to one value and is not reported.
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
    if still is None or still.constant is None:
        return
    constant = still.constant
    every = constant.values is not None
    if constant.count < (min(limits.in_a_row, still.enough) if every else limits.in_a_row):
        return
    first = constant.first
    since = "" if first.step is None else f" since step {number(first.step)}"
    yield Finding(
        trouble="loss_constant",
        severity=Severity.WARNING if every else Severity.INFO,
        summary=f"the loss is {first.value:g} in all {constant.count} reports{since}"
        + (", and every other measured value is the same in all of them" if every else ""),
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
