"""When a silence opens a case: limits in the run's own steps and pauses.

Seconds alone cannot tell: the longest healthy silence of 79 real logs was 17 minutes, the
median limit learned from a run's own pace 73 seconds.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from ..numbers import number, pace
from ..view import View
from .pauses import ANNOUNCED, Pauses

FEW_STEPS = 8
"""Fewer intervals tell no pace."""
TWICE = 2
"""A phase that was seen so often is known."""


@dataclass(frozen=True, slots=True)
class SilenceLimits:
    """How long a run may be silent; the fields are those of ``[sentinels.hang]``."""

    floor_s: float = 60.0
    first_step_s: float = 1800.0
    few_steps_s: float = 300.0
    phase_times: float = 1.5


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence, and the limit beyond which it has to be explained."""

    silent_s: float
    limit_s: float
    since: str
    """What it is silent since, for a person."""
    step_s: float | None = None
    """Seconds a report of a step usually takes; ``None`` while that is not known."""
    longest_s: float = 0.0
    """The longest pause that this run came back from, of any kind."""

    @property
    def open(self) -> bool:
        """It lasts longer than this run ever needed."""
        return self.silent_s >= self.limit_s

    @property
    def limit_steps(self) -> float | None:
        """The limit in reports of a step."""
        return self.limit_s / self.step_s if self.step_s else None


def case_of(view: View, patience: SilenceLimits) -> Silence:
    """How long nothing came, against what this run may take at this place."""
    beginning = max(view.run.started_at, view.run.watched_since)
    marks = view.step_times
    last = marks[-1][0] if marks else beginning
    if not marks and view.steps:
        last = max(last, view.steps[-1].at)  # reports that name no step are signs of life
    saved = next((c.saved_at for c in reversed(view.checkpoints) if c.saved_at <= view.now), last)
    # What happened while the watch itself was away is unknown.
    away = view.now - view.gap_s if view.gap_s else last
    silent = view.now - max(last, saved, away)
    since = f"step {number(marks[-1][1])}" if marks else "the start"
    if not marks and view.steps:
        since = "the last report"
    if silent < patience.floor_s:
        return Silence(silent, patience.floor_s, since)  # no limit is shorter: spare the arithmetic
    pauses = view.accumulator(Pauses)
    rhythm = pace(marks, pauses.usual_s if pauses else 0.0)
    if rhythm is None:
        return Silence(silent, patience.first_step_s, since)
    if pauses is None:
        limit, longest = rhythm.limit_s(patience.floor_s), 0.0
    else:
        longest = max(pauses.longest.values(), default=0.0)
        limit = max(rhythm.steady_limit_s(patience.floor_s), _unannounced(view, pauses, patience))
    if rhythm.marks < FEW_STEPS:
        limit = max(limit, patience.few_steps_s)
    announced = [p.name for p in view.phases_since_step() if p.name in ANNOUNCED]
    if announced:
        limit = max(limit, *(_phase(view, patience, name) for name in set(announced)))
        since += f" ({announced[-1]} announced)"
    return Silence(silent, limit, since, rhythm.typical_s, longest)


def _unannounced(view: View, pauses: Pauses, patience: SilenceLimits) -> float:
    """What this run's own pauses ask for: those without a word, and the end of an epoch."""
    marks = view.step_times
    step, by = marks[-1][1], marks[-1][1] - marks[-2][1]
    limit = min(patience.phase_times * pauses.expected_pause(step, by), patience.first_step_s)
    if pauses.epoch_ends(step, by):
        limit = max(limit, patience.phase_times * pauses.longest.get("epoch", 0.0))
    return limit


def _phase(view: View, patience: SilenceLimits, name: str) -> float:
    """How long a phase of this name may last: learned from those that came back."""
    pauses = view.accumulator(Pauses)
    seen, longest = 0, 0.0
    if pauses is not None:
        seen, longest = pauses.seen.get(name, 0), pauses.longest.get(name, 0.0)
    if seen < TWICE:
        seen, longest = _recent(view, name)
    if seen < TWICE:
        return patience.first_step_s
    return max(patience.few_steps_s, patience.phase_times * longest)


def _recent(view: View, name: str) -> tuple[int, float]:
    """(how often, how long at most) among the phases that are still in the buffers."""
    times = [at for at, _ in view.step_times]
    seen: dict[int, float] = {}
    for phase in view.phases:
        after = bisect.bisect_right(times, phase.at)
        if phase.name == name and 0 < after < len(times):
            seen[after] = times[after] - times[after - 1]
    return len(seen), max(seen.values(), default=0.0)
