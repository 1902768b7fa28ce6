"""Times as docker writes and reads them: they have nanoseconds, which ``datetime`` has not."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))"
)


def stamp_ns(text: object) -> int:
    """A time as docker writes it, in nanoseconds since the epoch; 0 for "never" and for what is none."""
    found = _STAMP.match(text) if isinstance(text, str) else None
    if found is None:
        return 0
    year, month, day, hour, minute, second = (int(word) for word in found.groups()[:6])
    try:
        told = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        total = int(told.timestamp())
    except (ValueError, OverflowError):
        return 0
    if found[8]:
        ahead = (int(found[9]) * 60 + int(found[10])) * 60
        total -= ahead if found[8] == "+" else -ahead
    return max(0, total * 10**9 + int((found[7] or "").ljust(9, "0")))


def seconds(ns: int) -> str:
    """Nanoseconds since the epoch as docker reads them: ``1700000000.000000001``."""
    return f"{ns // 10**9}.{ns % 10**9:09d}"
