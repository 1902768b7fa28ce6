"""How commands print: strict JSON for programs, plain tables for people."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

from .. import wire

_COLOURS = {
    "critical": "31;1",
    "failed": "31;1",
    "failing": "31;1",
    "warning": "33",
    "stalled": "33",
}
_COLOURS |= {"running": "32", "finished": "32", "ok": "32", "corrupt": "31;1", "incomplete": "33"}


def as_json(value: Any) -> None:
    """One JSON value, indented on a terminal."""
    print(wire.dumps(value, indent=2 if sys.stdout.isatty() else None), flush=True)


def clean(text: object) -> str:
    """Text that is safe on a terminal: no control characters, no lone surrogates."""
    shown = "".join(c if c.isprintable() else " " for c in str(text))
    return shown.encode("utf-8", "replace").decode()


def paint(word: str) -> str:
    """A state or severity in its colour, when stdout is a terminal that wants one."""
    code = _COLOURS.get(word)
    if code is None or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return word
    return f"\x1b[{code}m{word}\x1b[0m"


def width(text: str) -> int:
    """Columns a text takes on a terminal (Chinese characters take two)."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under a head, columns aligned."""
    cells = [list(head), *([clean(c) for c in row] for row in rows)]
    wide = [max(width(row[i]) for row in cells) for i in range(len(head))]
    for number, row in enumerate(cells):
        line = []
        for text, room in zip(row, wide, strict=True):
            shown = text if number == 0 else paint(text)
            line.append(shown + " " * (room - width(text)))
        print("  ".join(line).rstrip())


def as_line(value: Any) -> None:
    """One value of an NDJSON stream."""
    print(wire.dumps(value), flush=True)
