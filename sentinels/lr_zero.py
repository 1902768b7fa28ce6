"""The learning rate is zero although steps remain.

Decides: Several reports in a row have a learning rate of exactly 0, while planned steps remain.
    Without a known plan, the steps that were made since count as planned: a run that goes on for a
    good while did not mean to end there. If it is a short while, more reports are needed and it is
    a note. A rate that was printed with a single digit just before may be rounded. One that was
    never above zero counts after three times as many reports, if the loss has not gone down in them:
    a resume brings the end of an old schedule back. So does one that is below a thousandth of its
    highest value before three quarters of the planned steps, while the loss does not fall.
Classes: lr_zero
Sources: Our choice: ten reports in a row before 98 % of the planned steps; without a plan before
    80 % of the steps made, else fifty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .kit import Finding, Sentinel, Severity, Step, View
from .kit.loss.flat import FlatMetrics, NoRate
from .kit.numbers import number
from .kit.progress import planned
from .kit.recovery import OpenIncident, values_since

ENOUGH_EPOCHS = 2.0
"""Epochs from which their numbers tell how much of the run has passed."""
FADED_MADE = 0.8
"""Part of the steps made so far at which it must have begun, if the planned steps are unknown."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.lr_zero]`."""

    in_a_row: int = 10
    """Reports in a row with a rate of zero before it is reported; two at least."""
    never_in_a_row: int = 30
    """Like `in_a_row`, if the rate was never above zero."""
    faded_ratio: float = 0.75
    """Part of the planned steps before which a rate next to nothing is reported."""
    end_ratio: float = 0.98
    """Part of the planned steps after which the schedule may have reached zero as planned."""
    unplanned_ratio: float = 0.8
    """Like `end_ratio`, of the steps made so far, if the planned steps are unknown."""
    unplanned_in_a_row: int = 50
    """Like `in_a_row`, if the planned steps are unknown and few were made since."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding while the newest reports all have a learning rate of zero."""
    still = view.accumulator(FlatMetrics)
    none = None if still is None else still.no_rate
    if none is None or none.count < limits.in_a_row:
        return
    if none.before == 0.0:
        if none.count >= limits.never_in_a_row and not none.learns:
            yield _finding(
                none, Severity.WARNING, ", from the first one on, and the loss does not fall"
            )
        return
    if none.rate:
        yield from _faded(none, view, limits)
        return
    done = _done(none, view)
    if done is None:
        made = _made(none, view)
        if made is not None and made < limits.unplanned_ratio:
            yield _finding(none, Severity.WARNING, f", for {1 - made:.0%} of the run so far")
        elif none.count >= limits.unplanned_in_a_row:
            yield _finding(none, Severity.INFO, "")
    elif done < limits.end_ratio:
        yield _finding(none, Severity.WARNING, f", at {done:.0%} of the run")


def _faded(none: NoRate, view: View, limits: Limits) -> Iterator[Finding]:
    """A finding about a rate that is next to nothing, far from the end: a decay that was meant for
    every epoch and is made with every batch."""
    done, made = _done(none, view), _made(none, view)
    far = done < limits.faded_ratio if done is not None else made is not None and made < FADED_MADE
    if far and not none.learns:
        at = f", at {done:.0%} of the run" if done is not None else ""
        what = f"next to nothing ({none.rate:.1e}, it was {none.before:.1e}){at}, and the loss does not fall"
        since = "" if none.first.number is None else f" since step {number(none.first.number)}"
        yield replace(
            _finding(none, Severity.WARNING, ""),
            summary=f"the learning rate is {what}{since}",
        )


def _done(none: NoRate, view: View) -> float | None:
    """How far the run was when the rate became zero, 0 to 1."""
    first, total = none.first, planned(view)
    if total and first.number is not None:
        return first.number / total
    if first.epoch is not None and first.epochs:
        return first.epoch / first.epochs
    return None


def _made(none: NoRate, view: View) -> float | None:
    """The step at which the rate became zero as a part of all steps made since the start."""
    first = none.first
    last = next(
        (s for s in reversed(view.steps) if s.file == first.file and "lr" in s.values), None
    )
    if last is None:
        return None
    epochs = (first.epoch, last.epoch)
    if None not in epochs and (last.epoch or 0.0) - (first.epoch or 0.0) >= ENOUGH_EPOCHS:
        return (first.epoch or 0.0) / (last.epoch or 1.0)  # steps may be counted within each
    if first.number is not None and last.number:
        return first.number / last.number
    return (first.epoch or 0.0) / last.epoch if last.epoch else None


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


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the learning rate is above zero."""
    rates = values_since(view, "lr", case.quiet_since)
    return f"the learning rate is {number(rates[0])} again" if rates and rates[0] > 0 else ""


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(FlatMetrics,), recovered=recovered)
