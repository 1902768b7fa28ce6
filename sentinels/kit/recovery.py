"""When a trouble is over: a sentinel says what it saw to be well again.

Silence proves nothing: a rule also stops reporting when it has lost sight of a trouble, after a
restart of the daemon or because its window has passed. An incident is therefore resolved only with
words about what was seen, and they are in the push.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .numbers import number, short_path, span
from .observations import CheckpointSeen
from .view import View

ENOUGH_STEPS = 2
"""Steps after a trouble that show that training goes on: one may have been in a buffer."""


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """What a sentinel is told of an open incident that it no longer reports."""

    trouble: str
    key: str
    """Key of the finding."""
    opened_at: float
    quiet_since: float
    """Epoch seconds: its last report, or the start of the daemon if that was later. Only what was
    seen after it is evidence that the trouble is over."""
    details: Mapping[str, object] = field(default_factory=dict)


def steps_since(view: View, at: float) -> Iterator[tuple[float, float]]:
    """(epoch seconds, step) of the advances of the step counter after ``at``, newest first."""
    for when, step in reversed(view.step_times):
        if when <= at:
            return
        yield when, step


def went_on(view: View, case: OpenIncident) -> str:
    """The words for a run that makes steps again; empty when it does not, or has ended."""
    if view.ending is not None and view.ending.exit_code != 0:
        return ""
    marks = list(steps_since(view, case.quiet_since))
    if len(marks) < ENOUGH_STEPS:
        return ""
    return f"training went on; step {number(marks[0][1])} now"


def moves_again(view: View, case: OpenIncident) -> str:
    """The words for a run that stood still and makes steps again, with how long it stood."""
    for (before, _), (after, step) in pairwise(view.step_times):
        if after > case.opened_at:
            return f"it went on by itself after {span(after - before)}; step {number(step)} now"
    return ""


def values_since(view: View, metric: str, at: float) -> list[float]:
    """The values of a metric in the reports after ``at``, newest first."""
    found = []
    for step in reversed(view.steps):
        if step.at <= at:
            break
        if metric in step.values:
            found.append(step.values[metric])
    return found


def gone_or_good(view: View, path: str) -> str:
    """The words for a bad save that is whole now, or that is gone while a good one is there.

    That it is no longer the newest is no reason: a person may still resume from it.
    """
    looked = any(s.source.startswith("checkpoint_dir") and s.state == "ok" for s in view.sources)
    if not looked or not path:
        return ""
    seen = next((c for c in view.checkpoints if c.path == path), None)
    if seen is not None:
        good = seen.state == "ok"
        return f"{short_path(path)} was checked again and is good ({seen.level})" if good else ""
    newest = newest_good(view.checkpoints)
    if newest is None:
        return ""
    return f"{short_path(path)} is no longer on disk; good is {short_path(newest.path)}"


def newest_good(checkpoints: Sequence[CheckpointSeen]) -> CheckpointSeen | None:
    """The newest save that passed its check; ``None`` without one."""
    return next((c for c in reversed(checkpoints) if c.state == "ok"), None)


def saved_since(view: View, case: OpenIncident) -> str:
    """The words for a run that wrote a good save after a write had failed."""
    saved = newest_good(view.checkpoints)
    if saved is None or saved.saved_at <= case.opened_at:
        return ""
    return f"a save was written and checked since: {short_path(saved.path)}"
