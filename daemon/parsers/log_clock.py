"""The time stamps in the lines of a log, in seconds from an arbitrary beginning.

Only their differences are used, never as the time now. Reading one takes under a microsecond,
because it is expected at the same offset as in the line before.
"""

from __future__ import annotations

import re

WITHIN = 100
"""Bytes of a line within which a stamp begins: after a rank and the name of a logger."""
TRIES = 32
"""Lines without a stamp after which no more are looked for in this log."""
DAY_S = 86400.0

_STAMP = re.compile(
    rb"(?:\d[-/. ]\d\d[ T_]{1,2}|[IWEFD]\d{4} {1,2}|^\W{0,3}|\] ?\[)(?P<t>(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?=[.,\]\s|)Z+-])"
)
_DATE = re.compile(
    rb"(?P<y>(?:19|20)\d\d)[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)[ T_]+$"
    rb"|[IWEFD](?P<mo2>[01]\d)(?P<d2>[0-3]\d) +$"
)
"""Dates in which day and month cannot be confused. Without one, days are counted by midnights."""


class LogClock:
    """Reads the stamps of one log."""

    __slots__ = ("_day", "_day_s", "_last", "at", "left")

    def __init__(self) -> None:
        self.at = -1
        """Offset of the hours in a line; -1 while it is not known."""
        self.left = TRIES
        """Lines that may still come without a stamp; at 0 the log counts as one without."""
        self._day = b""
        self._day_s = 0.0
        self._last = 0.0

    def read(self, line: bytes) -> float | None:
        """Seconds of the stamp in a line; ``None`` where it has none."""
        at = self.at
        if at < 0 or line[at + 2 : at + 6 : 3] != b"::":
            match = _STAMP.search(line, 0, WITHIN)
            if match is None:
                self.left -= 1
                return None
            at = self.at = match.start("t")
            self.left = TRIES
        try:
            told = int(line[at : at + 2]) * 3600.0 + int(line[at + 3 : at + 5]) * 60.0
            told += int(line[at + 6 : at + 8])
        except ValueError:
            return None
        day = line[at - 11 if at > 11 else 0 : at]
        if day != self._day:
            self._new_day(day)
        if told + self._day_s < self._last - DAY_S / 2 and not _DATE.search(day):
            self._day_s += DAY_S  # midnight
        self._last = told + self._day_s
        return self._last

    def _new_day(self, day: bytes) -> None:
        self._day = day
        match = _DATE.search(day)
        if match is not None:
            year, month, number = (
                int(told or 0)
                for told in (match["y"], match["mo"] or match["mo2"], match["d"] or match["d2"])
            )
            self._day_s = DAY_S * _days(year or 2001, month, number)


def _days(year: int, month: int, day: int) -> int:
    """Days since the beginning of the year 0, by the Gregorian calendar."""
    if month < 3:
        year, month = year - 1, month + 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day
