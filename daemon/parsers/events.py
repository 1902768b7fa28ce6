"""Read a log for its events only: no metrics, at the speed of a text search.

For finished logs of many gigabytes. Events, phases and claims are the same as those of
:class:`.reader.LogReader`; metrics are skipped. With one of the optional engines, Python code only
sees lines that may hold an event, a phase or a claim.
"""

from __future__ import annotations

from collections.abc import Iterable

from middlewatch.sentinels.kit import Observation

from .lines import RawLine
from .numbers import program_text
from .prefilter import AtomFinder
from .reader import LogReader
from .shape_facts import UNSEEN, ShapeFacts
from .shapes import MAX_BYTES, zeroed
from .text import decode

NEWLINE = 0x0A


class EventReader(LogReader):
    """Reads the events of one log. It keeps no :attr:`tail`."""

    def __init__(
        self,
        file: str,
        rank: int | None = None,
        *,
        shape_bytes: int = MAX_BYTES,
        finder: AtomFinder | None = None,
    ) -> None:
        super().__init__(file, rank, shape_bytes=shape_bytes)
        self._finder = finder
        self._text = b""
        self._begin = 0
        """Offset in ``_text`` of the line that is being read."""
        self._one_by_one = False
        self._told_to = (0, self._code)
        """(line number up to which all program text is known, numbers of its last two lines)."""

    def _judge_numbers(self, known: ShapeFacts, rest: str, piece: bytes) -> None:
        """Skipped: no metrics are read."""

    def _keep(self, lines: Iterable[tuple[int, bytes]]) -> None:
        """Skipped: the tail of a finished log is not needed."""

    def _read_block(self, first: int, text: bytes, now: float, said: list[Observation]) -> None:
        if self._finder is None:
            super()._read_block(first, text, now, said)
            return
        updates = b"\r" in text
        pieces = text.replace(b"\r", b"\n") if updates else text
        tracebacks = self._tracebacks
        self._text = text
        at, number = 0, first
        for hot in self._finder.find(text):
            if hot < at:
                continue
            if tracebacks.active:
                at, number = self._follow(pieces, at, number, now, said)
                if hot < at:
                    continue
            begin = pieces.rfind(b"\n", at, hot) + 1 or at
            number += text.count(b"\n", at, begin)
            at = pieces.find(b"\n", hot) + 1
            piece = pieces[begin : at - 1]
            known = self._known(piece)
            ended = not updates or text[at - 1] == NEWLINE
            if known is not None:
                self._begin = begin
                self._tell(known, piece, decode(piece), number, ended, now, said)
            number += ended
        if tracebacks.active:
            self._follow(pieces, at, number, now, said)
        last = self._cutter.number - 1
        self._told_to = (last, self._listing_before(len(text), last + 1))

    def _read_pieces(self, cut: list[RawLine], now: float, said: list[Observation]) -> None:
        if self._finder is None:  # every line is read, so program text is followed as usual
            super()._read_pieces(cut, now, said)
            return
        self._one_by_one = True
        self._code = self._told_to[1]
        super()._read_pieces(cut, now, said)
        self._one_by_one = False
        if cut:
            self._told_to = (cut[-1][0] - (not cut[-1][2]), self._code)

    def _follow(
        self, pieces: bytes, at: int, number: int, now: float, said: list[Observation]
    ) -> tuple[int, int]:
        """Read every line from ``at`` on while a traceback is open: (offset, line number)."""
        self._code = self._listing_before(at, number)
        self._told_to = (number - 1, self._code)
        while self._tracebacks.active and at < len(pieces):
            end = pieces.find(b"\n", at)
            piece = pieces[at:end]
            ended = self._text[end] == NEWLINE
            if piece and not piece.isspace():
                self._begin = at
                known = self._known(piece)
                self._tell(known or UNSEEN, piece, decode(piece), number, ended, now, said)
            at, number = end + 1, number + ended
            self._told_to = (number - 1, self._code)
        return at, number

    def _known(self, piece: bytes) -> ShapeFacts | None:
        known = self._lines.known.get(zeroed(piece), UNSEEN)
        return self._look_up(piece) if known is UNSEEN else known

    def _in_listing(self, rest: str, number: int) -> bool:
        if self._finder is None or self._one_by_one:
            return super()._in_listing(rest, number)
        if not program_text.may_be_code(rest):
            return False
        return number - self._listing_before(self._begin, number)[0] <= program_text.WINDOW

    def _listing_before(self, begin: int, number: int) -> tuple[int, int]:
        """Numbers of the last two lines of program text before the piece at ``begin``."""
        text, (told, before) = self._text, self._told_to
        found: list[int] = []
        end = text.rfind(b"\n", 0, begin)
        line = number - 1
        while end >= 0 and line > told and number - line <= program_text.WINDOW and len(found) < 2:
            start = text.rfind(b"\n", 0, end) + 1
            piece = text[start:end].rpartition(b"\r")[2]
            known = self._known(piece) if piece and not piece.isspace() else None
            if known is not None and known.code:
                found.append(line)
            end = start - 1
            line -= 1
        older = [*found, before[1], before[0]]
        return older[1], older[0]
