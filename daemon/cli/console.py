"""How commands print: JSON for programs; tables, rows of text and a progress line for people.

Nothing else in the commands writes to the terminal. What a person reads goes through :func:`clean`
here: most of it was written by others. What a program reads stays exact: JSON escapes it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from middlewatch.sentinels.kit.numbers import size

from ..system import jsonlines
from ..system.clock import Clock
from ..text import terminal

if TYPE_CHECKING:
    from ..text.rows import Row, Tone  # its library is imported only to draw

_COLOURS = {
    "critical": "31;1",
    "failed": "31;1",
    "failing": "31;1",
    "warning": "33",
    "stalled": "33",
}
_COLOURS |= {"running": "32", "finished": "32", "ok": "32", "corrupt": "31;1", "incomplete": "33"}


def as_json(value: Any) -> None:
    """Print one JSON value, indented on a terminal."""
    print(json_text(value, indent=2 if sys.stdout.isatty() else None), flush=True)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON of a value, in which a terminal finds nothing to obey."""
    return terminal.escaped_json(jsonlines.dumps(value, indent=indent))


clean = terminal.clean
"""One line of text that is safe to print; what :func:`say` and its like print is clean already."""


class Painted(str):
    """Clean text with colours of ours, which :func:`say` prints as it is."""

    __slots__ = ()


def say(*parts: object, flush: bool = False) -> None:
    """Print one line for a person, made of ``parts``: each is cleaned, but what is painted."""
    print(_line(parts), flush=flush)


def complain(*parts: object, end: str = "\n") -> None:
    """Like :func:`say`, on standard error."""
    print(_line(parts), end=end, file=sys.stderr, flush=True)


def _line(parts: Iterable[object]) -> str:
    return "".join(part if isinstance(part, Painted) else clean(part) for part in parts)


def paint(word: str, width: int = 0) -> Painted:
    """A state or severity in its colour, if :func:`coloured`.

    ``width``: cells that it is moved to the right in.
    """
    code = _COLOURS.get(word)
    shown = clean(word)
    space = " " * (width - len(shown))
    if code is None or not coloured():
        return Painted(space + shown)
    return Painted(f"{space}\x1b[{code}m{shown}\x1b[0m")


def width(text: str) -> int:
    """Terminal cells that a text takes, as :mod:`..text.rows` counts them."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len  # takes 2 ms to import: not for JSON output

    return cell_len(text)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a head, with aligned columns."""
    cells = [list(head), *([clean(c) for c in row] for row in rows)]
    wide = [max(width(row[i]) for row in cells) for i in range(len(head))]
    for number, row in enumerate(cells):
        line = []
        for text, room in zip(row, wide, strict=True):
            shown = paint(text) if number and text in _COLOURS else text
            line.append(shown + " " * (room - width(text)))
        print("  ".join(line).rstrip())


def as_line(value: Any) -> None:
    """Print one value of an NDJSON stream: on one line, and at once."""
    print(json_text(value), flush=True)


NARROWEST, WIDEST = 40, 110
"""Fewest and most columns of a report: longer lines are hard to read. Our choice."""
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
"""Replacements, one cell wide, for characters that the output cannot encode. That of a braille
cell shows whether there are dots in its upper and in its lower half."""


def columns() -> int:
    """Columns of a report: those of the terminal, within ``NARROWEST`` and ``WIDEST``."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def coloured() -> bool:
    """True if stdout is a terminal with colours. ``$NO_COLOR`` forbids them (no-color.org), else
    ``$FORCE_COLOR`` asks for them in any case (force-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "") != "dumb"


def print_rows(rows: Iterable[Row]) -> None:
    """Print rows, with colours if stdout shows them, in ASCII if it cannot encode more."""
    colour = coloured()
    narrow = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "gb18030")
    lines = []
    for line in rows:
        spans = [(clean(span.text), span.tone) for span in line]
        if narrow:
            spans = [(text.translate(_ASCII), tone) for text, tone in spans]
        while spans and not spans[-1][0].strip():
            spans.pop()
        if spans:
            spans[-1] = (spans[-1][0].rstrip(), spans[-1][1])
        lines.append("".join(_toned(text, tone) if colour else text for text, tone in spans))
    print("\n".join(lines), flush=True)


def _toned(text: str, tone: Tone) -> str:
    return f"\x1b[{_TONES[tone]}m{text}\x1b[0m" if tone and text.strip() else text


PATIENCE_S = 2.0
"""Seconds before a progress line appears: short readings show none. Our choice."""
REDRAW_S = 0.1
"""Seconds between two drawings: faster ones nobody can read, and a slow connection suffers."""
_LONGEST_NAME = 28


def progress_wanted(*, as_json: bool) -> bool:
    """True if standard error is a terminal that can erase a line, and no JSON is printed there."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in ("", "dumb"):
        return False
    return not (as_json and sys.stdout.isatty())


class ProgressBar:
    """A progress line on standard error, drawn from :data:`PATIENCE_S` on.

    ``total``: bytes on disk to read, 0 when that is not known. ``shown`` False: draw nothing.
    """

    def __init__(self, total: int, clock: Clock, *, shown: bool) -> None:
        self._total = total
        self._clock = clock
        self._begun = clock.monotonic()
        self._due = self._begun + PATIENCE_S if shown else float("inf")
        self._drawn = False

    def at(self, taken: int, name: str) -> None:
        """Show that ``taken`` bytes of all have been read, and that ``name`` is read now."""
        if self._due == float("inf"):
            return
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + REDRAW_S
        columns = shutil.get_terminal_size().columns
        spent_s, name = now - self._begun, clean(name)
        line = progress_line(taken, self._total, spent_s, name, columns - 1, utf8=_utf8())
        self._drawn = True  # before drawing: Ctrl-C in between must not leave the line there
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the line, so that something else can be printed."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False


def _utf8() -> bool:
    return (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"


def progress_line(
    taken: int, total: int, spent_s: float, name: str, width: int, *, utf8: bool
) -> str:
    """The line: ``train.log.gz ━━━━━━────── 43 %  18.2 MiB/s  0:12 left``.

    ``taken`` and ``total`` are bytes, ``spent_s`` seconds, ``width`` terminal cells.
    """
    from rich.cells import cell_len

    from ..text.rows import cut, cut_left

    rate = taken / spent_s if spent_s > 0 else 0.0
    name = cut_left("standard input" if name == "-" else name, min(_LONGEST_NAME, width // 3))
    if total:
        share = min(1.0, taken / total)
        tail = f" {share * 100:3.0f} %  {size(rate)}/s  {_left(total - taken, rate)} left"
        room = width - cell_len(tail) - cell_len(name) - 2
        done = round(share * max(0, room))
        full, empty = ("━", "─") if utf8 else ("#", "-")
        line = f"{name} {full * done}{empty * (room - done)}{tail}" if room >= 8 else name + tail
    else:
        line = f"{name}  {size(taken)}  {size(rate)}/s"
    line = cut(line, width)
    return line if utf8 else line.replace("…", "~").encode("ascii", "replace").decode()


def _left(bytes_: float, rate: float) -> str:
    """Time until the rest is read, ``h:mm:ss`` or ``m:ss``; ``?`` when it cannot be told."""
    minutes, rest = divmod(round(max(0.0, bytes_) / rate) if rate else 0, 60)
    hours, minutes = divmod(minutes, 60)
    if not rate or hours > 99:
        return "?"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
