"""The time that the lines of a log say it is, in seconds from an arbitrary beginning.

Only differences of it mean anything: it is never believed to be the time now. Reading it
costs under a microsecond, because the next line has it where the last one had it.
"""

from __future__ import annotations

import re

WITHIN = 100
"""Bytes in which a stamp begins, behind a rank and the name of a logger."""
TRIES = 32
"""Lines without a stamp after which a log is taken for one that has none (any more)."""
DAY_S = 86400.0

_STAMP = re.compile(
    rb"(?:\d[-/. ]\d\d[ T_]{1,2}|[IWEFD]\d{4} {1,2}|^\W{0,3}|\] ?\[)(?P<t>(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?=[.,\]\s|)Z+-])"
)
_DATE = re.compile(
    rb"(?P<y>(?:19|20)\d\d)[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)[ T_]+$"
    rb"|[IWEFD](?P<mo2>[01]\d)(?P<d2>[0-3]\d) +$"
)
"""Days whose order with the month is certain; others are counted by their midnights."""


class LogClock:
    """Reads the stamps of one log."""

    __slots__ = ("_day", "_day_s", "_last", "at", "left")

    def __init__(self) -> None:
        self.at = -1
        """Where in a line the hours stand; -1 while that is not known."""
        self.left = TRIES
        """Further lines to look at, while none has a stamp: 0 is a log without."""
        self._day = b""
        self._day_s = 0.0
        self._last = 0.0

    def read(self, line: bytes) -> float | None:
        """What time a line says it is; ``None`` where it says none."""
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
    """Days since the beginning of the year 0, by the calendar of today."""
    if month < 3:
        year, month = year - 1, month + 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day
