"""How far a run has come, compared with the planned number of steps."""

from __future__ import annotations

import re
from itertools import islice, pairwise

from .again import ANEW
from .numbers import median
from .observations import Phase, Step
from .view import View

_RANK = re.compile(r"(?i)[\[(][^\[\]()]{0,40}\brank[ :=_-]?\s?(\d{1,5})(?:/\d+)?[\])]")

RECENT = 9
"""Newest values of the step counter, from which the steps between two reports are computed."""

WENT_ON = 2
"""So many training reports after a farewell show that it was about another end: an epoch, a fold.
The same number as after an error; one may be a bar that is drawn a last time."""


def planned(view: View) -> float | None:
    """Number of planned steps: the total in the log, else that of the command line."""
    told = next((s for s in reversed(view.steps) if s.total), None)
    return view.run.expected_steps if told is None or _of_epoch(view, told) else told.total


def _of_epoch(view: View, told: Step) -> bool:
    """True when the counter begins again with every epoch: ``epoch 6 step 16/64``, or one that has come
    to its total, or twice to the same number before it, and began again, whatever it counts."""
    alike = [s.number for s in view.steps if s.total == told.total and s.number is not None]
    turned = [(before, after) for before, after in pairwise(alike) if after < before]
    if any(before == told.total for before, _ in turned):
        return True
    # One that goes back nearby was resumed from a save.
    anew = [before for before, after in turned if after <= ANEW * before]
    if len(set(anew)) < len(anew):
        return True
    if told.epoch is None or told.number is None:
        return False
    return any(
        s.epoch is not None
        and s.number is not None
        and s.epoch < told.epoch
        and s.number >= told.number
        and s.total == told.total
        for s in view.steps
    )


def plan_reached(view: View, slack_ratio: float = 0.01) -> bool | None:
    """Whether the newest step is the last planned one; ``None`` without a plan or a step.

    The last report may be one logging interval, or ``slack_ratio`` of the planned steps, before the
    end.
    """
    total = planned(view)
    if total is None or not view.step_times:
        return None
    marks = [number for _, number in islice(reversed(view.step_times), RECENT)]
    # The median, because a run that resumes may jump thousands of steps at once.
    gaps = [newer - older for newer, older in pairwise(marks)]
    interval = median(gaps) if gaps else 1.0
    return marks[0] >= total - max(interval, 1.0, slack_ratio * total)


def ended_well(view: View) -> bool:
    """True when the main process has ended with exit status 0: no more than that is known."""
    return view.ending is not None and view.ending.exit_code == 0


def completed(view: View, slack_ratio: float = 0.01) -> bool:
    """True when the run has reached its planned steps, or said that it is done.

    A line that says "done" counts only if the planned steps are unknown, as it is a claim; where several
    ranks report, all have to say so: one that has left the loop alone leaves the others waiting. What
    more is known of a run that has ended is judged by :mod:`.ends`.
    """
    reached = plan_reached(view, slack_ratio)
    if reached is not None:
        return reached
    claims = [
        phase
        for phase in view.phases
        if phase.name == "done" and view.steps_after(phase.at, phase.line, phase.file) < WENT_ON
    ]
    if not claims:
        return False
    said = {_rank_of(phase) for phase in claims}
    return None in said or {s.rank for s in view.steps if s.rank is not None} <= said


def _rank_of(phase: Phase) -> int | None:
    """The rank that a line names as its writer, in brackets."""
    named = _RANK.search(phase.text[:120])
    return None if named is None else int(named[1])
