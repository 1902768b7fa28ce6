"""After a restart the run has lost what it had learned.

Decides: After a restart the loss is far above its level at the step of the resume. Or, if the step
    numbers did not go back, it jumps to its first values and falls again as at the start. The part
    of the progress that is lost decides whether the weights or the optimizer state are missing. In
    a finished log, a reset after which the loss soon caught up is a note. A restart that goes on
    from a save, though a later one of the run is verified, is a warning, whatever the loss does.
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
from itertools import pairwise
from typing import NamedTuple

from .kit import CheckpointSeen, Evidence, Finding, Sentinel, Severity, Step, View
from .kit.loss.losses import Losses
from .kit.loss.series import Reset
from .kit.numbers import median, number, short_path
from .kit.recovery import OpenIncident

NEAR_REPORTS = 2.0
"""Reports after a save within which a resume from it is seen first: its own step may not be reported."""
ENOUGH_MARKS = 3
"""Reports needed to know the steps between two of them."""
MOST_MARKS = 500
"""Reports up to which the first one that is kept is the first one of the run (512 are kept)."""


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
    yield from _behind(view)
    losses = view.accumulator(Losses)
    if losses is None:
        return
    for place, reset in enumerate(losses.resets, 1):
        if view.live and (reset.back is not None or reset.reports > limits.accepted_reports):
            continue
        yield _finding(reset, place, limits)


def _behind(view: View) -> Iterator[Finding]:
    """A finding if a wrapper has started the program again, and it went on from an older save."""
    restart = _restart(view)
    if restart is None:
        return
    good = [c for c in view.checkpoints if c.step and c.state == "ok" and c.saved_at < restart.at]
    near = [c for c in good if 0 <= restart.step - (c.step or 0) <= NEAR_REPORTS * restart.every]
    newest = max(good, key=lambda c: c.step or 0, default=None)
    if not near or newest is None or newest.step is None:
        return
    took = max(near, key=lambda c: c.step or 0)
    if newest.step <= restart.step + restart.every or newest.saved_at <= took.saved_at:
        return
    if view.step_times[-1][1] > newest.step:
        return  # it has caught up
    yield Finding(
        trouble="loss_reset",
        key="behind",
        severity=Severity.WARNING,
        summary=f"the restart went back to step {number(took.step or 0)}, though step "
        f"{number(newest.step)} is saved and whole: {short_path(newest.path)}",
        evidence=(
            Evidence("log", f"first step after the restart: {number(restart.step)}", restart.at),
            Evidence("checkpoint", f"{newest.path} (step {number(newest.step)})", newest.saved_at),
        ),
        remedy=f"read how the program chooses what it resumes from: names in the order of the text "
        f"put step_75 behind step_150; it should be {newest.path}",
        details={"step": restart.step, "resumed_at": took.step, "newest": newest.step},
        since=restart.at,
    )


class _Restart(NamedTuple):
    at: float
    """Epoch seconds of the first report after it."""
    step: float
    every: float
    """Steps between two reports."""


def _restart(view: View) -> _Restart | None:
    """The newest restart: the first report of another attempt, or a counter that went back after
    the end of a process of the run."""
    if not view.live or not (view.endings or view.run.attempt > 1):
        return None  # the usual case, in every step
    marks = list(view.step_times)
    if view.ending is not None or len(marks) < ENOUGH_MARKS:
        return None
    back = next((i for i in range(len(marks) - 1, 0, -1) if marks[i][1] < marks[i - 1][1]), 0)
    if back:
        before, after = marks[back - 1][0], marks[back][0]
        if not any(before <= end.at <= after for end in view.endings):
            return None  # a trainer that rolls back does so by design
    elif view.run.attempt == 1 or len(marks) > MOST_MARKS:
        return None
    steps = [new - old for (_, old), (_, new) in pairwise(marks[back:]) if new > old]
    return _Restart(*marks[back], median(steps)) if steps else None


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
    if case.key == "behind":
        newest = case.details.get("newest")
        marks = view.step_times
        if not marks or not isinstance(newest, (int, float)) or marks[-1][1] <= newest:
            return ""
        return f"it is beyond that save: step {number(marks[-1][1])} now"
    losses = view.accumulator(Losses)
    if losses is None:
        return ""
    for place, reset in enumerate(losses.resets, 1):
        if case.key == f"{reset.metric}:{place}" and reset.back is not None:
            by = "" if reset.back.step is None else f" by step {number(reset.back.step)}"
            return f"the loss has caught up{by}: {number(reset.back.value)}"
    return ""


SENTINEL = Sentinel(
    check, Limits(), on=(Step, CheckpointSeen), also_reads=(Losses,), recovered=recovered
)
