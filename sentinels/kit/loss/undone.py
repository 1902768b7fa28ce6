"""A loss that has lost what it had learnt: slowly, it has come back to where it began.

The detectors of jumps and of slow rises measure against the noise before. In a short run the fall at
its beginning is part of that noise, so a climb of some hundred steps stays below their limits. But a
loss that is near its first level again, and stays there, needs no noise to be judged.

Where a report is the mean of a whole epoch, it has little noise of its own, and twenty of them are hours.
There four in a row are enough, if none since the half was learnt was as high: of values that come in any
order, the last four are the highest of twelve in one of 495 cases.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any, ClassVar

WINDOW = 8
"""Reports whose median is a level."""
LEARNT = 0.3
"""Part of the first level that must have been learnt (our choice: less is no more than the noise of
small batches)."""
LOST = 0.8
"""Part of what was learnt that is lost."""
OUT = 5.0
"""What was learnt must be so many times the usual difference between two reports (our choice)."""
FOR = 16
"""Consecutive reports for which it must be lost (our choice)."""


EPOCHS, OF_EPOCHS = 4, 8
"""In a row, and after so many: the means of epochs that must be lost (our choice, see above)."""
KEPT = 64
"""Means that are kept: the first, and the newest."""
HALF = 0.5
"""Part of the first level's way down to the lowest from which the loss counts as learnt, for such means."""


BLOWN, BLOWN_FOR = 10.0, 8
"""A level of so many times the highest of the first values, for so many consecutive reports, needs no noise to
be judged: a short run that falls and then climbs by a power of ten with every few reports has no other
measure (our choice)."""


@dataclass(slots=True)
class Undone:
    """The first, the lowest and the newest level of one series."""

    _newest: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    _first: float | None = None
    _best: float = 0.0
    _noise: float = 0.0
    """The largest of the usual differences in a window."""
    _for: int = 0
    _top: float = 0.0
    """The highest of the first values."""
    _blown: int = 0
    _epochs: list[float] = field(default_factory=list)
    """The means of the epochs in a row so far, at most :data:`KEPT`."""
    SAVED: ClassVar[Any] = (
        *("_newest", "_first", "_best", "_noise", "_for", "_top", "_blown", "_epochs"),
    )

    @property
    def level(self) -> float | None:
        """The median of the newest values; ``None`` while there are too few."""
        return median(self._newest) if len(self._newest) == WINDOW else None

    def restart(self) -> None:
        """What comes is not comparable to what was before."""
        self._newest.clear()
        self._first, self._noise, self._for, self._blown = None, 0.0, 0, 0
        self._epochs.clear()

    def push_epoch(self, value: float) -> float | None:
        """Take in the next finite mean of an epoch; returns the lowest before once all is lost again."""
        means = self._epochs
        means.append(value)
        if len(means) > KEPT:
            del means[1]  # the first is the level from which it learnt
        if len(means) < OF_EPOCHS + EPOCHS:
            return None
        first, best = means[0], min(means[:-EPOCHS])
        learnt = first - best
        since = next(n for n, mean in enumerate(means) if mean <= first - HALF * learnt)
        settled = means[since:-EPOCHS]
        if learnt <= LEARNT * abs(first) or len(settled) < EPOCHS:
            return None
        highest = max(best + LOST * learnt, *settled)
        return best if min(means[-EPOCHS:]) > highest else None

    def push(self, value: float) -> float | None:
        """Take in the next finite value; returns the lowest level once all is lost again."""
        self._newest.append(value)
        if len(self._newest) < WINDOW:
            return None
        level = median(self._newest)
        self._noise = max(self._noise, median(abs(b - a) for a, b in pairwise(self._newest)))
        if self._first is None:
            self._first = self._best = level
            self._top = max(self._newest)
            return None
        self._best = min(self._best, level)
        learnt = self._first - self._best
        lost = learnt > max(LEARNT * abs(self._first), OUT * self._noise)
        lost = lost and level >= self._best + LOST * learnt
        self._for = self._for + 1 if lost else 0
        blown = self._best < self._first and level >= BLOWN * self._top > 0.0
        self._blown = self._blown + 1 if blown else 0
        told = self._for == FOR or (self._blown == BLOWN_FOR and self._for < FOR)
        return self._best if told else None
