"""How far a run has come, against what it planned."""

from __future__ import annotations

from itertools import islice, pairwise

from .numbers import median
from .view import View

RECENT = 9
"""Marks of the step counter that tell how many steps lie between two reports."""


def planned(view: View) -> float | None:
    """Steps planned: the log's own total, else what the command line says."""
    told = next((s.total for s in reversed(view.steps) if s.total), None)
    return told or view.run.expected_steps


def completed(view: View, slack_ratio: float = 0.01) -> bool:
    """True when the last step reached the plan, or the program said so after its last step.

    The last report may lag one logging interval, or ``slack_ratio`` of the plan, behind the
    end. A phrase counts only for a program whose plan is unknown: a log line is a claim.
    """
    total = planned(view)
    if total is not None and view.step_times:
        marks = [number for _, number in islice(reversed(view.step_times), RECENT)]
        # The usual one: a run that resumes may jump thousands of steps at once.
        gaps = [newer - older for newer, older in pairwise(marks)]
        interval = median(gaps) if gaps else 1.0
        return marks[0] >= total - max(interval, 1.0, slack_ratio * total)
    return any(phase.name == "done" for phase in view.phases_since_step())
