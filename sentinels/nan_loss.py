"""The loss stopped being a number.

Symptom: the log prints nan or inf where the training loss was; the exit status of such a
    run is usually 0, so nothing else tells.
Confirm: look at the named line; then at grad_norm and the learning rate just before it.
Cause: fp16 overflow, a peak learning rate too high, a bad batch, log(0) or a division by
    zero, a failing GPU.
Remedy:
    1. [safe] Stop the run; every further step is paid for and lost.
    2. [safe] Check that the newest checkpoint from before that step is finite.
    3. [costly] Resume from it with a lower peak learning rate or gradient clipping; if the
       same step fails again, look at its batch, not at the rate.
Not: do not resume from a checkpoint saved after the first non-finite step.
Retry: only after a change; the identical command ends the same way.
Classes: loss_nan loss_inf val_loss_nan grad_nonfinite
Sources: two values in a row: reviewers of public tools split on patience because a loss
    scaler skips single steps; two is the smallest number that forgives one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from .kit import Evidence, Finding, Sentinel, Severity, Step, View
from .kit.numbers import number


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.nan_loss]`."""

    in_a_row: int = 2
    """Non-finite reports in a row before anyone is woken; a loss scaler skips single ones."""


LOOK_BACK = 96
"""Reports looked at: enough for the newest two of each of 32 interleaved ranks."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak when the newest reports of a metric are all non-finite."""
    yield from _judge(view, limits, "train_loss", "the loss", Severity.CRITICAL)
    yield from _judge(view, limits, "eval_loss", "the evaluation loss", Severity.WARNING)
    yield from _judge(view, limits, "grad_norm", "the gradient norm", Severity.WARNING)


def _judge(
    view: View, limits: Limits, metric: str, called: str, severity: Severity
) -> Iterator[Finding]:
    by_rank: dict[int | None, list[Step]] = {}
    for step in islice(reversed(view.steps), LOOK_BACK):
        if metric in step.values:
            by_rank.setdefault(step.rank, []).append(step)
    for newest_first in by_rank.values():
        bad = list(_non_finite(newest_first, metric))
        if len(bad) < max(1, limits.in_a_row):
            continue
        first, decided = bad[-1], bad[-max(1, limits.in_a_row)]
        value = first.values[metric]
        trouble = _trouble(metric, value)
        where = "" if first.number is None else f" since step {number(first.number)}"
        yield Finding(
            trouble=trouble,
            key=metric,
            severity=severity,
            fatal=severity is Severity.CRITICAL,
            summary=f"{called} is {_spell(value)}{where}",
            evidence=(Evidence("log", first.text, first.at),) if first.text else (),
            file=first.file,
            line=first.line,
            decided_line=decided.line,
            details={"step": first.number, "metric": metric, "rank": first.rank},
        )
        return


def _non_finite(newest_first: list[Step], metric: str) -> Iterator[Step]:
    for step in newest_first:
        if math.isfinite(step.values[metric]):
            return
        yield step


def _trouble(metric: str, value: float) -> str:
    if metric == "eval_loss":
        return "val_loss_nan"
    if metric == "grad_norm":
        return "grad_nonfinite"
    return "loss_inf" if math.isinf(value) else "loss_nan"


def _spell(value: float) -> str:
    return "NaN" if math.isnan(value) else "infinite"


SENTINEL = Sentinel(check, Limits(), on=(Step,))
