"""The newest values of a series, sorted: its median, its upper tail, and how lopsided its noise is."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar

MOST = 100.0
"""Ratio of the two tails that is believed at most."""
SURE = 1.25
"""Factor by which the upper tail of the deviations must exceed the lower one before the noise counts as
lopsided: of 96 deviations of a symmetric noise the ratio is that large in one case of ten."""
EVEN = 1.01
"""Lopsidedness up to which noise counts as symmetric: below it the geometric sum would divide by nothing."""


@dataclass(slots=True, eq=False)
class Window:
    """The newest ``size`` values, also kept sorted; adding one costs a few comparisons."""

    size: int
    ordered: list[float] = field(default_factory=list)
    ring: deque[float] = field(default_factory=deque)
    """Oldest first."""
    SAVED: ClassVar[Any] = "ring"

    def add(self, value: float) -> None:
        """Add a value; a full window drops its oldest one."""
        ring, ordered = self.ring, self.ordered
        if len(ring) == self.size:
            del ordered[bisect_left(ordered, ring.popleft())]
        ring.append(value)
        insort(ordered, value)

    @property
    def median(self) -> float:
        """The middle value; raises IndexError while there is none."""
        return self.ordered[len(self.ordered) // 2]

    @property
    def tail(self) -> float:
        """Distance from the median to the 95 % quantile."""
        ordered = self.ordered
        count = len(ordered)
        return ordered[min(count - 1, int(0.95 * count))] - ordered[count // 2]

    @property
    def lopsided(self) -> float:
        """How many times as long the upper tail is as the lower one; 1 at least, and while unsure."""
        ordered = self.ordered
        count = len(ordered)
        if 3 * count < self.size:
            return 1.0
        middle = ordered[count // 2]
        below = max(middle, 0.0) - ordered[int(0.05 * count)]
        above = ordered[min(count - 1, int(0.95 * count))] - middle
        return min(above / below, MOST) / SURE if above > SURE * below > 0.0 else 1.0

    def restored(self) -> None:
        """Sort the stored values. Raises ValueError when one is not finite."""
        if not all(map(math.isfinite, self.ring)):
            raise ValueError("a window holds no such values")
        self.ring = deque(list(self.ring)[-self.size :])
        self.ordered = sorted(self.ring)


def widened(spreads: float, skew: float) -> float:
    """A limit for lopsided noise that is as rare as one of ``spreads`` for symmetric noise.

    Noise whose upper tail is ``skew`` times the lower one is symmetric in the logarithm of its distance
    from some lower end. A limit of so many upper tails there is a geometric sum here.
    """
    if skew <= EVEN:
        return spreads
    return (math.pow(skew, spreads) - 1.0) / (skew - 1.0)
