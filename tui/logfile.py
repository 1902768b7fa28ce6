"""A log of any size, read where it is looked at: in blocks, from the end backwards, never whole.

A place in the log is the number of bytes before it. All of this blocks on the disk: it is called in a
thread beside the screen.
"""

from __future__ import annotations

import io
import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

BLOCK = 256 * 1024
"""Bytes read at once to find lines: some thousand lines of a training log."""
SEARCH_BLOCK = 4 << 20
"""Bytes read at once to search. Our choice: far more than a call costs, and little to hold."""
LONGEST = 64 * 1024
"""Bytes of a line; what is longer is shown in pieces, as the daemon reads it."""
MOST_MATCHES = 50_000
"""Lines that a filter keeps, the newest (400 kB of places)."""


class Line(NamedTuple):
    """A line of the log and where it stands."""

    begin: int
    end: int
    """Behind its newline."""
    data: bytes
    """Without its newline."""


class Window(NamedTuple):
    """The lines above a place."""

    lines: list[Line]
    """Oldest first."""
    end: int
    size: int
    """Bytes of the log when it was read."""


class Part(NamedTuple):
    """A stretch of the log that was looked through."""

    begin: int
    end: int
    places: array[int]
    """Where the lines begin that were found, oldest first."""


class Stopped(Exception):
    """The search was given up."""


class LogFile:
    """A log on a disk of this machine. Every call may raise OSError."""

    def __init__(self, path: str) -> None:
        self.path = path

    def size(self) -> int:
        """Bytes that it has now."""
        return os.stat(self.path).st_size

    def open(self) -> BinaryIO:
        """The log, from its beginning."""
        return open(self.path, "rb")

    def window(self, end: int | None, delta: int, count: int) -> Window:
        """The ``count`` lines above ``end`` after a move by ``delta`` lines (positive: towards the newer
        ones). ``end`` None: above the newest line, wherever that is now."""
        with self.open() as file:
            size = file.seek(0, os.SEEK_END)
            place = size if end is None else min(end, size)
            if delta > 0:
                *_, place = (place, *(line.end for line in _forward(file, place, delta)))
            elif delta < 0:
                *_, place = (place, *(line.begin for line in _backward(file, place, -delta)))
            lines = list(_backward(file, place, count))[::-1]
            if delta < 0 and len(lines) < count:  # the first screen is a full one
                lines += _forward(file, place, count - len(lines))
                place = lines[-1].end if lines else place
            return Window(lines, place, size)

    def find(
        self, needle: bytes, place: int, back: bool, stop: Callable[[int], bool]
    ) -> Line | None:
        """The nearest line with ``needle`` that begins before ``place`` (``back``), or behind it.

        A needle without capitals is found in capitals too. ``stop`` is called with every place that was
        reached; Stopped is raised when it returns true.
        """
        fold = needle == needle.lower()
        with self.open() as file:
            for begin, block in _blocks(file, place, back, len(needle) - 1):
                if stop(begin):
                    raise Stopped
                block = block.lower() if fold else block
                at = block.rfind(needle) if back else block.find(needle)
                if at >= 0:
                    return _line_at(file, begin + at)
        return None

    def matching(
        self, pattern: re.Pattern[bytes], begin: int, end: int, stop: Callable[[int], bool]
    ) -> Part:
        """Where the whole lines between two places begin that the pattern is found in, read from the end
        backwards. ``stop`` as in :meth:`find`."""
        found: list[array[int]] = []
        with self.open() as file:
            begin = _line_begin(file, begin, 0)
            end = _line_begin(file, end, max(0, end - LONGEST), back=True)
            place = end
            while place > begin:
                start = _line_begin(file, max(begin, place - SEARCH_BLOCK), begin)
                if start >= place:
                    start = max(begin, place - SEARCH_BLOCK)
                if stop(start):
                    raise Stopped
                file.seek(start)
                found.append(_lines_with(pattern, file.read(place - start), start))
                place = start
        places = array("q")
        for part in reversed(found):
            places.extend(part)
        return Part(min(begin, end), end, places)

    def lines_at(self, places: array[int]) -> list[Line]:
        """The lines that begin at these places."""
        with self.open() as file:
            return [line for place in places for line in _forward(file, place, 1)]


class Tail(LogFile):
    """The newest lines, as the daemon told them: where the log itself cannot be read here."""

    def __init__(self, path: str, lines: Sequence[str]) -> None:
        super().__init__(path)
        self._data = b"".join(line.encode("utf-8", "replace") + b"\n" for line in lines)

    def size(self) -> int:
        """Bytes of the lines."""
        return len(self._data)

    def open(self) -> BinaryIO:
        """The lines."""
        return io.BytesIO(self._data)


def _forward(file: BinaryIO, place: int, count: int) -> Iterator[Line]:
    """The lines from ``place`` on."""
    while count > 0:
        file.seek(place)
        block = file.read(BLOCK)
        if not block:
            return
        at = 0
        while at < len(block) and count > 0:
            cut = block.find(b"\n", at, at + LONGEST)
            if cut < 0 and len(block) - at < LONGEST and at > 0:
                break  # the rest of this line is in the next block
            end = at + LONGEST if cut < 0 else cut + 1
            end = min(end, len(block))
            yield Line(place + at, place + end, block[at : cut if cut >= 0 else end])
            at, count = end, count - 1
        place += at


def _backward(file: BinaryIO, place: int, count: int) -> Iterator[Line]:
    """The lines that end at or before ``place``, the nearest first."""
    while count > 0 and place > 0:
        start = max(0, place - BLOCK)
        file.seek(start)
        block = file.read(place - start)
        at = len(block)
        while at > 0 and count > 0:
            last = block.endswith(b"\n") if at == len(block) else block[at - 1 : at] == b"\n"
            text_end = at - 1 if last else at
            floor = max(0, text_end - LONGEST)
            cut = block.rfind(b"\n", floor, text_end)
            if cut < 0 and floor == 0 and start > 0 and at < len(block):
                break  # its beginning is in the block before
            begin = floor if cut < 0 else cut + 1
            yield Line(start + begin, start + at, block[begin:text_end])
            at, count = begin, count - 1
        place = start + at


def _blocks(file: BinaryIO, place: int, back: bool, overlap: int) -> Iterator[tuple[int, bytes]]:
    """Blocks and where they begin, from ``place`` to one end of the file. They overlap, so that what lies
    across a border is found."""
    size = file.seek(0, os.SEEK_END)
    place = min(place, size)
    while (place > 0) if back else (place < size):
        begin = max(0, place - SEARCH_BLOCK) if back else place
        length = (place - begin if back else SEARCH_BLOCK) + overlap
        if back and place == size:
            length -= overlap
        file.seek(begin)
        yield begin, file.read(length)
        place = begin if back else begin + SEARCH_BLOCK


def _line_at(file: BinaryIO, place: int) -> Line:
    """The line that a byte belongs to."""
    begin = _line_begin(file, place, max(0, place - LONGEST), back=True)
    return next(_forward(file, begin, 1))


def _line_begin(file: BinaryIO, place: int, least: int, back: bool = False) -> int:
    """The nearest begin of a line at ``place`` or behind it; with ``back`` at it or before. Not below
    ``least``."""
    if place <= least:
        return least
    if back:
        file.seek(least)
        return least + file.read(place - least).rfind(b"\n") + 1
    file.seek(place - 1)
    cut = file.read(LONGEST).find(b"\n")
    return place if cut < 0 else place + cut


def _lines_with(pattern: re.Pattern[bytes], block: bytes, start: int) -> array[int]:
    """Where the lines of a block begin in which the pattern is found."""
    found = array("q")
    at = 0
    while match := pattern.search(block, at):
        found.append(start + block.rfind(b"\n", 0, match.start()) + 1)
        at = block.find(b"\n", match.start()) + 1
        if not at:
            break
    return found
