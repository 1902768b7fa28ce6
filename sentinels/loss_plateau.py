"""The loss has not become better for a long time.

Decides: no mean of sixty-four reports was lower than one of long ago, though the run goes on. A
    note only, for many healthy runs end this way.
Classes: loss_plateau
Sources: our choice: sixteen means of sixty-four reports, and half of the run, without one that
    is better by half a per cent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, Sentinel, Severity, Step, View
from .kit.loss.flat import FlatMetrics
from .kit.numbers import number


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_plateau]`."""

    reports: int = 1024
    """Reports without a better mean before it is told; 1024 at least."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak while the best mean is long ago."""
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


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(FlatMetrics,))
