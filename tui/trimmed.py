"""What Textual sends when parts of a row have changed, without what stands left of them.

Textual paints a changed region from the left edge of the widget on, to the region's end. Our widget is as wide as
the terminal, so that a digit at the end of a row would cost the whole row.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.control import Control
from textual.app import App
from textual.screen import Screen

try:
    from textual._compositor import ChopsUpdate
except ImportError:  # a later Textual: then all of the row is sent
    ChopsUpdate = None  # type: ignore[assignment,misc]


def trimmed(update: Any, console: Console) -> str:
    """The sequences that paint the changed spans of a ``ChopsUpdate``, and nothing else."""
    written = []
    for y, x1, x2 in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x >= x2 or end <= x1:
                continue
            begin = max(x, x1)
            part = strip.crop(begin - x, min(end, x2) - x)
            written.append(Control.move_to(begin, y).segment.text + part.render(console))
    return "".join(written)


class TrimmedApp(App[None]):
    """An app that sends changed cells only."""

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if ChopsUpdate is not None and type(renderable) is ChopsUpdate:
            renderable = _Trimmed(renderable.chops, renderable.spans, renderable.chop_ends)
        super()._display(screen, renderable)


if ChopsUpdate is not None:

    class _Trimmed(ChopsUpdate):
        def render_segments(self, console: Console) -> str:
            return trimmed(self, console)
