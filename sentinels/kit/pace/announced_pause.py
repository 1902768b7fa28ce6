"""How long a pause is that the log announces: "pausing on purpose for 80 s", "resumes at 06:00:00"."""

from __future__ import annotations

import re

LONGEST_S = 6 * 3600.0
"""Longest pause that is believed: what stands still for longer should be looked at (our choice)."""
_LENGTH = re.compile(
    r"(?:\w+ing\b|\bcool\w*|[\u4e00-\u9fff]{2})[^\d\n]{0,80}?"
    r"(?P<number>\d+(?:\.\d+)?)\s?"
    r"(?:(?P<s>s|secs?|seconds?|秒)|(?P<m>m|mins?|minutes?|分钟)|(?P<h>h|hrs?|hours?|小时))(?![a-z])",
    re.IGNORECASE,
)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_CLOCK = re.compile(
    rb"(?<![\d:.=])(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?(?![\d:])"
)
_DAY_S = 86_400.0


def pause_s(text: str) -> float:
    """Seconds of the pause that a line announces, ``LONGEST_S`` at most; 0 when it does not say."""
    match = _LENGTH.search(text)
    if match is None:
        return 0.0
    unit = next(name for name in _SECONDS if match[name])
    return min(LONGEST_S, float(match["number"]) * _SECONDS[unit])


def goes_on_at(line: bytes, now: float) -> float:
    """The time that a line names behind its own one, in whatever language, as epoch seconds; 0 when it names
    none, or one that is not within ``LONGEST_S`` after its own. ``now``: when the line came.

    The time zone of the program does not matter, as the two are compared with each other.
    """
    if line.count(b":") < 2:
        return 0.0
    times = [
        3600.0 * int(found["h"]) + 60.0 * int(found["m"]) + float(found["s"] or 0)
        for found in _CLOCK.finditer(line)
    ]
    if len(times) < 2:
        return 0.0
    ahead_s = (times[-1] - times[0]) % _DAY_S
    return now + ahead_s if 0 < ahead_s <= LONGEST_S else 0.0
