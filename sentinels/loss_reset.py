"""After a restart the run has lost what it had learned.

Decides: After a restart the loss is far above its level at the step of the resume. Or, if the step
    numbers did not go back, it jumps to its first values and falls again as at the start. The part
    of the progress that is lost decides whether the weights or the optimizer state are missing. In
    a finished log, a reset after which the loss soon caught up is a note.
Classes: loss_reset
Sources: Eight reports after a restart whose median is four spreads above the level at the resumed
    step; measured on 1,033 real curves, in which all 17 such events were found. Two spreads are
    enough if 60 % of the progress is lost, because noise can be that large. If the step numbers did
    not go back, more is needed: 60 % of the progress lost, and eight reports that differ from the
    first eight by at most a quarter of the range of those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, Sentinel, Severity, Step, View
from .kit.loss.losses import Losses
from .kit.loss.series import Reset
from .kit.numbers import number
from .kit.recovery import OpenIncident


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_reset]`."""

    weights_ratio: float = 0.5
    """If at least this part of the progress is lost, the weights are said to be missing; if less,
    the optimizer state."""
    caught_up_reports: int = 30
    """If the loss is back within this many reports, it is a note in a finished log; a longer
    recovery costs training time twice."""
    accepted_reports: int = 1000
    """Reports after which a reset of a live run is not reported any more."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about resets: in a live run while they last, in a finished log about all."""
    losses = view.accumulator(Losses)
    if losses is None:
        return
    for place, reset in enumerate(losses.resets, 1):
        if view.live and (reset.back is not None or reset.reports > limits.accepted_reports):
            continue
        yield _finding(reset, place, limits)


def _finding(reset: Reset, place: int, limits: Limits) -> Finding:
    weights = reset.lost >= limits.weights_ratio
    what = "weights" if weights else "optimizer"
    name = "the loss" if reset.metric == "train_loss" else reset.metric
    moved = f"{name} went from {number(reset.base)} back to {number(reset.level)}"
    if reset.resumed_at is None:
        why = f"{moved} and falls again as at the start"
    else:
        missing = "weights" if weights else "optimizer state"
        why = f"resumed at step {number(reset.resumed_at)} without {missing}: {moved}"
    if reset.back is not None:
        since = "" if reset.back.step is None else f" by step {number(reset.back.step)}"
        why += f"; it caught up{since}"
    harmless = reset.back is not None and reset.reports <= limits.caught_up_reports
    return Finding(
        trouble="loss_reset",
        key=f"{reset.metric}:{place}",
        severity=Severity.INFO if harmless else Severity.CRITICAL,
        summary=why,
        file=reset.file,
        line=reset.onset.line,
        decided_line=reset.decided.line,
        details={
            "step": reset.onset.step,
            "resumed_at": reset.resumed_at,
            "from": reset.base,
            "to": reset.level,
            "lost_ratio": round(reset.lost, 3),
            "missing": what,
        },
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the loss has caught up."""
    losses = view.accumulator(Losses)
    if losses is None:
        return ""
    for place, reset in enumerate(losses.resets, 1):
        if case.key == f"{reset.metric}:{place}" and reset.back is not None:
            by = "" if reset.back.step is None else f" by step {number(reset.back.step)}"
            return f"the loss has caught up{by}: {number(reset.back.value)}"
    return ""


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(Losses,), recovered=recovered)
