"""A loss that climbs from its lowest level, block after block, further than it ever did and came back.

The detectors of jumps and of slow rises measure in units of a noise that they learn around a level. In a
smoothed log, or where the loss falls fast at first, that noise is mostly the fall itself, and a climb stays below it until
the loss has multiplied. Here the loss is its own measure: the logarithm of the median of each block, how far it is
above the lowest one so far, and how far it was there at most before it came back. Noise goes up and down; of five blocks
above the lowest, each is higher than the one before in one of 120 orders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar

from ..accumulator import LoggedValue

BLOCK = 8
"""Reports of a block."""
LEARNT = 3
"""Blocks that come before the lowest one at least: a run has to learn something first."""
LONG, UP = 5, 0.8
"""Blocks since the lowest one, and the part of them that are higher than the one before."""
LEAST, SURE = 1.25, 1.5
"""Times the lowest level from which it is a warning, and critical. With 1.1 instead of 1.25 nothing more was found
within sixty reports on the curves by which it was chosen, and streams that see another public every day were told."""
TIMES = 2.0
"""Times the highest earlier climb that came back (on a logarithmic scale)."""
BACK = 0.5
"""Part of the height that is left when a climb counts as one that came back."""
FLOOR = 0.01
"""Part of the first level below which nothing is left to lose (our choice)."""


@dataclass(frozen=True, slots=True)
class Climbed:
    """A climb that is told."""

    onset: LoggedValue
    base: float
    """The lowest level."""
    times: float
    """The newest level in multiples of it."""


@dataclass(slots=True)
class Climb:
    """The detector for one series of positive values; others are never told."""

    _block: list[float] = field(default_factory=list)
    _blocks: int = 0
    _floor: float = 0.0
    _low: float = 0.0
    """Logarithm of the lowest level; ..."""
    _lowest: LoggedValue | None = None
    """... the last report of its block, ..."""
    _low_at: int = 0
    """... and its number."""
    _last: float = 0.0
    _ups: int = 0
    """Blocks since the lowest one that are higher than the one before."""
    _peak: float = 0.0
    """Height of the climb so far, ..."""
    _usual: float = 0.0
    """... and of the highest one that came back."""
    SAVED: ClassVar[Any] = (
        *("_block", "_blocks", "_floor", "_low", "_lowest", "_low_at"),
        *("_last", "_ups", "_peak", "_usual"),
    )

    def restart(self) -> None:
        """What comes is not comparable to what was before."""
        self._block.clear()
        self._blocks = 0

    def push(self, mark: LoggedValue) -> Climbed | None:
        """Take in the next finite value; returns the climb with each block in which there is one."""
        block = self._block
        block.append(mark.value)
        if len(block) < BLOCK:
            return None
        level = median(block)
        block.clear()
        if level <= 0.0:
            self.restart()
            return None
        self._blocks += 1
        if self._blocks == 1:
            self._floor, self._usual = FLOOR * level, 0.0
        newest = math.log(max(level, self._floor))
        if self._blocks == 1 or newest <= self._low:
            if self._blocks > 1:
                self._usual = max(self._usual, self._peak)
            self._low, self._lowest, self._low_at = newest, mark, self._blocks
            self._ups, self._peak = 0, 0.0
        else:
            self._ups += newest > self._last
        self._last = newest
        height = newest - self._low
        self._peak = max(self._peak, height)
        if height < BACK * self._peak:
            self._usual = max(self._usual, self._peak)
        since = self._blocks - self._low_at
        steady = since >= LONG and self._ups >= UP * since and self._low_at > LEARNT
        if not steady or height < max(math.log(LEAST), TIMES * self._usual):
            return None
        assert self._lowest is not None
        return Climbed(self._lowest, math.exp(self._low), math.exp(height))

    def restored(self) -> None:
        """Begin again if a stored number is not finite."""
        numbers = (self._floor, self._low, self._last, self._peak, self._usual)
        if not all(map(math.isfinite, numbers)) or self._lowest is None:
            self.restart()
