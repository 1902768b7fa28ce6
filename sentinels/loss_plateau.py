"""The loss has not improved for a long time.

Decides: For long, no mean of 64 reports was lower than the best earlier one, although the run goes
    on. Always a note, because many healthy runs end this way.
Classes: loss_plateau
Sources: Our choice: sixteen means of 64 reports, and half of the run, without one that is better by
    0.5 %.
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
    """Section `[sentinels.loss_plateau]`."""

    reports: int = 1024
    """Reports without a better mean before it is reported; 1024 at least."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding while the loss has not improved for a long time."""
    still = view.accumulator(FlatMetrics)
    plateau = None if still is None else still.plateau
    if plateau is None or plateau.reports < limits.reports:
        return
    best = plateau.best
    since = "" if best.step is None else f" since step {number(best.step)}"
    yield Finding(
        trouble="loss_plateau",
        severity=Severity.INFO,
        summary=f"the loss has not been better than {number(best.value)}{since} "
        f"({plateau.reports} reports); it is {number(plateau.now)}",
        file=plateau.file,
        line=best.line,
        details={"step": best.step, "best": best.value, "now": plateau.now},
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the loss is better than the best one before."""
    best = case.details.get("best")
    values = values_since(view, "train_loss", case.quiet_since)
    if not isinstance(best, (int, float)) or not values or not values[0] < best:
        return ""
    return f"the loss is {number(values[0])}, better than {number(best)}"


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(FlatMetrics,), recovered=recovered)
