"""The level of a loss at earlier steps, and its beginning, to compare a resumed run with."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, ClassVar

EVERY = 8
"""Values between two points of the trajectory, at first."""
PLACES = 64
"""Points kept; when they are full, every second is dropped and the distance is doubled."""
BEGINNING = 8
"""First values that are kept."""
ALIKE = 0.25
"""Two beginnings are alike if their mean difference is less than this part of the range of the
first: of six real resets none differed by more than a tenth."""
_step = itemgetter(0)


@dataclass(slots=True, eq=False)
class LossTrajectory:
    """One loss over its steps, in at most :data:`PLACES` points."""

    beginning: list[float] = field(default_factory=list)
    """The first values of the run."""
    places: list[tuple[float, float, float]] = field(default_factory=list)
    """(step, level, spread), by step."""
    _stride: int = EVERY
    _left: int = EVERY
    SAVED: ClassVar[Any] = {"beginning": "beginning", "places": "places", "stride": "_stride"}

    def due(self) -> bool:
        """Count a value; True when the next point should be added."""
        self._left -= 1
        if self._left > 0:
            return False
        self._left = self._stride
        return True

    def add(self, step: float, level: float, spread: float) -> None:
        """Add a point, if its step is after all others and its values are finite."""
        places = self.places
        if (places and step <= places[-1][0]) or not math.isfinite(step + level + spread):
            return
        places.append((step, level, spread))
        if len(places) > PLACES:
            del places[::2]
            self._stride *= 2

    def at(self, step: float) -> tuple[float, float] | None:
        """(level, spread) at a step, each the larger of the points around it. ``None`` before the
        first point, and further after the last than the points reach."""
        places = self.places
        behind = bisect_right(places, step, key=_step)
        if not behind:
            return None
        began, level, spread = places[behind - 1]
        if behind == len(places):
            far = began - places[0][0]
            return None if step > began + far else (level, spread)
        _, next_level, next_spread = places[behind]
        return max(level, next_level), max(spread, next_spread)

    def back_to(self, step: float) -> None:
        """The run resumes from an earlier step: drop the points from there on."""
        del self.places[bisect_left(self.places, step, key=_step) :]

    def begins_again(self, values: Sequence[float]) -> bool:
        """True when these values take the same course as the beginning, and fall."""
        first = self.beginning
        if len(first) < BEGINNING or len(values) < BEGINNING:
            return False
        apart = sum(abs(a - b) for a, b in zip(first, values, strict=False)) / BEGINNING
        return apart < ALIKE * (max(first) - min(first)) and values[0] - values[BEGINNING - 1] > 0

    def restored(self) -> None:
        """Count from here to the next point."""
        self._left = self._stride = max(EVERY, self._stride)
