"""Counters that stood still when a part of the program died, while the rest goes on.

A collector of experience, a reader or a publisher that is a thread of its own may die of an
exception. The program goes on reporting, but with what the thread has left behind: what it counted
does not grow any more.
"""

from __future__ import annotations

from itertools import pairwise

from .observations import LogEvent, Step
from .view import View

GREW = 4
"""Reports before the exception in which a counter must have grown each time."""
STOOD = 6
"""Reports after it in which it must have stood still (our choice: an episode may take some)."""
STOOD_S = 30.0
"""Seconds that they cover at least."""
LAST = 2
"""Reports after the exception with what was counted before it."""


def frozen_since(view: View, event: LogEvent) -> tuple[str, ...]:
    """Names of the counters that grew with every report before ``event``, and stand still since."""
    before = [s for s in view.steps if s.file == event.file and s.line < event.line][-GREW - 1 :]
    after = [s for s in view.steps if s.file == event.file and s.line > event.line]
    if len(before) <= GREW or len(after) < STOOD + LAST:
        return ()
    after = after[LAST:]
    if after[-1].at - after[0].at < STOOD_S:
        return ()
    names = _counts(before[0]).keys()
    return tuple(sorted(n for n in names if _grew(before, n) and _stands(after, n)))


def _counts(step: Step) -> dict[str, float]:
    counter = {} if step.number is None else {"the step": step.number}
    return {**counter, **step.values}


def _grew(steps: list[Step], name: str) -> bool:
    values = [_counts(step).get(name) for step in steps]
    return all(a is not None and b is not None and b > a for a, b in pairwise(values))


def _stands(steps: list[Step], name: str) -> bool:
    first = _counts(steps[0]).get(name)
    return first is not None and all(_counts(step).get(name) == first for step in steps)
