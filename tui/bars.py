"""Bars and small histories in one row of cells. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"


def bar(ratio: float | None, width: int) -> str:
    """A bar of ``width`` cells, filled to ``ratio`` (0 to 1); dots where that is not known."""
    if ratio is None or not math.isfinite(ratio):
        return "·" * width
    eighths = round(min(1.0, max(0.0, ratio)) * width * 8)
    full, rest = divmod(eighths, 8)
    text = "█" * full + (_EIGHTHS[rest] if rest else "")
    return text + "░" * (width - len(text))


def spark(
    readings: Sequence[tuple[float, float]],
    width: int,
    span_s: float = 600.0,
    low: float | None = None,
    high: float | None = None,
) -> str:
    """The (seconds, value) readings of the last ``span_s`` as a row of levels: the mean of each stretch of
    time. ``low`` and ``high``: the scale, by default that of the values.

    Stretches begin at round times, so that a new reading changes the last cell only.
    """
    if not readings or width < 1:
        return ""
    stretch = span_s / width
    cells: dict[int, list[float]] = {}
    for at, value in readings:
        cells.setdefault(int(at / stretch), []).append(value)
    newest = max(cells)
    means = [(n, sum(cells[n]) / len(cells[n])) for n in sorted(cells) if n > newest - width]
    bottom = min(mean for _, mean in means) if low is None else low
    span = (max(mean for _, mean in means) if high is None else high) - bottom
    levels = {}
    for n, mean in means:
        place = 0.5 if span <= 0 else min(1.0, max(0.0, (mean - bottom) / span))
        levels[n] = _LEVELS[min(7, int(place * 8))]
    first = means[0][0]
    return "".join(levels.get(n, " ") for n in range(first, newest + 1))
