"""Time stamps at the beginning of log lines.

They put the logs of several ranks in order, and show how long a run took by its own clock. They are
never used as the time now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

Key = tuple[int, bytes]
"""(midnights passed, digits): sorts stamps of one kind by time."""

NEAR = 60
"""Bytes from the beginning of a line within which its stamp begins: room for a rank prefix, a level
and the name of a logger."""
SAMPLE = 256 << 10
"""First bytes of a log that are searched for the kind of its stamps."""
ENOUGH = 2
"""Stamps of one kind in the sample that are needed to use that kind."""

_TIME = rb"(?P<h>[01]\d|2[0-3]):(?P<mi>[0-5]\d):(?P<s>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?(?!\d)"
_PATTERNS: dict[str, bytes] = {
    "date": rb"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)[T _]" + _TIME,
    "compact": rb"(?<!\d)(?P<y>20\d\d)(?P<mo>\d\d)(?P<d>\d\d)[T _-]" + _TIME,
    "american": rb"(?<!\d)(?P<mo>0[1-9]|1[0-2])/(?P<d>[0-3]\d)/(?P<y>20\d\d)[ _]" + _TIME,
    # the day first: a tie, with days up to the 12th, is read as the one above
    "european": rb"(?<!\d)(?P<d>[0-3]\d)[./-](?P<mo>0[1-9]|1[0-2])[./-](?P<y>20\d\d)[ _]" + _TIME,
    "yearless": rb"(?<![\d/-])(?:[IWEFD](?P<mo>[01]\d)(?P<d>[0-3]\d)|(?P<mo2>[01]\d)[-/](?P<d2>[0-3]\d)) "
    + _TIME,
    "clock": rb"(?:(?<=^)|(?<=[\[( ]))" + _TIME + rb"(?=[\]) |,:-])",
}
_KINDS = {
    name: re.compile(rb"^[^\n]{0,%d}?" % NEAR + pattern, re.MULTILINE)
    for name, pattern in _PATTERNS.items()
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """The time stamp of a line."""

    start: int
    """Offset at which its line begins."""
    digits: bytes
    """Digits from year to fraction of a second, as far as the kind has them."""


def kind_of(sample: bytes) -> str | None:
    """The kind of the stamps of a log, from its first bytes; ``None`` when it has none."""
    counts = {
        name: sum(1 for _ in pattern.finditer(sample[:SAMPLE])) for name, pattern in _KINDS.items()
    }
    # A date holds a time of day too: the first kind wins a tie.
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= ENOUGH else None


def stamps(data: bytes, kind: str) -> Iterator[Stamp]:
    """The stamps of whole lines, at most one a line."""
    for match in _KINDS[kind].finditer(data):
        groups = match.groupdict(b"")
        month, day = groups.get("mo", b""), groups.get("d", b"")
        digits = b"".join(
            (
                groups.get("y", b""),
                month or groups.get("mo2", b""),
                day or groups.get("d2", b""),
                groups["h"],
                groups["mi"],
                groups["s"],
                groups["f"],
            )
        )
        yield Stamp(match.start(), digits)


class Ordered:
    """Turns the stamps of one log into keys that never decrease."""

    def __init__(self, kind: str) -> None:
        self._clock = kind == "clock"
        self._days = 0
        self._last = b""
        self.now: Key = (-1, b"")
        """Key of the newest stamp; before the first one, lower than any other."""

    def advance(self, digits: bytes) -> bool:
        """Take the next stamp; returns whether it is later than all before it."""
        if self._clock and self._last[:1] == b"2" and digits[:1] == b"0":
            self._days += 1  # midnight
        self._last = digits
        key = (self._days, digits)
        if key <= self.now:
            return False
        self.now = key
        return True


def moment(digits: bytes, kind: str) -> datetime:
    """A stamp as a time; kinds without a year or a day are placed in the year 2000."""
    text = digits.decode("ascii")
    if kind == "clock":
        text = "20000101" + text
    elif kind == "yearless":
        text = "2000" + text
    try:
        whole = datetime.strptime(text[:14], "%Y%m%d%H%M%S")  # noqa: DTZ007 - no zone is told
    except ValueError:  # the 31st of February
        return datetime.min  # noqa: DTZ901
    return whole + timedelta(seconds=float(f"0.{text[14:] or 0}"))
