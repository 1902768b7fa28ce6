"""Points in time for people: the local time of the box with its zone, and how long ago that is. Pure.

Programs get ISO 8601 (:func:`..system.clock.iso`). The zone is always named: who reads on a phone is
rarely where the box is.
"""

from __future__ import annotations

from datetime import datetime, timezone

from .figures import ago, duration


def local(at: float, now: float) -> str:
    """``07:54 UTC``; of another day ``20 Nov 07:54 UTC``, of another year ``20 Nov 2025 07:54 UTC``."""
    then, today = _here(at), _here(now)
    if then.date() == today.date():
        day = ""
    elif then.year == today.year:
        day = f"{then.day} {then:%b} "
    else:
        day = f"{then.day} {then:%b %Y} "
    return f"{day}{then:%H:%M} {then.tzname()}"


def past(at: float, now: float) -> str:
    """``07:54 UTC (6 min ago)``."""
    return f"{local(at, now)} ({ago(max(0.0, now - at))})"


def ahead(at: float, now: float) -> str:
    """``09:10 UTC (in 1 h 16 min)``."""
    return f"{local(at, now)} (in {duration(max(0.0, at - now))})"


def _here(at: float) -> datetime:
    return datetime.fromtimestamp(at, timezone.utc).astimezone()
