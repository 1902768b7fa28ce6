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
    """The regions in which the two differ: for each row, from its first to its last difference."""
    regions = []
    for y in range(max(len(old), len(new))):
        before = old[y] if y < len(old) else BLANK
        after = new[y] if y < len(new) else BLANK
        if before != after:
            regions.append(_stretch(before, after, y))
    return regions


def _stretch(before: Row, after: Row, y: int) -> Region:
    old = [(character, span.tone) for span in before for character in span.text]
    new = [(character, span.tone) for span in after for character in span.text]
    head = _common(old, new)
    width = max(width_of(before), width_of(after))
    tail: list[tuple[str, Tone]] = []
    if width_of(before) == width_of(after):
        same = _common(old[head:][::-1], new[head:][::-1])
        tail = new[len(new) - same :]
    x = _cells(new[:head])
    return Region(x, y, max(1, width - x - _cells(tail)), 1)


def _common(a: Sequence[object], b: Sequence[object]) -> int:
    """Number of items at the beginning that are the same."""
    for n, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return n
    return min(len(a), len(b))


def _cells(characters: Sequence[tuple[str, Tone]]) -> int:
    return sum(get_character_cell_size(character) for character, _ in characters)
