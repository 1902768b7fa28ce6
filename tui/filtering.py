"""The lines of a log that a regular expression is found in, looked for from the end backwards in slices. Pure
but for :func:`next_part`, which reads."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from typing import NamedTuple

from .logfile import MOST_MATCHES, LogFile, Part

SLICE = 64 << 20
"""Bytes that are looked through before what was found is shown: half a second of the slowest expressions
that we measured. Our choice."""


class Found(NamedTuple):
    """What is known so far."""

    begin: int
    end: int
    """The stretch of the log that was looked through."""
    places: array[int]
    """Where the lines begin, oldest first; the newest :data:`.logfile.MOST_MATCHES`."""

    @property
    def more(self) -> bool:
        """There are older lines to look through."""
        return self.begin > 0 and len(self.places) < MOST_MATCHES


def next_part(
    file: LogFile, pattern: re.Pattern[bytes], found: Found | None, stop: Callable[[int], bool]
) -> Part:
    """Looks through what has come since the last look; if that is nothing, through the next older slice.
    Raises OSError, and Stopped when ``stop`` returns true."""
    now = file.size()
    if found is None:
        return file.matching(pattern, max(0, now - SLICE), now, stop)
    fresh = file.matching(pattern, found.end, max(found.end, now), stop)
    if fresh.end > found.end or not found.more:
        return fresh
    return file.matching(pattern, max(0, found.begin - SLICE), found.begin, stop)


def joined(found: Found | None, part: Part) -> tuple[Found, int]:
    """With another part, and by how much the places that were known have moved."""
    if found is None:
        return Found(part.begin, part.end, part.places[-MOST_MATCHES:]), 0
    older = part.end <= found.begin
    places = part.places + found.places if older else found.places + part.places
    cut = max(0, len(places) - MOST_MATCHES)
    ends = (part.begin, found.end) if older else (found.begin, part.end)
    return Found(*ends, places[cut:]), (len(part.places) if older else 0) - cut
