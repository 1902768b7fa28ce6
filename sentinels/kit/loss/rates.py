"""The learning rate of a series: whether its schedule has just started over, as it did before."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar

FEW = 4
"""Newest reports in which a quick rise is looked for."""
ROSE = 3.0
"""Factor of a quick rise. A rate rises so much within :data:`FEW` reports only when its schedule
starts over or something is wrong: a warm-up takes more reports."""
AGAIN = 2.0
"""Least factor by which the rate rises when a schedule starts over: the flattest cycles in use go
between half of their highest rate and all of it."""
ABOVE = 1.05
"""A rate up to this many times the highest so far is one that the run has had before."""
EXPLAINS = 32
"""Reports for which a schedule that started over explains a jump of the loss: a jump that it caused
has shown by then."""
SWEEP = 12
"""Consecutive rises from which a rate that grows by a constant factor is a range test: it looks for
the rate at which the loss diverges. A warm-up adds the same amount each time, so that its factor
shrinks."""
YOUNG = 32
"""Reports up to which a rise is the first warm-up."""
STEEP = 4.0
"""A range test has risen this many times as far as a linear warm-up of as many reports."""
EVEN = 1.5
"""The factor of the newest rises may differ so much from the mean factor of all."""


@dataclass(slots=True, eq=False)
class Rates:
    """The learning rates of one series: the four newest, and the newest rise."""

    _newest: deque[float] = field(default_factory=lambda: deque(maxlen=FEW))
    _rises: bool = False
    """True while the newest rise continues."""
    _since: int = 0
    """Reports since the end of the newest rise."""
    _highest: float = 0.0
    _low: float = 0.0
    """The rate at which the newest rise began."""
    _top: float = 0.0
    _before: float = 0.0
    """The highest rate before the newest rise."""
    _climbs: int = 0
    """Consecutive rises, the newest included."""
    _count: int = 0
    _began: int = 0
    """Number of rates before the newest rise."""
    _swept: bool = False
    """The newest rise was a range test."""
    SAVED: ClassVar[Any] = (
        "_newest",
        "_rises",
        "_since",
        "_highest",
        "_low",
        "_top",
        "_before",
        "_climbs",
        "_count",
        "_began",
    )

    @property
    def sweeps(self) -> bool:
        """True in a range test of the learning rate, and for :data:`EXPLAINS` reports after it."""
        return self._swept and self._since <= EXPLAINS

    def add(self, rate: float) -> None:
        """Take in the rate of the next report; a negative one, NaN and infinity are ignored."""
        if not 0.0 <= rate < math.inf:
            return
        newest = self._newest
        self._count += 1
        if not newest:
            newest.append(rate)
            self._highest = rate
            return
        last = newest[-1]
        newest.append(rate)
        if rate > last:
            if not self._rises:
                self._rises, self._low, self._before = True, last, self._highest
                self._climbs, self._swept, self._began = 0, False, self._count
            self._top, self._since = rate, 0
            self._climbs += 1
            self._swept = self._swept or self._is_sweep()
            if rate > self._highest:
                self._highest = rate
            return
        self._since += 1
        if rate < last or self._since > EXPLAINS:
            self._rises = False

    def _is_sweep(self) -> bool:
        if self._climbs < SWEEP or self._low <= 0.0:
            return False
        grown = self._top / self._low
        if grown < STEEP * (self._climbs + 1):
            return False
        usual = math.pow(grown, (len(self._newest) - 1) / self._climbs)
        return usual / EVEN <= self._newest[-1] / self._newest[0] <= usual * EVEN

    @property
    def beyond(self) -> float:
        """How many times its highest before the rate is, in a climb that is no warm-up; else 0."""
        if not self._rises or self._climbs < SWEEP or self._began <= YOUNG:
            return 0.0
        return self._top / self._before if self._top > self._before > 0.0 else 0.0

    @property
    def has_rate(self) -> bool:
        """True when the log has a learning rate above zero."""
        return self._highest > 0.0

    @property
    def rose(self) -> bool:
        """True when the rate has just been raised a lot, to any value."""
        newest = self._newest
        return len(newest) > 1 and newest[-1] > ROSE * min(newest) > 0.0

    def started_over(self, since: int = 0) -> bool:
        """True when the rate has gone up again, to a value that this run has had before.

        That counts for :data:`EXPLAINS` reports; for something that began ``since`` reports ago,
        from its beginning.
        """
        top = self._top
        return self._since <= EXPLAINS + since and AGAIN * self._low < top <= ABOVE * self._before
