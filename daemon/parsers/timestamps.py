"""Times that log lines begin with: to put the logs of several ranks in order, and to tell how
long a run took by its own clock. They are never believed to be the time now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

Key = tuple[int, bytes]
"""Sorts as time does, among stamps of one kind: (midnights passed, digits)."""

NEAR = 60
"""Bytes from the beginning of a line in which its stamp begins; a rank prefix, a level and the
name of a logger fit before it."""
SAMPLE = 256 << 10
"""First bytes of a log that tell how it writes times."""
ENOUGH = 2
"""Stamps in the sample that make a kind worth using."""

_TIME = rb"(?P<h>[01]\d|2[0-3]):(?P<mi>[0-5]\d):(?P<s>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?(?!\d)"
_PATTERNS: dict[str, bytes] = {
    "date": rb"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)[T _]" + _TIME,
    "compact": rb"(?<!\d)(?P<y>20\d\d)(?P<mo>\d\d)(?P<d>\d\d)[T _-]" + _TIME,
    "american": rb"(?<!\d)(?P<mo>\d\d)/(?P<d>\d\d)/(?P<y>20\d\d)[ _]" + _TIME,
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
    """One time that a line tells."""

    start: int
    """Where its line begins."""
    digits: bytes
    """Year to second and fraction, whatever of it the kind has."""


def kind_of(sample: bytes) -> str | None:
    """How a log writes times, from its first bytes; ``None`` when it writes none."""
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
    """Makes keys of the stamps of one log that never run backwards."""

    def __init__(self, kind: str) -> None:
        self._clock = kind == "clock"
        self._days = 0
        self._last = b""
        self.now: Key = (-1, b"")
        """Key of the newest stamp; lowest of all before the first."""

    def advance(self, digits: bytes) -> bool:
        """Take the next stamp; True when it is later than all before it."""
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
