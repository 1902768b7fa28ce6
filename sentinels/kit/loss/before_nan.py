"""What the reports before the first NaN show of its reason, and the first step that follows from it.

How training diverges, in the order in which it is looked for: a learning rate that is still rising is too high for
this model; gradients that jump go before the loss; a loss that climbs first has diverged slowly; a loss that is no
number in the first report has bad input or a bad loss; otherwise one batch or one operation is at fault.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..numbers import median, number
from ..observations import Step
from ..view import View
from .finite import is_component

LOOK = 24
"""Reports before the first NaN that are looked at."""
RISES = 1.3
"""How much higher the learning rate at the NaN is than the first one looked at, while it never fell."""
LARGE = 1e3
"""A loss that begins above it, and is no number within :data:`LOOK` reports, is of values that are not scaled (our choice)."""
JUMPS = 8.0
"""How many times their median the last gradient norm was."""
CLIMBS = 3.0
"""How many times the lowest of them the last loss was."""


def step_by_reports(view: View, line: int, file: str, step: float | None) -> str:
    """The first step for a training loss that is no number since this line, a report or one that says so; empty when the
    reports before it are not known."""
    known = [s for s in view.steps if s.file == file and 0 < s.line <= line]
    # A bar is drawn again and again in one line: what was finite in it came before.
    drawn = [n for n, s in enumerate(known) if s.line == line]
    first = drawn[0] if drawn else len(known)
    bad = next((n for n in drawn if not _is_finite(known[n])), first)
    before, at = known[:bad][-LOOK:], known[bad:]
    if not at and not before:
        return ""
    where = "" if step is None else f" before step {number(step)}"
    resume = f"the newest save{where}: `middlewatch checkpoints`"
    if not any(math.isfinite(loss) for s in before if (loss := _loss(s)) is not None):
        if before:
            return ""
        return (
            "look at the first batch: is a value of the input NaN or infinite, are all labels ignored, does the loss take the "
            "logarithm of 0 or divide by 0 there (`torch.autograd.set_detect_anomaly(True)` names the operation)"
        )
    losses = [loss for s in before if (loss := _loss(s)) is not None and math.isfinite(loss)]
    if losses and losses[0] >= LARGE and len(before) < LOOK:
        return (
            f"look at the size of the inputs and of what is to be learnt, and scale both: the loss began at {number(losses[0])}; count their values that "
            f"are no numbers as well (`isnan().sum()`); {resume}"
        )
    if rising := _rising([*before, *at]):
        return f"{rising}; {resume}"
    norms = _values([*before, *at], "grad_norm")
    if len(norms) > 2 and norms[-1] >= JUMPS * median(norms[:-1]) > 0:
        return (
            f"look at the batch of that step, and whether gradients are clipped (`max_norm=1.0`): their norm went from "
            f"{number(median(norms[:-1]))} to {number(norms[-1])} right before; {resume}"
        )
    if losses[-1] >= CLIMBS * min(losses) > 0:
        return f"look at the learning rate, which is too high: the loss had climbed from {number(min(losses))} to {number(losses[-1])} before it was NaN; {resume}"
    return (
        "find which operation of that step gives it, from the newest save"
        f"{where} on (`middlewatch checkpoints`), with `torch.autograd.set_detect_anomaly(True)` (JAX: `jax_debug_nans`): the loss was "
        f"{number(losses[-1])} and quiet before it, so that one batch or one operation is at fault"
    )


def _loss(step: Step) -> float | None:
    """The training loss of a report, or the first of the losses of which it has several."""
    names = (name for name in step.values if is_component(name))
    return step.loss if step.loss is not None else step.values.get(next(names, ""))


def _is_finite(step: Step) -> bool:
    loss = _loss(step)
    return loss is None or math.isfinite(loss)


def step_by_rate(view: View, line: int, file: str, step: float | None) -> str:
    """The first step for a loss that jumped at this line while the learning rate was still rising; else empty."""
    known = [s for s in view.steps if s.file == file and 0 < s.line <= line][-LOOK:]
    rising = _rising(known)
    where = "" if step is None else f" before step {number(step)}"
    return rising and f"{rising}; the newest save{where}: `middlewatch checkpoints`"


def _rising(steps: Sequence[Step]) -> str:
    rates = _values(steps, "lr")
    if len(rates) < 2 or rates != sorted(rates) or not rates[-1] >= RISES * rates[0] > 0:
        return ""
    return (
        "look at the peak of the learning rate, which is too high, or at its warm-up: it was still rising, from "
        f"{number(rates[0])} to {number(rates[-1])}"
    )


def _values(steps: Sequence[Step], name: str) -> list[float]:
    found = (s.values.get(name) for s in steps)
    return [v for v in found if v is not None and math.isfinite(v)]
