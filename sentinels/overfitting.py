"""The evaluation loss rises for long while the training loss falls.

Decides: The best evaluation is long ago, the evaluation loss has risen since to a multiple of it, and the
    training loss is lower than it was then. A warning; a note if a checkpoint of that time is still there,
    because then nothing is lost but time.
Classes: overfitting
Sources: Our choice: twelve evaluations, because early stopping waits for three to ten of them, and half
    as much again as the best, because an evaluation loss that rises a little is usual (Keskar et al.,
    2017, and every small fine-tuning). A tenth less training loss shows that it still learns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, Sentinel, Severity, Step, View
from .kit.accumulator import LoggedValue
from .kit.loss.evaluations import Evaluations
from .kit.numbers import number
from .kit.recovery import OpenIncident, values_since

NEAR_S = 120.0
"""Seconds between an evaluation and the checkpoint that belongs to it (our choice)."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.overfitting]`."""

    evaluations: int = 12
    """Evaluations without a better one before it is reported."""
    times: float = 1.5
    """Multiple of the best evaluation loss that it must have reached."""
    learns: float = 0.9
    """The training loss must be below this part of what it was at the best evaluation."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding while the evaluation loss is far above its best."""
    seen = view.accumulator(Evaluations)
    best = None if seen is None else seen.best
    if seen is None or best is None or seen.since < limits.evaluations or best.value <= 0.0:
        return
    now, loss, then = seen.now, seen.loss, seen.loss_then
    if now is None or now < limits.times * best.value:
        return
    if loss is None or then is None or loss > limits.learns * then:
        return
    kept = _kept(view, best)
    at = "" if best.step is None else f" at step {number(best.step)}"
    yield Finding(
        trouble="overfitting",
        severity=Severity.INFO if kept else Severity.WARNING,
        summary=f"the evaluation loss has risen from {number(best.value)}{at} to {number(now)} in "
        f"{seen.since} evaluations, while the training loss falls: it overfits",
        file=seen.file,
        line=best.line,
        details={"step": best.step, "best": best.value, "now": now, "kept": kept},
    )


def _kept(view: View, best: LoggedValue) -> bool:
    """True when a checkpoint of the time of the best evaluation is still there."""
    return any(
        (best.step is not None and save.step == best.step)
        or 0.0 <= save.saved_at - best.at <= NEAR_S
        for save in view.checkpoints
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the evaluation loss is better than the best one before."""
    best = case.details.get("best")
    values = values_since(view, "eval_loss", case.quiet_since)
    if not isinstance(best, (int, float)) or not values or not values[0] < best:
        return ""
    return f"the evaluation loss is {number(values[0])}, better than {number(best)}"


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(Evaluations,), recovered=recovered)
