"""How far a long reading is: one line on a terminal, gone when it is done."""

from __future__ import annotations

import os
import shutil
import sys

from middlewatch.sentinels.kit.numbers import size

from ..clock import Clock

PATIENCE_S = 2.0
"""Readings that are done sooner show nothing."""
REDRAW_S = 0.1
"""No eye follows faster, and slow lines should not have to."""
_LONGEST_NAME = 28


def wanted(*, as_json: bool) -> bool:
    """Standard error is a terminal that can erase a line, and no records run over it."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in ("", "dumb"):
        return False
    return not (as_json and sys.stdout.isatty())


class Bar:
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
        line = draw(taken, self._total, now - self._begun, name, columns - 1, utf8=_utf8())
        self._drawn = True  # before it is: Ctrl-C may come in between
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase it, so that something else can be printed."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False


def _utf8() -> bool:
    return (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"


def draw(taken: int, total: int, spent_s: float, name: str, width: int, *, utf8: bool) -> str:
    """The line: ``train.log.gz ━━━━━━────── 43 %  18.2 MiB/s  0:12 left``."""
    from rich.cells import cell_len

    from middlewatch.tui.rows import cut, cut_left

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
