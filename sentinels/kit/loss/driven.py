"""A loss that no longer falls while its learning rate climbs higher than ever: before it diverges.

A rate that has warmed up, and later climbs report after report above all that the run had before, is a
schedule that has gone wrong: of 420 real runs that were well and log their rate none did so. The loss shows
it late, but until then it has stopped falling, which alone would mean nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any, ClassVar

BLOCK = 32
"""Reports whose median is a level, and for which the level must have been above the lowest one."""
HIGHER = 1.2
"""How many times its highest before the rate must be, for a loss that does not fall to be noted (our
choice: no healthy run passed 1.05)."""
FAR = 8.0
"""How many times its highest before the rate must be, for a loss that is above its lowest level to be
critical: such rates are out of the range in which one searches (our choice)."""
PART = 0.5
"""The level is above the lowest one by this part of the usual difference of two reports."""


@dataclass(frozen=True, slots=True)
class Driven:
    """The rate has climbed so far that the loss tells."""

    times: float
    """The rate as a multiple of the highest one before its climb."""
    base: float
    """The lowest level during the climb."""
    noise: float
    """The usual difference of two reports."""
    far: bool
    """The second, final stage."""


@dataclass(slots=True)
class DrivenLoss:
    """The level of one loss while its learning rate climbs."""

    _newest: deque[float] = field(default_factory=lambda: deque(maxlen=BLOCK))
    _first: float | None = None
    """The level at which the climb was noticed; ``None`` while the rate does not climb."""
    _best: float = 0.0
    _up: int = 0
    """Consecutive reports at so high a rate whose level was above the lowest."""
    _told: int = 0
    """Stages that have been told of this climb."""
    SAVED: ClassVar[Any] = ("_newest", "_first", "_best", "_up", "_told")

    @property
    def level(self) -> float:
        """The median of the newest values, of which there must be some."""
        return median(self._newest)

    def restart(self) -> None:
        """What comes is not comparable to what was before."""
        self._newest.clear()

    def push(self, value: float, times: float) -> Driven | None:
        """Take in a finite value; ``times``: the rate as a multiple of the highest before its climb, 0
        while it does not climb. Returns each of the two stages once."""
        self._newest.append(value)
        if not times or len(self._newest) < BLOCK:
            self._first, self._up, self._told = None, 0, 0
            return None
        level = median(self._newest)
        noise = median(abs(b - a) for a, b in pairwise(self._newest))
        if self._first is None:
            self._first = self._best = level
        self._best = min(self._best, level)
        up = times >= FAR and level > self._best + PART * noise
        self._up = self._up + 1 if up else 0
        if self._told < 2 and self._up >= BLOCK:
            self._told = 2
            return Driven(times, self._best, noise, far=True)
        if self._told < 1 and times >= HIGHER and level > self._first - noise:
            self._told = 1
            return Driven(times, self._best, noise, far=False)
        return None
