"""How long a pause is that the log announces: "pausing on purpose for 80 s"."""

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


def pause_s(text: str) -> float:
    """Seconds of the pause that a line announces, ``LONGEST_S`` at most; 0 when it does not say."""
    match = _LENGTH.search(text)
    if match is None:
        return 0.0
    unit = next(name for name in _SECONDS if match[name])
    return min(LONGEST_S, float(match["number"]) * _SECONDS[unit])
