"""A widget that repaints only the cells that changed.

Textual sends the regions that a widget marks as dirty. A chart or table widget would mark itself as
a whole once a second, which sends tens of kilobytes a second. This one compares the rows and marks
the changed cells only; if nothing has changed, nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.events import Click, MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from middlewatch.daemon.text.rows import BLANK, Row, Tone, width_of

from .themes import LOOKS, Look, shown

GAP = 10
"""Unchanged cells between two changed ones that are sent all the same: to move over them takes six to eight
bytes, to begin a style anew four or more."""


class Lines(Widget):
    """Shows what ``draw(width, height)`` returns: rows of exactly that size."""

    look: Look = LOOKS["terminal"]
    ascii = False
    """Show nothing but ASCII."""

    DEFAULT_CSS = "Lines { width: 1fr; height: 1fr; }"

    def __init__(
        self,
        draw: Callable[[int, int], Sequence[Row]],
        click: Callable[[int, int], None] = lambda _x, _y: None,
        wheel: Callable[[int], None] = lambda _delta: None,
    ) -> None:
        """``click`` gets the cell that the mouse was pressed on, ``wheel`` 1 (down) or -1."""
        super().__init__()
        self._draw = draw
        self._click = click
        self._wheel = wheel
        self._rows: list[Row] = []

    @property
    def rows(self) -> Sequence[Row]:
        """The rows that are shown now."""
        return self._rows

    def update(self) -> None:
        """Draw again, and repaint the cells that differ."""
        fresh = list(self._draw(self.size.width, self.size.height))
        changed = damage(self._rows, fresh)
        self._rows = fresh
        if changed:
            self.refresh(*changed)

    def dress(self, look: Look, ascii: bool) -> None:  # noqa: A002
        """Take another theme, and paint everything in it."""
        if (look, ascii) != (self.look, self.ascii):
            self.look, self.ascii = look, ascii
            self.refresh()

    def on_resize(self, event: Resize) -> None:
        """Draw for the new size; Textual repaints everything then."""
        self.update()

    def on_click(self, event: Click) -> None:
        """Hand on the cell."""
        event.stop()
        self._click(event.x, event.y)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Hand on the turn of the wheel."""
        event.stop()
        self._wheel(1)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Hand on the turn of the wheel."""
        event.stop()
        self._wheel(-1)

    def render_line(self, y: int) -> Strip:
        """Row ``y`` as a strip, for Textual."""
        line = self._rows[y] if y < len(self._rows) else BLANK
        line = shown(line, self.ascii)
        styles = self.look.styles
        segments = [Segment(span.text, styles[span.tone]) for span in line]
        strip = Strip(segments, width_of(line))
        return strip.adjust_cell_length(self.size.width, styles[""])


def damage(old: Sequence[Row], new: Sequence[Row]) -> list[Region]:
    """The regions in which the two differ. Where the cells of a row stand as before, each stretch of changed
    cells by itself; else from the first difference to the last."""
    regions = []
    for y in range(max(len(old), len(new))):
        before = old[y] if y < len(old) else BLANK
        after = new[y] if y < len(new) else BLANK
        if before != after:
            regions += [Region(x, y, end - x, 1) for x, end in _stretches(before, after)]
    return regions


def _stretches(before: Row, after: Row) -> list[tuple[int, int]]:
    """First column and the one after the last of each, from left to right."""
    same = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    left = width_of(before[:same])
    old, new = _laid(before[same:]), _laid(after[same:])
    found: list[tuple[int, int]] = []
    both = min(len(old), len(new))
    changed = [n for n in range(both) if old[n] != new[n]]
    for n in (*changed, *range(both, max(len(old), len(new)))):
        begin, end = n, n + 1
        # A wide character is repainted whole: what it hides, and what hides it.
        while begin and (_goes_on(old, begin) or _goes_on(new, begin)):
            begin -= 1
        while _goes_on(old, end) or _goes_on(new, end):
            end += 1
        if found and begin - found[-1][1] < GAP:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return [(left + begin, left + end) for begin, end in found]


def _laid(line: Row) -> list[tuple[str, Tone]]:
    """The row cell by cell; the second cell of a wide character is empty. A character without a width of its
    own belongs to the one before it."""
    cells: list[tuple[str, Tone]] = []
    for span in line:
        if span.text.isascii():
            cells += [(character, span.tone) for character in span.text]
            continue
        for character in span.text:
            width = get_character_cell_size(character)
            if width == 0 and cells:
                cells[-1] = (cells[-1][0] + character, span.tone)
            elif width:
                cells += [(character, span.tone), *[("", span.tone)] * (width - 1)]
    return cells


def _goes_on(cells: Sequence[tuple[str, Tone]], n: int) -> bool:
    """Whether the character before cell ``n`` reaches into it."""
    return n < len(cells) and cells[n][0] == ""
