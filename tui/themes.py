"""How the tones of a row look: four colour themes, one without colours, and signs for a terminal
that has ASCII only. No information is in a colour alone: there is always a word or a mark as well."""

from __future__ import annotations

import locale
import os
from dataclasses import dataclass
from functools import lru_cache

from rich.cells import get_character_cell_size
from rich.style import Style

from middlewatch.daemon.text.rows import Row, Span, Tone
from middlewatch.daemon.text.terminal import clean


@dataclass(frozen=True)
class Look:
    """One theme."""

    name: str
    says: str
    """What it is for, in a few words."""
    textual: tuple[str, ...]
    """Names of the theme for Textual's own widgets (the palette, inputs); the first that this
    version of Textual has is taken."""
    styles: dict[Tone, Style]
    native: bool = False
    """Colours are those of the terminal's own sixteen, so that its background stays."""


def _coloured(paper: str, ink: str, dim: str, good: str, warn: str, bad: str) -> dict[Tone, Style]:
    return {
        "": Style(color=ink, bgcolor=paper),
        "dim": Style(color=dim, bgcolor=paper),
        "title": Style(color=ink, bgcolor=paper, bold=True),
        "good": Style(color=good, bgcolor=paper),
        "warn": Style(color=warn, bgcolor=paper),
        "bad": Style(color=bad, bgcolor=paper, bold=True),
        "alert": Style(color=paper, bgcolor=ink, bold=True),
    }


_NATIVE: dict[Tone, Style] = {
    "": Style(),
    "dim": Style(dim=True),
    "title": Style(bold=True),
    "good": Style(color="green"),
    "warn": Style(color="yellow"),
    "bad": Style(color="red", bold=True),
    "alert": Style(reverse=True, bold=True),
}
_PLAIN: dict[Tone, Style] = {
    "": Style(),
    "dim": Style(dim=True),
    "title": Style(bold=True),
    "good": Style(),
    "warn": Style(underline=True),
    "bad": Style(bold=True, underline=True),
    "alert": Style(reverse=True, bold=True),
}
LOOKS = {
    look.name: look
    for look in (
        Look(
            *("terminal", "the terminal's own colours", ("textual-ansi", "ansi-dark"), _NATIVE),
            native=True,
        ),
        Look(
            *("dark", "light on dark", ("textual-dark",)),
            _coloured("#121212", "#dedede", "#8a8a8a", "#5fd787", "#ffd75f", "#ff5f5f"),
        ),
        Look(
            *("light", "dark on light", ("textual-light",)),
            _coloured("#fafafa", "#1c1c1c", "#6c6c6c", "#006b2d", "#875f00", "#b00020"),
        ),
        # Blue, yellow and orange of Okabe and Ito's palette, told apart in all common colour blindness.
        Look(
            *("colour-blind", "blue for good, orange for bad", ("textual-dark",)),
            _coloured("#121212", "#dedede", "#8a8a8a", "#56b4e9", "#f0e442", "#ff8c1a"),
        ),
        Look("mono", "no colours", ("textual-ansi", "ansi-dark"), _PLAIN, native=True),
    )
}
"""By name; the order is that in which `t` goes through them."""


def _braille(bits: int) -> str:
    """A braille cell in ASCII: where its dots are, from top to bottom."""
    used = [level for level, mask in enumerate((0x09, 0x12, 0x24, 0xC0)) if bits & mask]
    if not used:
        return " "
    if used[-1] - used[0] >= 2:
        return "|"
    return "'" if used[-1] == 0 else "." if used[0] >= 2 else "-"


_ASCII = str.maketrans(
    {
        **dict(zip("─│┤├└┌┐┘┼", "-|||+++++", strict=True)),
        **dict(zip("–—…×●•·▲▼▶◀↑↓→←✓", "--~xoo.^v><^v><v", strict=True)),
        **dict(zip("▁▂▃▄▅▆▇█▏▎▍▌▋▊▉░", "__..-==#|||||##.", strict=True)),
        **{chr(0x2800 + bits): _braille(bits) for bits in range(256)},
    }
)  # fmt: skip


@lru_cache(maxsize=1024)
def ascii_only(text: str) -> str:
    """``text`` in ASCII, as many cells wide: a braille cell becomes a stroke where its dots are, what
    has no likeness a question mark for each cell."""
    if text.isascii():
        return text
    text = text.translate(_ASCII)
    return "".join(c if c.isascii() else "?" * get_character_cell_size(c) for c in text)


def shown(line: Row, ascii: bool) -> Row:  # noqa: A002
    """The row as the terminal gets it: no control characters, and ASCII only if asked for."""
    return tuple(Span(ascii_only(clean(s.text)) if ascii else clean(s.text), s.tone) for s in line)


def wants_ascii() -> bool:
    """Whether the terminal shows ASCII only: the console of Linux has no braille, and without UTF-8
    nothing else comes through."""
    encoding = locale.getpreferredencoding(False).lower().replace("-", "")
    return encoding != "utf8" or os.environ.get("TERM") in ("linux", "vt100", "dumb")
