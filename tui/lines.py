"""A widget that repaints only the cells that changed.

Textual sends whatever a widget calls dirty. A chart or table widget calls itself dirty as a
whole once a second, which costs tens of kilobytes a second; this one compares rows and names
the changed cells. Nothing changed, nothing sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.events import Resize
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from middlewatch.daemon.text.rows import BLANK, Row, Tone, width_of

STYLES: dict[Tone, Style] = {
    "": Style(),
    "dim": Style(dim=True),
    "title": Style(bold=True),
    "good": Style(color="green"),
    "warn": Style(color="yellow"),
    "bad": Style(color="red", bold=True),
    "alert": Style(reverse=True, bold=True),
}
"""The look of each tone in the sixteen colours of the person's own terminal theme. Every tone
also has a word or a mark beside it, so that nothing is lost under NO_COLOR."""


class Lines(Widget):
    """Shows what ``draw(width, height)`` returns: rows of exactly that size."""

    DEFAULT_CSS = "Lines { width: 1fr; height: 1fr; }"

    def __init__(self, draw: Callable[[int, int], Sequence[Row]]) -> None:
        super().__init__()
        self._draw = draw
        self._rows: list[Row] = []

    @property
    def rows(self) -> Sequence[Row]:
        """What is on the screen."""
        return self._rows

    def update(self) -> None:
        """Draw again, and repaint what came out different."""
        fresh = list(self._draw(self.size.width, self.size.height))
        changed = damage(self._rows, fresh)
        self._rows = fresh
        if changed:
            self.refresh(*changed)

    def on_resize(self, event: Resize) -> None:
        """A new size: everything is drawn for it, and Textual repaints it all anyway."""
        self.update()

    def render_line(self, y: int) -> Strip:
        """Row ``y`` as Textual wants it."""
        line = self._rows[y] if y < len(self._rows) else BLANK
        segments = [Segment(span.text, STYLES[span.tone]) for span in line]
        strip = Strip(segments, width_of(line))
        return strip.adjust_cell_length(self.size.width, STYLES[""])


def damage(old: Sequence[Row], new: Sequence[Row]) -> list[Region]:
    """The smallest stretch of each row in which the two differ."""
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
    """How many first items are the same."""
    for n, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return n
    return min(len(a), len(b))


def _cells(characters: Sequence[tuple[str, Tone]]) -> int:
    return sum(get_character_cell_size(character) for character, _ in characters)
