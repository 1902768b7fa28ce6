"""A curve that can be zoomed: which part of it is shown, how it is smoothed, where its cursor is. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.curve import GUTTER, AxisMark, curve
from middlewatch.daemon.text.plot import BROKEN, Point
from middlewatch.daemon.text.rows import BLANK, Row, Span, cut, pad, row

SMOOTHINGS = (0.0, 0.6, 0.9, 0.97)
"""Weights of the mean so far; 0 shows the values as they are. The steps are our choice."""
SCALES = (None, True, False)
"""Logarithmic where the values span much (None), always, never."""
SCALE_NAMES = {None: "auto", True: "log", False: "linear"}
DEEPEST = 64.0
"""Largest zoom. A curve of the daemon has 240 points: closer there would be nothing between them."""


@dataclass
class Chart:
    """What the person has set. Positions are shares of the whole curve, 0 to 1."""

    zoom: float = 1.0
    middle: float = 0.5
    cursor: float | None = None
    scale: int = 0
    smooth: int = 0

    def zoom_by(self, factor: float) -> None:
        """Show ``factor`` times less, around the cursor; without one the newest part."""
        self.zoom = min(DEEPEST, max(1.0, self.zoom * factor))
        self.middle = 1.0 if self.cursor is None else self.cursor
        self._hold()

    def whole(self) -> None:
        """Show all of it, without a cursor."""
        self.zoom, self.middle, self.cursor = 1.0, 0.5, None

    def shift(self, cells: int, width: int) -> None:
        """Move the cursor by cells; the part that is shown follows it."""
        if self.cursor is None:
            self.cursor = self.shown[1]
        self.cursor = min(1.0, max(0.0, self.cursor + cells / max(1, width - GUTTER) / self.zoom))
        low, high = self.shown
        if not low <= self.cursor <= high:
            self.middle = self.cursor
            self._hold()

    def point_at(self, column: int, width: int) -> None:
        """Put the cursor into a column of the picture."""
        low, high = self.shown
        share = (column - GUTTER) / max(1, width - GUTTER - 1)
        self.cursor = low + (high - low) * min(1.0, max(0.0, share))

    @property
    def shown(self) -> tuple[float, float]:
        """The part that is shown."""
        half = 0.5 / self.zoom
        return self.middle - half, self.middle + half

    def _hold(self) -> None:
        half = 0.5 / self.zoom
        self.middle = min(1.0 - half, max(half, self.middle))

    def draw(
        self, points: Sequence[Point], marks: Iterable[AxisMark], name: str, width: int, height: int
    ) -> list[Row]:
        """A legend, the curve with its axis and marks; ``height`` rows of ``width`` cells."""
        # By step: where a restart went back, the curve of both attempts is one.
        points = sorted((p for p in points if math.isfinite(p[0])), key=lambda p: p[0])
        if len(points) < 2 or height < 5:
            lines = [row(Span(f" {name}: no curve yet", "dim"))]
            return [*lines, *[BLANK] * height][:height]
        first, last = points[0][0], points[-1][0]
        low, high = (first + (last - first) * share for share in self.shown)
        smooth = smoothed(points, SMOOTHINGS[self.smooth])
        part = [p for p in smooth if low <= p[0] <= high]
        if sum(math.isfinite(y) for _, y in part) < 3:
            part = _around(smooth, (low + high) / 2)
        inside = [m for m in marks if part[0][0] <= m.x <= part[-1][0]]
        ends = (f"step {figures.count(part[0][0])}", figures.count(part[-1][0]))
        rows = curve(part, (), inside, ends, width, height - 3, SCALES[self.scale])
        if not rows:
            return [row(Span(f" {name}: no values to draw", "dim")), *[BLANK] * (height - 1)]
        legend = self._legend(points, part, name, width)
        if self.cursor is not None:
            rows = self._with_cursor(rows, part, first + (last - first) * self.cursor, width)
        return [pad(line, width) for line in (legend, *rows)]

    def _legend(self, points: Sequence[Point], part: Sequence[Point], name: str, width: int) -> Row:
        said = [Span(f" {cut(name, 32)}", "title")]
        if self.cursor is not None:
            wanted = points[0][0] + (points[-1][0] - points[0][0]) * self.cursor
            x, y = min(points, key=lambda p: abs(p[0] - wanted))
            said.append(Span(f"  step {figures.count(x)}: {figures.metric(y)}", "alert"))
        else:
            said.append(Span(f"  now {figures.metric(points[-1][1])}"))
        broken = sum(not math.isfinite(y) for _, y in part)
        if broken:
            said.append(Span(f"  {broken} {BROKEN} not finite", "bad"))
        how = [f"{SCALE_NAMES[SCALES[self.scale]]}"]
        how += [f"smooth {SMOOTHINGS[self.smooth]:g}"] if self.smooth else []
        how += [f"zoom {self.zoom:.3g}"] if self.zoom > 1.0 else []
        return (*said, Span(f"  {', '.join(how)}", "dim"))

    def _with_cursor(
        self, rows: list[Row], part: Sequence[Point], x: float, width: int
    ) -> list[Row]:
        first, last = part[0][0], part[-1][0]
        share = (x - first) / (last - first) if last > first else 0.5
        column = GUTTER + round(min(1.0, max(0.0, share)) * (width - GUTTER - 1))
        return [*(_crossed(line, column) for line in rows[:-2]), *rows[-2:]]


def _crossed(line: Row, column: int) -> Row:
    """The row with the cursor in a column, unless the curve is there."""
    cells = [Span(sign, span.tone) for span in line for sign in span.text]
    cells += [Span(" ")] * (column + 1 - len(cells))
    under = cells[column].text
    cells[column] = Span("│" if under == " " else under, "alert" if under != " " else "warn")
    return tuple(cells)


def smoothed(points: Sequence[Point], weight: float) -> list[Point]:
    """Exponential mean of y with its start corrected (as in TensorBoard); what is not finite stays."""
    if not weight:
        return list(points)
    found: list[Point] = []
    mean, gathered = 0.0, 0.0
    for x, y in points:
        if not math.isfinite(y):
            found.append((x, y))
            continue
        mean = mean * weight + (1 - weight) * y
        gathered = gathered * weight + (1 - weight)
        found.append((x, mean / gathered))
    return found


def _around(points: Sequence[Point], x: float) -> list[Point]:
    """The five points nearest to a place where the zoom left too few."""
    place = min(range(len(points)), key=lambda n: abs(points[n][0] - x))
    begin = min(max(0, place - 2), max(0, len(points) - 5))
    return list(points[begin : begin + 5])
