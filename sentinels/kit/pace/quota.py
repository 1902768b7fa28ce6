"""How often the CPU quota of a run has run out recently."""

from __future__ import annotations

from collections import deque
from typing import ClassVar, NamedTuple

from ..accumulator import Accumulator
from ..observations import CpuQuotaSample, Observation

KEPT = 64
"""Differences of counters kept: more than ten minutes, at one in ten seconds."""


class Spent(NamedTuple):
    """The differences between two readings of the counters."""

    at: float
    seconds: float
    periods: int
    throttled: int
    throttled_s: float


class Quota(Accumulator):
    """The quota, and the periods in which it ran out."""

    takes: ClassVar[tuple[type, ...]] = (CpuQuotaSample,)

    def __init__(self) -> None:
        self.last: CpuQuotaSample | None = None
        self.cores_before: float | None = None
        """The quota in cores before its last change; ``None``: none, or no change was seen."""
        self.changed_at: float | None = None
        """When the present quota was first seen; ``None``: no change was seen."""
        self.spent: deque[Spent] = deque(maxlen=KEPT)

    @property
    def quiet(self) -> bool:
        """True while nothing was throttled."""
        return not self.spent or not any(one.throttled for one in self.spent)

    def add(self, seen: Observation) -> None:
        """Take in one reading of the counters."""
        if not isinstance(seen, CpuQuotaSample):
            return
        last, self.last = self.last, seen
        if last is None:
            return
        if seen.cores != last.cores:
            self.cores_before, self.changed_at = last.cores, seen.at
        if seen.cgroup != last.cgroup or seen.periods < last.periods or seen.at <= last.at:
            return  # counters of another group
        self.spent.append(
            Spent(
                seen.at,
                seen.at - last.at,
                seen.periods - last.periods,
                max(0, seen.throttled - last.throttled),
                max(0.0, seen.throttled_s - last.throttled_s),
            )
        )

    def share(self, now: float, window_s: float) -> float | None:
        """Part (0 to 1) of the periods in the last ``window_s`` seconds in which the quota ran out.

        ``None`` when the readings cover less than four fifths of the window.
        """
        recent = [one for one in self.spent if one.at > now - window_s]
        if sum(one.seconds for one in recent) < 0.8 * window_s:
            return None
        periods = sum(one.periods for one in recent)
        return sum(one.throttled for one in recent) / periods if periods else 0.0

    def waits(self, now: float, window_s: float) -> float:
        """Seconds for which threads were throttled, summed over CPUs, per second of the window."""
        recent = [one for one in self.spent if one.at > now - window_s]
        seconds = sum(one.seconds for one in recent)
        return sum(one.throttled_s for one in recent) / seconds if seconds else 0.0
