"""The run went on without what it had learnt.

Decides: after a restart the loss stands far above its level at the step it resumed from; or,
    where the steps did not go back, it jumps to its first values and takes the same course
    again. By the part of the progress that is gone it names weights or optimizer. In an old log
    one that soon caught up is a note.
Classes: loss_reset
Sources: eight reports after a restart whose median is four spreads above the level at the
    resumed step; measured on 1,033 real curves, where all 17 such events stood out. Two spreads
    are enough where sixty per cent of the progress is gone: noise can be as large as that. Steps
    that did not go back need more: sixty per cent of the progress undone and eight reports that
    take the course of the first eight, apart by a quarter of how far those moved at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, Sentinel, Severity, Step, View
from .kit.loss.losses import Losses
from .kit.loss.series import Reset
from .kit.numbers import number


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_reset]`."""

    weights_ratio: float = 0.5
    """Part of the progress that is gone from which on the weights are missing; a smaller one
    is rather the state of the optimizer."""
    caught_up_reports: int = 30
    """Reports within which a loss that comes back makes it a note in an old log: what took
    longer was paid for twice."""
    accepted_reports: int = 1000
    """Reports after which the run is what it is now."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak of resets: in a live run while they last, in an old log of all."""
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
        why = f"{moved} and takes the course of its beginning again"
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


SENTINEL = Sentinel(check, Limits(), on=(Step,), accumulators=(Losses,))
