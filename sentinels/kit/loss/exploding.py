"""Losses that are orders of magnitude above all before, even while their noise is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from ..accumulator import LoggedValue

EXPLODED = 1e3
"""A loss that is this many times the largest before explodes."""
AT_ONCE = 1e5
"""The same when fewer than three values came before."""
CONFIRMED_BY = 3
"""Further reports that have to confirm it, all of them above a tenth of the limit."""


def explodes(size: float, largest: float, count: int) -> bool:
    """Whether a loss explodes. ``largest``: of the ``count`` losses before."""
    return size > EXPLODED * largest > 0.0 and (count > 2 or size > AT_ONCE * largest)


def goes_on(mark: LoggedValue, largest: float) -> bool:
    """Whether a loss after one that exploded is still far above all before."""
    return abs(mark.value) > EXPLODED / 10 * largest


def is_confirmed(seen: Sequence[LoggedValue]) -> bool:
    """Whether these losses, one after the other, are no mistake of a single report. One that explodes is infinite
    a report or two later, and that is what is to be told then."""
    return len(seen) > CONFIRMED_BY
