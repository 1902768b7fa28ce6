"""At which steps a run pauses: at regular ones, or at any."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

ENOUGH = 3
"""Pauses that must agree with a period."""
APART = 4.0
"""Reporting intervals that a period must be longer than: otherwise every step would be near some
pause."""


class PauseSlot(NamedTuple):
    """The place and length of one pause."""

    step: float
    """The last step that was reported before it."""
    seconds: float
    by: float
    """Steps from one report to the next."""


class Timetable(NamedTuple):
    """Pauses come every ``period`` steps, counted from ``anchor``."""

    anchor: float
    period: float
    """Infinite if the step counter begins again each time, with the pause always at ``anchor``."""
    by: float
    """Steps from one report to the next, which is the precision of the other values."""
    stray_s: float
    """Second longest of the pauses at other steps, in seconds; 0 for fewer than two."""

    def due(self, step: float, by: float) -> bool:
        """True when a pause may begin at ``step``, with reports ``by`` steps apart.

        The places of the last pause and of the next one are known to one report each, the period
        more precisely.
        """
        return _off(step - self.anchor, self.period) <= 1.5 * max(by, self.by)


def timetable(places: Sequence[PauseSlot]) -> Timetable | None:
    """The timetable that fits the most of these pauses (oldest first); ``None`` without one.

    If several fit as many, the one that fits best, then the one with the longest period. Pauses at
    every 500th and every 1000th step get the period of the more frequent ones.
    """
    by = max((p.by for p in places), default=0.0)
    best = (ENOUGH - 1, 0.0, 0.0, 0.0)
    for anchor in (p.step for p in places):
        for period in _periods(places, anchor, by):
            near = [off for p in places if (off := _off(p.step - anchor, period)) <= by]
            best = max(best, (len(near), -sum(near), period, anchor))
    count, _, period, anchor = best
    if count < ENOUGH:
        return None
    strays = sorted(p.seconds for p in places if _off(p.step - anchor, period) > by)
    return Timetable(anchor, period, by, strays[-2] if len(strays) > 1 else 0.0)


def _periods(places: Sequence[PauseSlot], anchor: float, by: float) -> Iterator[float]:
    if any(b.step <= a.step for a, b in itertools.pairwise(places)):
        yield math.inf
    furthest = max(abs(p.step - anchor) for p in places)
    for place in places:
        apart = abs(place.step - anchor)
        if apart > APART * by:
            yield apart
            # The distance of two pauses is known to one report. The period is more precise if the
            # largest distance is divided by the number of periods in it.
            yield furthest / round(furthest / apart)


def _off(distance: float, period: float) -> float:
    """Number of steps to the nearest multiple of the period."""
    rest = abs(distance) % period
    return min(rest, period - rest)
