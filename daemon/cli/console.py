"""How commands print: JSON for programs; tables, rows of text and a progress line for people."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from middlewatch.sentinels.kit.numbers import size

from ..system import jsonlines
from ..system.clock import Clock

if TYPE_CHECKING:
    from ..text.rows import Row, Tone  # here: its library is for those who draw

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
    print(jsonlines.dumps(value, indent=2 if sys.stdout.isatty() else None), flush=True)


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
    """Columns a text takes on a terminal, as :mod:`..text.rows` counts them."""
    from rich.cells import cell_len  # 2 ms, which a command that prints JSON does without

    return cell_len(text)


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
    print(jsonlines.dumps(value), flush=True)


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


def print_rows(rows: Iterable[Row]) -> None:
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
        lines.append("".join(_toned(text, tone) if colour else text for text, tone in spans))
    print("\n".join(lines), flush=True)


def _toned(text: str, tone: Tone) -> str:
    return f"\x1b[{_TONES[tone]}m{text}\x1b[0m" if tone and text.strip() else text


PATIENCE_S = 2.0
"""Readings that are done sooner show nothing."""
REDRAW_S = 0.1
"""No eye follows faster, and slow lines should not have to."""
_LONGEST_NAME = 28


def progress_wanted(*, as_json: bool) -> bool:
    """Standard error is a terminal that can erase a line, and no records run over it."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in ("", "dumb"):
        return False
    return not (as_json and sys.stdout.isatty())


class ProgressBar:
    """Draws on standard error. ``total``: bytes on disk to read, 0 when that is not known."""

    def __init__(self, total: int, clock: Clock, *, shown: bool) -> None:
        self._total = total
        self._clock = clock
        self._begun = clock.monotonic()
        self._due = self._begun + PATIENCE_S if shown else float("inf")
        self._drawn = False

    def at(self, taken: int, name: str) -> None:
        """So many bytes are read; the next ones are of ``name``."""
        if self._due == float("inf"):
            return
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + REDRAW_S
        columns = shutil.get_terminal_size().columns
        line = progress_line(taken, self._total, now - self._begun, name, columns - 1, utf8=_utf8())
        self._drawn = True  # before it is: Ctrl-C may come in between
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase it, so that something else can be printed."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False


def _utf8() -> bool:
    return (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"


def progress_line(
    taken: int, total: int, spent_s: float, name: str, width: int, *, utf8: bool
) -> str:
    """The line: ``train.log.gz ━━━━━━────── 43 %  18.2 MiB/s  0:12 left``."""
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
    """Time that the rest takes."""
    minutes, rest = divmod(round(max(0.0, bytes_) / rate) if rate else 0, 60)
    hours, minutes = divmod(minutes, 60)
    if not rate or hours > 99:
        return "?"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
