"""A loss curve as terminal text: the curve, evaluation points, marks on the axis. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .plot import Point, draw
from .rows import Row, Span, Tone, row

EVALUATED = "●"
GUTTER = 9
"""Cells left of the curve, for a number and the axis."""
_MARGIN = 2
"""Extra cells at each side of the plot, cut off afterwards. They hold points at the lowest and the
highest value, so that the plot gets that scale: see :meth:`_Scale.framed`."""


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A sign to show on the axis."""

    x: float
    """Position, in the units of the curve's x values."""
    sign: str
    tone: Tone


def curve(
    train: Sequence[Point],
    evaluated: Sequence[Point],
    marks: Iterable[AxisMark],
    ends: tuple[str, str],
    width: int,
    height: int,
    logarithmic: bool | None = None,
) -> list[Row]:
    """Rows of a picture ``width`` cells wide: ``height`` rows of curve, the axis, a row of words.

    ``train`` and ``evaluated`` are (x, y) points. ``ends``: the words below both ends of the axis.
    The scale is logarithmic when the highest value is at least :data:`.plot.LOG_FROM` times the
    lowest, or as ``logarithmic`` says. Empty when there are fewer than three finite values or too few cells.
    """
    train = [p for p in train if math.isfinite(p[0])]
    evaluated = [p for p in evaluated if math.isfinite(p[0]) and math.isfinite(p[1])]
    values = [y for _, y in (*train, *evaluated) if math.isfinite(y)]
    room = width - GUTTER
    if len(values) < 3 or room < 16:
        return []
    scale = _Scale(train, evaluated, min(values), max(values), room, height)
    plot = draw(scale.framed(train), room + 2 * _MARGIN, height, logarithmic)
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
    """Translates points to cells."""

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
        """Column of an x value, in cells from the left."""
        return round(self.share(x) * (2 * self.room - 1)) // 2

    def line(self, y: float) -> int:
        """Row of a y value, from the top."""
        low, high = self.low, self.high
        if self.logarithmic:
            y, low, high = math.log(y), math.log(low), math.log(high)
        span = high / 2 - low / 2
        up = (y / 2 - low / 2) / span if span > 0 else 0.5
        return round((1 - up) * (self.height * 4 - 1)) // 4

    def framed(self, train: Sequence[Point]) -> tuple[Point, ...]:
        """The curve with x from 0 to 1, and at both ends, in the margins that are cut off, a stroke
        from the lowest to the highest value, which sets the scale of the plot."""
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
        """Row -> the value to print beside it."""
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
    """The values as text, with as few digits as keep them different (at least 3)."""
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
