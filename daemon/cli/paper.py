"""Rows of text on standard output: colours where they are wanted, ASCII where there is no more."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

from middlewatch.tui.rows import Row, Tone

NARROWEST, WIDEST = 40, 110
"""Columns that are used: longer lines are hard to read."""
_TONES: dict[Tone, str] = {
    "dim": "2",
    "title": "1",
    "good": "32",
    "warn": "33",
    "bad": "31;1",
    "alert": "7",
}
_ASCII = str.maketrans(
    dict(zip("…·→✗✓│┤└─×●↺", "~->x+|++-xo<", strict=True))
    | {chr(0x2800 + bits): " '.:"[bool(bits & 0x1B) + 2 * bool(bits & 0xE4)] for bits in range(256)}
)
"""Stand-ins one cell wide; of a braille cell they tell the upper and the lower half."""


def columns() -> int:
    """Width to fill."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def coloured() -> bool:
    """Standard output is a terminal that wants colours."""
    dumb = os.environ.get("TERM", "") == "dumb"
    return sys.stdout.isatty() and not dumb and not os.environ.get("NO_COLOR")


def put(rows: Iterable[Row]) -> None:
    """Print rows."""
    colour = coloured()
    narrow = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "gb18030")
    lines = []
    for line in rows:
        spans = [(span.text.translate(_ASCII) if narrow else span.text, span.tone) for span in line]
        while spans and not spans[-1][0].strip():
            spans.pop()
        if spans:
            spans[-1] = (spans[-1][0].rstrip(), spans[-1][1])
        lines.append("".join(_paint(text, tone) if colour else text for text, tone in spans))
    print("\n".join(lines), flush=True)


def _paint(text: str, tone: Tone) -> str:
    return f"\x1b[{_TONES[tone]}m{text}\x1b[0m" if tone and text.strip() else text
