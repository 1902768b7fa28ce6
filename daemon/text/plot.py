"""A curve drawn with braille characters, each of two by four dots. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from .rows import Row, Span

Point = tuple[float, float]

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bit of each dot in a braille cell, by column and by row from the top (Unicode, 2800..28FF)."""

LOG_FROM = 4.0
"""Ratio of the highest to the lowest value from which the axis is logarithmic. On a linear axis a
loss that falls from 11 to 2.3 would be in the lowest quarter of the plot nearly all the time."""

BROKEN = "×"


class Plot(NamedTuple):
    """A drawn curve: as many rows as asked for, and what a legend needs."""

    rows: list[Row]
    low: float | None
    high: float | None
    logarithmic: bool
    broken: int
    """Points that are not finite numbers; each is marked in its column."""


@lru_cache(maxsize=8)
def draw(
    points: tuple[Point, ...], width: int, height: int, logarithmic: bool | None = None
) -> Plot:
    """Draw (x, y) points, oldest first, into ``width`` by ``height`` cells.

    Points are placed by x, or by their order if x does not always rise (a restarted counter). A
    column with several points shows their whole range; neighbouring points are joined. A y that is
    not finite is a ``×``: at the top for ``inf``, at the bottom for ``-inf`` and NaN.
    ``logarithmic``: how y is scaled; by default by :data:`LOG_FROM`, and never where a value is not
    positive. The last results are cached, because a screen draws the same curve many times.
    """
    values = [y for _, y in points if math.isfinite(y)]
    broken = len(points) - len(values)
    if not points or width < 1 or height < 1:
        return Plot([()] * max(0, height), None, None, False, broken)
    low, high = (min(values), max(values)) if values else (None, None)
    possible = low is not None and high is not None and 0 < low < high
    wide = possible and low is not None and high is not None and low <= high / LOG_FROM
    logarithmic = possible and (wide if logarithmic is None else logarithmic)
    columns = _columns([x for x, _ in points], width * 2)
    cells = [[0] * width for _ in range(height)]
    marks: set[tuple[int, int]] = set()
    before: tuple[int, int] | None = None
    for column, (_, y) in zip(columns, points, strict=True):
        if not math.isfinite(y):
            marks.add((0 if y == math.inf else height - 1, column // 2))
            before = None
            continue
        assert low is not None
        assert high is not None
        dot = round((1 - _share(y, low, high, logarithmic)) * (height * 4 - 1))
        for x, top, bottom in _join(before, (column, dot)):
            for each in range(top, bottom + 1):
                cells[each // 4][x // 2] |= _DOTS[x % 2][each % 4]
        before = (column, dot)
    rows = [_row(line, y, marks) for y, line in enumerate(cells)]
    return Plot(rows, low, high, logarithmic, broken)


def _columns(xs: Sequence[float], width: int) -> list[int]:
    """Dot column of each point."""
    rising = all(a < b for a, b in itertools.pairwise(xs))
    if not rising or not all(map(math.isfinite, xs)):
        xs = list(range(len(xs)))
    first, last = xs[0], xs[-1]
    return [round(_share(x, first, last, False) * (width - 1)) for x in xs]


def _share(value: float, low: float, high: float, logarithmic: bool) -> float:
    """Where ``value`` is between ``low`` (0) and ``high`` (1); 0.5 if the two are equal."""
    if logarithmic:
        value, low, high = math.log(value), math.log(low), math.log(high)
    # Halves, because the distance of two finite numbers may be infinite.
    span = high / 2 - low / 2
    return min(1.0, max(0.0, (value / 2 - low / 2) / span)) if span > 0 else 0.5


def _join(before: tuple[int, int] | None, here: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Vertical strokes (column, top, bottom) that lead from the last dot to this one."""
    column, dot = here
    if before is None:
        return [(column, dot, dot)]
    x, y = before
    steps = max(1, column - x)
    strokes = []
    for step in range(1, steps + 1):
        reached = y + round((dot - y) * step / steps)
        last = y + round((dot - y) * (step - 1) / steps)
        last += (reached > last) - (reached < last)  # the last stroke already drew that dot
        strokes.append((min(x + step, column), min(last, reached), max(last, reached)))
    return strokes


def _row(line: Sequence[int], y: int, marks: set[tuple[int, int]]) -> Row:
    spans: list[Span] = []
    text = ""
    for x, bits in enumerate(line):
        if (y, x) in marks:
            spans += [Span(text), Span(BROKEN, "bad")]
            text = ""
        else:
            text += chr(0x2800 + bits) if bits else " "
    return tuple(span for span in (*spans, Span(text.rstrip())) if span.text)
