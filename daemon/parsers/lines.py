"""Split the bytes of a log into numbered lines.

Lines are cut at ``\\n`` and counted from 1. A carriage return ends an *update* of a line: a
progress bar that is redrawn for hours is one line, and every redraw is returned with the number
of that line. ANSI escape sequences are removed. The result does not depend on how the stream is
split into chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from middlewatch.sentinels.kit.codec import UNSAVED

RawLine = tuple[int, bytes, bool]
"""(line number, cleaned bytes without terminator, ended): ``ended`` is False for an update, which
ends with a carriage return. Blank pieces are left out."""

MAX_LINE_BYTES = 64 * 1024
"""Longer pieces are clipped. No longer line of a trainer matters here; tokenised samples and base64
images in logs reach megabytes."""

_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    rb"|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?"  # window titles, hyperlinks
    rb"|[PX^_][^\x1b\r\n]*(?:\x1b\\)?"  # device control strings
    rb"|[ -/]*[0-~])?"
)
_BREAK = re.compile(rb"\r*\n|\r+(?=[^\r\n])")

_NO_BREAKS = bytes(c for c in range(256) if c not in b"\r\n")
Where = Callable[[int], tuple[int, bool]]
"""Index of a piece -> (line number, ended)."""


def places(first: int, text: bytes) -> Where:
    """Line numbers of the pieces of a text with carriage returns; fast if asked in rising order."""
    breaks = text.translate(None, _NO_BREAKS)
    last, number = 0, first

    def place(i: int) -> tuple[int, bool]:
        nonlocal last, number
        if i < last:
            last, number = 0, first
        number += breaks.count(b"\n", last, i)
        last = i
        return number, breaks[i] == 0x0A

    return place


@dataclass(eq=False)
class LineCutter:
    """Cuts a byte stream into lines; holds at most one unfinished piece of ``limit`` bytes."""

    limit: int = field(default=MAX_LINE_BYTES, metadata=UNSAVED)
    number: int = 1
    """Number of the line that the next byte belongs to."""
    clipped: int = 0
    """Pieces that were longer than the limit."""
    partial: bytes = b""
    """The unfinished piece, never longer than the limit."""
    _dropping: bool = False
    _returned: bool = False
    """The last byte was a carriage return; a newline may follow."""

    def feed(self, data: bytes) -> list[RawLine]:
        """All pieces that are complete with ``data``, in order."""
        cut: list[RawLine] = []
        if not data:
            return cut
        if self._returned:
            self._returned = False
            data = b"\r" + data
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            self._feed_updates(data, cut)
        else:
            self._feed_newlines(data, cut)
        return cut

    def line(self, data: bytes) -> int:
        """Take in ``data`` if it is exactly one plain line: its number, or 0 if it is not.

        This is the usual case for a live log.
        """
        if (
            data.find(b"\n") != len(data) - 1
            or len(data) > self.limit
            or b"\r" in data
            or b"\x1b" in data
            or self.partial
            or self._dropping
            or self._returned
        ):
            return 0
        self.number += 1
        return self.number - 1

    def block(self, data: bytes) -> tuple[int, bytes, bytes]:
        """(number of the first line, text of the lines complete with ``data``, rest of ``data``).

        The fast way for many lines: in the text each line ends with a newline, and carriage
        returns separate the updates of a line. The text is empty where a piece is too long.
        The rest, which may be all of ``data``, must then be given to :meth:`feed`.
        """
        end = data.rfind(b"\n") + 1
        if not end or self._dropping:
            return self.number, b"", data
        returned = b"\r" if self._returned else b""
        text = self.partial + returned + data[:end]
        if b"\r" in text:
            while b"\r\n" in text:
                text = text.replace(b"\r\n", b"\n")
            long = self._has_long_line(text.replace(b"\r", b"\n"))
        else:
            long = self._has_long_line(text)
        if long:
            return self.number, b"", data
        first = self.number
        self.number += text.count(b"\n")
        self.partial = b""
        self._returned = False
        return first, self._strip(text), data[end:]

    def _has_long_line(self, text: bytes) -> bool:
        """Whether a piece is longer than the limit. Fast: it jumps as far as the limit allows."""
        at, size, limit = 0, len(text), self.limit
        while size - at > limit + 1:
            newline = text.rfind(b"\n", at, at + limit + 1)
            if newline < 0:
                return True
            at = newline + 1
        return False

    def flush(self) -> list[RawLine]:
        """At the end of the stream: the unfinished last piece, if there is one."""
        cut: list[RawLine] = []
        self._returned = False
        self._end_piece(b"", True, cut)
        return cut

    def _feed_newlines(self, data: bytes, cut: list[RawLine]) -> None:
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._hold(head)
            return
        self._end_piece(head, True, cut)
        number = self.number + 1
        pieces = rest.split(b"\n")
        tail = pieces.pop()
        limit = self.limit
        escapes = b"\x1b" in rest
        for piece in pieces:
            if piece and not piece.isspace():
                if escapes or len(piece) > limit:
                    piece = self._clean(piece)
                if piece and not piece.isspace():
                    cut.append((number, piece, True))
            number += 1
        self.number = number
        self._hold(tail)

    def _feed_updates(self, data: bytes, cut: list[RawLine]) -> None:
        if data.endswith(b"\r"):
            self._returned = True
            data = data.rstrip(b"\r")
        start = 0
        for match in _BREAK.finditer(data):
            ended = match.group().endswith(b"\n")
            self._end_piece(data[start : match.start()], ended, cut)
            if ended:
                self.number += 1
            start = match.end()
        self._hold(data[start:])

    def _end_piece(self, end: bytes, ended: bool, cut: list[RawLine]) -> None:
        if self.partial or self._dropping:
            self._hold(end)
            end = self._strip(self.partial)
            self.partial = b""
            self._dropping = False
        elif end:
            end = self._clean(end)
        if end and not end.isspace():
            cut.append((self.number, end, ended))

    def _hold(self, data: bytes) -> None:
        """Add to the unfinished piece; bytes beyond the limit are dropped, which counts once."""
        if not data or self._dropping:
            return
        room = self.limit - len(self.partial)
        self.partial += data[:room]
        if len(data) > room:
            self.clipped += 1
            self._dropping = True

    def _clean(self, piece: bytes) -> bytes:
        if len(piece) > self.limit:
            self.clipped += 1
            piece = piece[: self.limit]
        return self._strip(piece)

    @staticmethod
    def _strip(piece: bytes) -> bytes:
        return _ANSI.sub(b"", piece) if b"\x1b" in piece else piece

    def restored(self) -> None:
        """Check a restored state: raises ValueError for a bad number, clips the piece."""
        if self.number < 1:
            raise ValueError("a line has no such number")
        self.partial = self.partial[: self.limit]
