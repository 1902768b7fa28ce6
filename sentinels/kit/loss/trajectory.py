"""Where a loss stood at the steps behind it, and where it began: what a resumed run should meet."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

EVERY = 8
"""Values between two places of the path, at first."""
PLACES = 64
"""Places that are kept; a full path drops every second and goes twice as far to the next."""
BEGINNING = 8
"""Values of the beginning that are kept."""
ALIKE = 0.25
"""Two beginnings are one and the same if they differ by less than this part of how far the
first one moves: of six real resets none differed by more than a tenth."""


class Path:
    """One loss over its steps, in at most :data:`PLACES` places."""

    __slots__ = ("_left", "_levels", "_spreads", "_steps", "_stride", "beginning")

    def __init__(self) -> None:
        self.beginning: list[float] = []
        """The first values of the run."""
        self._steps: list[float] = []
        self._levels: list[float] = []
        self._spreads: list[float] = []
        self._stride = EVERY
        self._left = EVERY

    def due(self) -> bool:
        """Count a value; True when the next place should be written down."""
        self._left -= 1
        if self._left > 0:
            return False
        self._left = self._stride
        return True

    def add(self, step: float, level: float, spread: float) -> None:
        """Write down a place, after those before it."""
        steps = self._steps
        if (steps and step <= steps[-1]) or not math.isfinite(step + level + spread):
            return
        steps.append(step)
        self._levels.append(level)
        self._spreads.append(spread)
        if len(steps) > PLACES:
            for kept in (steps, self._levels, self._spreads):
                del kept[::2]
            self._stride *= 2

    def at(self, step: float) -> tuple[float, float] | None:
        """(level, spread) at a step, the larger of the places around it; ``None`` before the
        first and far behind the last."""
        steps = self._steps
        place = bisect_right(steps, step) - 1
        if place < 0:
            return None
        behind = place + 1
        if behind == len(steps):
            far = steps[-1] - steps[0]
            return None if step > steps[-1] + far else (self._levels[-1], self._spreads[-1])
        return (
            max(self._levels[place], self._levels[behind]),
            max(self._spreads[place], self._spreads[behind]),
        )

    def back_to(self, step: float) -> None:
        """The run goes on from an earlier step: what came after it did not happen."""
        keep = bisect_left(self._steps, step)
        for kept in (self._steps, self._levels, self._spreads):
            del kept[keep:]

    def begins_again(self, values: Sequence[float]) -> bool:
        """These values take the same course as the beginning, one that is no flat line."""
        first = self.beginning
        if len(first) < BEGINNING or len(values) < BEGINNING:
            return False
        apart = sum(abs(a - b) for a, b in zip(first, values, strict=False)) / BEGINNING
        return apart < ALIKE * (max(first) - min(first)) and values[0] - values[BEGINNING - 1] > 0

    def save(self) -> dict[str, Any]:
        """State as plain JSON values."""
        return {
            "beginning": self.beginning,
            "places": list(zip(self._steps, self._levels, self._spreads, strict=True)),
            "stride": self._stride,
        }

    @classmethod
    def restore(cls, saved: dict[str, Any]) -> Path:
        """One that goes on where ``saved`` was made; raises KeyError, TypeError, ValueError."""
        path = cls()
        path.beginning = [float(v) for v in saved["beginning"]][:BEGINNING]
        path._stride = path._left = max(EVERY, int(saved["stride"]))
        for step, level, spread in saved["places"][:PLACES]:
            path.add(float(step), float(level), float(spread))
        return path
