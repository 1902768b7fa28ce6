"""The course of a loss in a terminal: a curve, points of evaluation, marks on the axis. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .plot import Point, draw
from .rows import Row, Span, Tone, row

EVALUATED = "●"
GUTTER = 9
"""Cells left of the curve: a number and the axis."""
_MARGIN = 2
"""Cells drawn beyond each side, and cut off: points there hold the scale."""


@dataclass(frozen=True, slots=True)
class AxisMark:
    """Something to show on the axis."""

    x: float
    sign: str
    tone: Tone


def curve(
    train: Sequence[Point],
    evaluated: Sequence[Point],
    marks: Iterable[AxisMark],
    ends: tuple[str, str],
    width: int,
    height: int,
) -> list[Row]:
    """Rows of a picture ``width`` wide; none where there is nothing to draw.

    ``ends`` are the words below both ends of the axis. The scale is logarithmic when the
    highest value is several times the lowest, as that of the screens is.
    """
    train = [p for p in train if math.isfinite(p[0])]
    evaluated = [p for p in evaluated if math.isfinite(p[0]) and math.isfinite(p[1])]
    values = [y for _, y in (*train, *evaluated) if math.isfinite(y)]
    room = width - GUTTER
    if len(values) < 3 or room < 16:
        return []
    scale = _Scale(train, evaluated, min(values), max(values), room, height)
    plot = draw(scale.framed(train), room + 2 * _MARGIN, height)
    cells = [_cells(line, room) for line in plot.rows]
    scale.logarithmic = plot.logarithmic
    taken: set[int] = set()
    for x, y in evaluated:
        column, line = scale.column(x), scale.line(y)
        if column - 1 not in taken:  # many evaluations would hide the curve
            taken.add(column)
            cells[line][column] = Span(EVALUATED, "warn")
    labels = scale.labels()
    rows = [
        row(
            Span(f"{labels.get(y, ''):>{GUTTER - 2}} ", "dim"),
            Span("┤" if y in labels else "│", "dim"),
        )
        + tuple(line)
        for y, line in enumerate(cells)
    ]
    return [*rows, _axis(scale, marks, room), _words(ends, room)]


class _Scale:
    """Where a point lies."""

    def __init__(
        self,
        train: Sequence[Point],
        evaluated: Sequence[Point],
        low: float,
        high: float,
        room: int,
        height: int,
    ) -> None:
        xs = [x for x, _ in (*train, *evaluated)]
        self.first, self.last = min(xs), max(xs)
        self.low, self.high = low, high
        self.room, self.height = room, height
        self.logarithmic = False

    def share(self, x: float) -> float:
        """0 at the left end, 1 at the right one."""
        span = self.last / 2 - self.first / 2  # halves: the distance may be infinite
        return min(1.0, max(0.0, (x / 2 - self.first / 2) / span)) if span > 0 else 0.5

    def column(self, x: float) -> int:
        """Cell of a place on the axis."""
        return round(self.share(x) * (2 * self.room - 1)) // 2

    def line(self, y: float) -> int:
        """Row of a value, from the top."""
        low, high = self.low, self.high
        if self.logarithmic:
            y, low, high = math.log(y), math.log(low), math.log(high)
        span = high / 2 - low / 2
        up = (y / 2 - low / 2) / span if span > 0 else 0.5
        return round((1 - up) * (self.height * 4 - 1)) // 4

    def framed(self, train: Sequence[Point]) -> tuple[Point, ...]:
        """The curve between two strokes from lowest to highest that lie beyond the picture."""
        dot = 1 / (2 * self.room - 1)
        edge = 2 * _MARGIN * dot
        before = ((-edge, self.low), (dot - edge, self.high), (2 * dot - edge, math.nan))
        after = ((1 + edge - 2 * dot, math.nan), (1 + edge - dot, self.low), (1 + edge, self.high))
        inside: list[Point] = []
        for x, y in train:
            x = self.share(x)
            if not inside or x > inside[-1][0]:
                inside.append((x, y))
        return (*before, *inside, *after)

    def labels(self) -> dict[int, str]:
        """Numbers beside the rows."""
        values = {0: self.high, self.height - 1: self.low}
        if self.height >= 6:
            middle = (self.height - 1) // 2
            up = 1 - (middle * 4 + 1.5) / (self.height * 4 - 1)
            if self.logarithmic:
                values[middle] = self.low * (self.high / self.low) ** up
            else:
                values[middle] = self.low * (1 - up) + self.high * up
        return _numbers(values)


def _numbers(values: Mapping[int, float]) -> dict[int, str]:
    """As few digits as tell the values apart."""
    for digits in (3, 4, 5):
        found = {y: f"{value:.{digits}g}" for y, value in values.items()}
        if len(set(found.values())) == len(values):
            break
    return {y: t if len(t) < GUTTER - 1 else f"{values[y]:.0e}" for y, t in found.items()}


def _cells(line: Row, room: int) -> list[Span]:
    """A row of the plot without its margins, cell by cell."""
    cells = [Span(sign, span.tone or "good") for span in line for sign in span.text]
    cells += [Span(" ")] * (room + 2 * _MARGIN - len(cells))
    return cells[_MARGIN : _MARGIN + room]


def _axis(scale: _Scale, marks: Iterable[AxisMark], room: int) -> Row:
    cells = [Span("─", "dim")] * room
    for mark in marks:
        if math.isfinite(mark.x):
            cells[scale.column(mark.x)] = Span(mark.sign, mark.tone)
    return (Span(" " * (GUTTER - 1) + "└", "dim"), *cells)


def _words(ends: tuple[str, str], room: int) -> Row:
    left, right = ends
    space = max(1, room - len(left) - len(right))
    return row(Span(f"{' ' * GUTTER}{left}{' ' * space}{right}", "dim"))
