"""How long a silence has to last until it is judged: limits by the run's own steps and pauses.

No fixed number of seconds would do: the longest healthy silence in 79 real logs was 17 minutes,
while the median of the limits learned from the pace of each run is 73 seconds.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from ..numbers import number, pace
from ..view import View
from .pauses import ANNOUNCED, Pauses

FEW_STEPS = 8
"""Intervals needed to know the pace."""
TWICE = 2
"""Times that a phase must have been seen for its length to be known."""


@dataclass(frozen=True, slots=True)
class SilenceLimits:
    """How long a run may be silent; fields as in ``[sentinels.hang]`` of the configuration."""

    floor_s: float = 60.0
    first_step_s: float = 1800.0
    few_steps_s: float = 300.0
    phase_times: float = 1.5


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence, and the limit from which it is judged; in seconds."""

    silent_s: float
    limit_s: float
    since: str
    """What was seen last, for a person: ``step 400``, ``the start``."""
    step_s: float | None = None
    """Usual seconds between two reports of a step; ``None`` while not known."""
    longest_s: float = 0.0
    """The longest pause so far, of any kind, after which the run went on."""

    @property
    def open(self) -> bool:
        """True when the silence has reached its limit and must be judged."""
        return self.silent_s >= self.limit_s

    @property
    def limit_steps(self) -> float | None:
        """The limit as a number of reports; ``None`` while the pace is not known."""
        return self.limit_s / self.step_s if self.step_s else None


def case_of(view: View, patience: SilenceLimits) -> Silence:
    """How long a run has been silent, and how long it may be at its present step."""
    beginning = max(view.run.started_at, view.run.watched_since)
    marks = view.step_times
    last = marks[-1][0] if marks else beginning
    if not marks and view.steps:
        last = max(last, view.steps[-1].at)  # reports without a step count as well
    saved = next((c.saved_at for c in reversed(view.checkpoints) if c.saved_at <= view.now), last)
    # Nothing is known about the time in which the daemon did not watch.
    away = view.now - view.gap_s if view.gap_s else last
    unread = view.stalled_since("log_tail")  # steps that come since then are not seen
    silent = min(view.now, unread or view.now) - max(last, saved, away)
    since = f"step {number(marks[-1][1])}" if marks else "the start"
    if not marks and view.steps:
        since = "the last report"
    if silent < patience.floor_s:
        return Silence(silent, patience.floor_s, since)  # no limit is shorter than this
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
    """The limit by this run's unannounced pauses, and those at the end of an epoch; seconds."""
    marks = view.step_times
    step, by = marks[-1][1], marks[-1][1] - marks[-2][1]
    limit = min(patience.phase_times * pauses.expected_pause(step, by), patience.first_step_s)
    if pauses.epoch_ends(step, by):
        limit = max(limit, patience.phase_times * pauses.longest.get("epoch", 0.0))
    return limit


def _phase(view: View, patience: SilenceLimits, name: str) -> float:
    """Seconds that a phase of this name may take, by the earlier ones of this run."""
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
    """(number, longest in seconds) of the phases of this name that are still in the buffers."""
    times = [at for at, _ in view.step_times]
    seen: dict[int, float] = {}
    for phase in view.phases:
        after = bisect.bisect_right(times, phase.at)
        if phase.name == name and 0 < after < len(times):
            seen[after] = times[after] - times[after - 1]
    return len(seen), max(seen.values(), default=0.0)
