"""Times of day in the zone of a person: when a digest is due, when the hours are quiet."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone, tzinfo

_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_WINDOW = re.compile(rf"({_TIME.pattern})\s*-\s*({_TIME.pattern})")
_EVERY = re.compile(r"(\d+(?:\.\d+)?)\s*(m|h|d)")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0}
LEAST_EVERY_S = 600.0
"""Seconds between two digests at least: a report every ten minutes is a screen, not a message. Our choice."""


def minutes(text: str) -> int:
    """Minutes since midnight of a time like ``08:00``. Raises ValueError."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    return 60 * int(match[1]) + int(match[2])


def window(text: str) -> tuple[int, int]:
    """Begin and end of hours like ``22:00-07:00``, in minutes since midnight. Raises ValueError."""
    match = _WINDOW.fullmatch(text.strip())
    if match is None or minutes(match[1]) == minutes(match[4]):
        raise ValueError(text)
    return minutes(match[1]), minutes(match[4])


def every_s(text: str) -> float:
    """Seconds of an interval like ``6h``; 0 for an empty one. Raises ValueError."""
    if not text:
        return 0.0
    match = _EVERY.fullmatch(text.strip())
    if match is None or float(match[1]) * _SECONDS[match[2]] < LEAST_EVERY_S:
        raise ValueError(text)
    return float(match[1]) * _SECONDS[match[2]]


def zone_of(name: str) -> tzinfo | None:
    """The zone of a name like ``Europe/Berlin``; ``None`` for an empty name: that of the box.

    Raises ValueError for one that is not known here.
    """
    if not name:
        return None
    import zoneinfo  # imported here: most boxes name no zone

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(name) from None


def local(at: float, zone: tzinfo | None) -> datetime:
    """Epoch seconds as a time of that zone (``None``: of the box)."""
    return datetime.fromtimestamp(at, timezone.utc).astimezone(zone)


def within(text: str, at: float, zone: tzinfo | None) -> bool:
    """Whether ``at`` (epoch seconds) lies in hours like ``22:00-07:00``; never in empty ones."""
    if not text:
        return False
    begin, end = window(text)
    there = local(at, zone)
    minute = 60 * there.hour + there.minute
    return begin <= minute < end if begin < end else minute >= begin or minute < end


def last_end(text: str, now: float, zone: tzinfo | None) -> float | None:
    """When hours like ``22:00-07:00`` ended last, within a day before ``now`` (epoch seconds); ``None``
    in these hours, and without any."""
    if not text or within(text, now, zone):
        return None
    hour, minute = divmod(window(text)[1], 60)
    end = next_after([f"{hour:02}:{minute:02}"], now - 86400.0, zone)
    return end if end is not None and end <= now else None


def next_after(times: Iterable[str], after: float, zone: tzinfo | None) -> float | None:
    """The first of these times of day later than ``after`` (epoch seconds); ``None`` without any.

    A time that the change to summer time leaves out comes when the clock has passed it; one that
    comes twice is taken once, the first time.
    """
    midnight = local(after, zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    found = []
    for text in times:
        for days in (0, 1, 2):
            minute = minutes(text)
            naive = midnight + timedelta(days=days, hours=minute // 60, minutes=minute % 60)
            moment = (naive.replace(tzinfo=zone) if zone else naive).timestamp()
            if moment > after:
                found.append(moment)
                break
    return min(found, default=None)


def shown(at: float, zone: tzinfo | None) -> str:
    """A moment as a person reads it: ``2026-11-22 08:00 CET``."""
    there = local(at, zone)
    return there.strftime("%Y-%m-%d %H:%M ") + (there.tzname() or there.strftime("%z"))
