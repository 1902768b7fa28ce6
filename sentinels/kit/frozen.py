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
KNOWN_SAVES, LONGER = 8, 3.0
"""Newest saves whose intervals are known, and how many times the longest of them nothing is saved."""
WENT_ON = 3
"""Steps after the end of a thread of the program's own which show that the run goes on without it. One that the
others wait for stops them sooner (our choice)."""
LAST = 2
"""Reports after the exception with what was counted before it."""


def gone_thread(view: View, event: LogEvent) -> str:
    """Words about the thread that an exception ended, if the program reports on without what it did; else empty."""
    names = frozen_since(view, event)
    if names:
        return f"a thread; since then {', '.join(names[:3])} stands still"
    name = event.details.get("thread")
    if name and view.steps_after(event.at) >= WENT_ON:
        return f"the thread {name}; the run goes on without it"
    return ""


def frozen_since(view: View, event: LogEvent) -> tuple[str, ...]:
    """Names of the counters that grew with every report before ``event``, and stand still since."""
    if _no_more_saves(view, event.at):
        return ("saving",)
    before = [s for s in view.steps if s.file == event.file and s.line < event.line][-GREW - 1 :]
    after = [s for s in view.steps if s.file == event.file and s.line > event.line]
    if len(before) <= GREW or len(after) < STOOD + LAST:
        return ()
    after = after[LAST:]
    if after[-1].at - after[0].at < STOOD_S:
        return ()
    names = _counts(before[0]).keys()
    return tuple(sorted(n for n in names if _grew(before, n) and _stands(after, n)))


def _no_more_saves(view: View, at: float) -> bool:
    """True when saves came regularly before ``at`` (epoch seconds), and none since for far longer, in
    which the run has gone on."""
    times = sorted(c.saved_at for c in view.checkpoints)
    gaps = [b - a for a, b in pairwise(times[-KNOWN_SAVES:])]
    if len(gaps) < 2 or times[-1] > at + STOOD_S / 2:
        return False
    needed = max(1.5 * STOOD_S, LONGER * max(gaps))
    marks = view.step_times
    return bool(marks) and marks[-1][0] - max(at, times[-1]) > needed


def _counts(step: Step) -> dict[str, float]:
    counter = {} if step.number is None else {"the step": step.number}
    return {**counter, **step.values}


def _grew(steps: list[Step], name: str) -> bool:
    values = [_counts(step).get(name) for step in steps]
    return all(a is not None and b is not None and b > a for a, b in pairwise(values))


def _stands(steps: list[Step], name: str) -> bool:
    first = _counts(steps[0]).get(name)
    return first is not None and all(_counts(step).get(name) == first for step in steps)
