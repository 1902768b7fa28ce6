"""At which steps a run pauses: every so many, or anywhere."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

ENOUGH = 3
"""Pauses on one period that make a timetable."""
APART = 4.0
"""Reporting intervals that a period must be long: else every step lies near some pause."""


class PauseSlot(NamedTuple):
    """Where a pause began."""

    step: float
    """The last one that was reported before it."""
    seconds: float
    by: float
    """Steps from one report to the next."""


class Timetable(NamedTuple):
    """Pauses come every ``period`` steps, counted from ``anchor``."""

    anchor: float
    period: float
    """Infinite where steps are counted anew each time, and the pause comes at the same one."""
    by: float
    """Steps from one report to the next: nothing is known closer than that."""
    stray_s: float
    """Second longest of the pauses that came at other steps; 0 for fewer than two."""

    def due(self, step: float, by: float) -> bool:
        """True when a pause may begin at ``step``, with reports ``by`` steps apart.

        The last pause and the next one are told to within a report each, the period closer.
        """
        return _off(step - self.anchor, self.period) <= 1.5 * max(by, self.by)


def timetable(places: Sequence[PauseSlot]) -> Timetable | None:
    """The period that explains the most of few pauses, in their order; else ``None``.

    Of several the closest one, then the longest: pauses that come at every 500th and every
    1000th step have the period of the more frequent ones.
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
            # Two pauses tell their distance to within a report, the furthest ones closer.
            yield furthest / round(furthest / apart)


def _off(distance: float, period: float) -> float:
    """Steps from the nearest multiple of a period."""
    rest = abs(distance) % period
    return min(rest, period - rest)
