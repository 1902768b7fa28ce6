"""The learning rate beside a loss: has its schedule just started over, as it did before?"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar

FEW = 4
"""Newest reports of which the quick rise is told."""
ROSE = 3.0
"""Times by which a rate rises within so few reports only where its schedule starts anew, or
where something went wrong: a warm-up takes more of them."""
AGAIN = 2.0
"""Times by which a schedule that starts over at least rises: the flattest cycles in use go
between a half and the whole of their rate."""
ABOVE = 1.05
"""Times its highest rate so far up to which a run has had a rate before."""
EXPLAINS = 32
"""Reports for which a rate that started over explains what the loss does: by then a jump that
follows from it has been seen."""


@dataclass(slots=True, eq=False)
class Rates:
    """The rates of one series: four newest, and the newest rise."""

    _newest: deque[float] = field(default_factory=lambda: deque(maxlen=FEW))
    _rises: bool = False
    """The newest rise still goes on."""
    _since: int = 0
    """Reports since its top."""
    _highest: float = 0.0
    _low: float = 0.0
    """Where it began."""
    _top: float = 0.0
    _before: float = 0.0
    """The highest rate before it."""
    SAVED: ClassVar[Any] = ("_newest", "_rises", "_since", "_highest", "_low", "_top", "_before")

    def add(self, rate: float) -> None:
        """Take the rate of the next report; one that is no rate says nothing."""
        if not 0.0 <= rate < math.inf:
            return
        newest = self._newest
        last = newest[-1] if newest else 0.0
        newest.append(rate)
        if rate > last:
            if not self._rises:
                self._rises, self._low, self._before = True, last, self._highest
            self._top, self._since = rate, 0
            if rate > self._highest:
                self._highest = rate
            return
        self._since += 1
        if rate < last or self._since > EXPLAINS:
            self._rises = False

    @property
    def has_rate(self) -> bool:
        """The log tells a rate."""
        return self._highest > 0.0

    @property
    def rose(self) -> bool:
        """It has just been set up, to whatever."""
        newest = self._newest
        return len(newest) > 1 and newest[-1] > ROSE * min(newest) > 0.0

    def started_over(self, since: int = 0) -> bool:
        """It has gone up again, no higher than this run has been before: just now, or just
        before what began ``since`` reports ago."""
        top = self._top
        return self._since <= EXPLAINS + since and AGAIN * self._low < top <= ABOVE * self._before
