"""The entry point: turns the bytes of one log into steps, events, phases and claims.

Both the resident daemon (live tail) and ``middlewatch replay`` read logs with :class:`LogReader`.
Its results depend on the bytes and on the times at which they are fed, not on how they are split.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeVar

from middlewatch.sentinels.kit import CheckpointSaved, Observation, Phase, codec

from ..system.isolation import Isolated
from . import matcher, phases
from .frameworks import Recogniser
from .lines import LineCutter, RawLine, Where, places
from .log_events import LogPosition, of_line, of_raised
from .matcher import NONE, hints_of
from .numbers import program_text as code
from .numbers import tables
from .numbers.fields import Values, evaluate
from .numbers.metrics import LineReport, examine
from .numbers.prefixes import rank_prefix
from .progress import Progress
from .shape_facts import CODE, ROW, UNSEEN, ShapeFacts, counting, is_row
from .shapes import MAX_BYTES, ShapeCache, shape_of, zeroed
from .text import decode, plain
from .tracebacks import Tracebacks

R = TypeVar("R", bound="LogReader")
TAIL_LINES, MAX_MATCHED = 200, 4096
"""Lines that are kept of the end; characters of a line that signatures are searched in."""
_LONG_AGO = -(1 << 30)


@dataclass(slots=True)
class _Place:
    """The saved state of a reader, apart from its parts."""

    bytes: int = 0
    header: tables.Header | None = None
    code: tuple[int, int] = (_LONG_AGO, _LONG_AGO)


class LogReader:
    """Reads one log file; keeps only what it needs to understand the next line.

    ``shape_bytes``: limit on the memory for line shapes. Little is enough for a line a second;
    gigabytes are read faster with more.
    """

    def __init__(self, file: str, rank: int | None = None, *, shape_bytes: int = MAX_BYTES) -> None:
        self.file = file
        self.rank = rank
        """Rank of the process that writes the file; a rank in the prefix of a line comes first."""
        self.bytes = 0
        """Bytes fed so far."""
        self.left_out = 0
        """Reports that are in the log and that it did not give (:mod:`.sampled`)."""
        self.isolated: Isolated | None = None
        """Takes mistakes of ours in a line; ``None``: they are raised."""
        self._stumbled = False
        self._cutter = LineCutter()
        self._lines: ShapeCache[ShapeFacts | None] = ShapeCache(shape_bytes)
        """By the line with ``0`` for every digit: most lines are found here already."""
        self._shapes: ShapeCache[ShapeFacts | None] = ShapeCache(shape_bytes)
        self._progress = Progress(file)
        self._tracebacks = Tracebacks()
        self._program = Recogniser()
        self._header: tables.Header | None = None
        self._code = (_LONG_AGO, _LONG_AGO)
        """Numbers of the last two lines of program text."""
        self._tail: deque[tuple[int, bytes]] = deque(maxlen=TAIL_LINES)

    @property
    def framework(self) -> str | None:
        """The framework that writes the log, if a line has shown it."""
        return self._program.name

    @property
    def lines(self) -> int:
        """Complete lines (``\\n``) so far."""
        return self._cutter.number - 1

    @property
    def clipped(self) -> int:
        """Number of lines that were cut because they were longer than 64 KiB."""
        return self._cutter.clipped

    @property
    def tail(self) -> list[tuple[int, str]]:
        """(number, text) of the last lines, at most 400 characters each, without blank ones.

        Of a line that is redrawn only the newest state is kept.
        """
        return [(n, plain(decode(p))) for n, p in self._tail]

    def feed(self, data: bytes, now: float) -> list[Observation]:
        """The observations from lines complete with ``data``, in order. ``now``: epoch seconds."""
        self.bytes += len(data)
        said: list[Observation] = []
        if not data:
            return said
        if self.isolated is not None and self.isolated.left_out(now):
            self._cutter.feed(data)  # the numbers of the lines go on
            return said
        number = self._cutter.line(data)
        if number:
            if not self._read_easy(number, data[:-1], now, said):
                self._read_block(number, data, now, said)
            return said
        first, text, rest = self._cutter.block(data)
        if text:
            self._read_block(first, text, now, said)
        if rest:
            self._read_pieces(self._cutter.feed(rest), now, said)
        return said

    def finish(self, now: float) -> list[Observation]:
        """At the end of the file: read the last line even without its newline."""
        said: list[Observation] = []
        self._read_pieces(self._cutter.flush(), now, said)
        for raised in self._tracebacks.finish():
            line = raised.frame_line or raised.head_line
            said += of_raised(raised, LogPosition(now, self.file, line, self.rank))
        return said

    def _read_block(self, first: int, text: bytes, now: float, said: list[Observation]) -> None:
        """Read lines, each with its newline, numbered from ``first`` on."""
        place: Where | None = None
        if b"\r" in text:
            place = places(first, text)
            text = text.replace(b"\r", b"\n")
        pieces = text.split(b"\n")
        pieces.pop()
        self._read(pieces, text, first, place, now, said)
        self._keep(
            (place(i)[0] if place else first + i, pieces[i])
            for i in range(max(0, len(pieces) - TAIL_LINES), len(pieces))
        )

    def _read_easy(self, number: int, line: bytes, now: float, said: list[Observation]) -> bool:
        try:
            return self._read_line(number, line, now, said)
        except Exception:
            if self.isolated is None:
                raise
            return False  # it is read once more, alone

    def _read_line(self, number: int, line: bytes, now: float, said: list[Observation]) -> bool:
        """Read one line of a live log if it is easy: empty, or a plain report. Else False, and
        nothing is done."""
        known = self._lines.known.get(zeroed(line), UNSEEN)
        if self._tracebacks.active or not line or line.isspace():
            return False
        if known is None or known is ROW:
            if self._progress.open:
                return False
        elif known.plan is None or number - self._code[0] <= code.WINDOW:
            return False
        else:
            values = known.plan.read(line)
            if values is None or not self._progress.takes_plain(known.report, values):
                return False
            said += self._progress.plain_step(values, now, number, self.rank, line)
        tail = self._tail
        if tail and tail[-1][0] == number:
            tail.pop()
        tail.append((number, line))
        return True

    def _read_pieces(self, cut: list[RawLine], now: float, said: list[Observation]) -> None:
        """Read lines and updates one by one."""
        if cut:
            pieces = [piece for _, piece, _ in cut]
            places = [(number, ended) for number, _, ended in cut]
            self._read(pieces, b"\n".join(pieces), 0, places.__getitem__, now, said)
            self._keep((number, piece) for number, piece, _ in cut)

    def _keep(self, lines: Iterable[tuple[int, bytes]]) -> None:
        tail = self._tail
        for line in lines:
            if line[1] and not line[1].isspace():
                if tail and tail[-1][0] == line[0]:
                    tail.pop()
                tail.append(line)

    def _read(
        self,
        pieces: list[bytes],
        text: bytes,
        first: int,
        place: Where | None,
        now: float,
        said: list[Observation],
    ) -> None:
        """Read pieces by their shapes. ``text``: the pieces, joined with newlines. Without ``place``
        they are consecutive whole lines, numbered from ``first`` on."""
        progress, tracebacks = self._progress, self._tracebacks
        tracing = tracebacks.active
        active = tracing or progress.open
        number, ended = first, True
        shapes = zeroed(text).split(b"\n")
        known_lines = map(self._lines.known.get, shapes, repeat(UNSEEN))
        for i, (piece, known) in enumerate(zip(pieces, known_lines, strict=False)):
            try:
                if known is UNSEEN:
                    known = self._look_up(piece)
                if known is None or known is ROW:
                    if not active or not piece or piece.isspace():
                        continue
                    known = UNSEEN
                if place is None:
                    number = first + i
                else:
                    number, ended = place(i)
                plan = known.plan
                if plan is not None and not tracing and number - self._code[0] > code.WINDOW:
                    report, values = known.report, plan.read(piece)
                    if values is not None and ended and progress.takes_plain(report, values):
                        said += progress.plain_step(values, now, number, self.rank, piece)
                        active = True
                        continue
                    self._report(report, values, decode(piece), number, ended, now, said)
                elif known is not CODE or tracing:
                    self._tell(known, piece, decode(piece), number, ended, now, said)
                    tracing = tracebacks.active
                elif ended:
                    self._code = (self._code[1], number)
                active = tracing or progress.open
            except Exception as error:  # noqa: BLE001 - only this line is lost
                self._failed(error, piece, now)
                tracing = tracebacks.active
                active = tracing or progress.open

    def _failed(self, error: Exception, piece: bytes, now: float) -> None:
        """A mistake of ours in one line: the others are read, and none of its shape is tried again."""
        if self.isolated is None:
            raise error
        self._lines.remember(zeroed(piece), None)
        self._shapes.remember(shape_of(piece), None)
        self.isolated.failed(error, now)
        self._stumbled = True

    def _look_up(self, piece: bytes) -> ShapeFacts | None:
        """What is known about the shape of a line that is not found with its digits as ``0``."""
        shape = shape_of(piece)
        known = self._shapes.known.get(shape, UNSEEN)
        if known is UNSEEN:
            known = self._judge(piece)
            self._shapes.remember(shape, known)
        self._lines.remember(zeroed(piece), known)
        return known

    def _judge(self, piece: bytes) -> ShapeFacts | None:
        """Work out everything about the shape of a line; ``None`` if there is nothing in it."""
        text = decode(piece)[:MAX_MATCHED]
        _, begin, _ = rank_prefix(text)
        rest = text[begin:]
        found = hints_of(piece)
        known = ShapeFacts(trace=found.trace and Tracebacks.concerns(rest))
        if known.trace:
            return known
        if code.is_code(rest):
            return CODE
        if found is not NONE:
            # a pattern that does not depend on digits matches all lines of a shape or none
            shape = decode(shape_of(rest.encode("utf-8", "surrogateescape")))
            known.rows = tuple(i for i in found.rows if matcher.may_match(shape, i))
            known.phases = tuple(i for i in found.phases if phases.phase_of(shape, (i,)))
            known.saved = found.saved and phases.saved(shape) is not None
        self._judge_numbers(known, rest, piece)
        if known == UNSEEN:
            return None
        if known == ROW:
            return ROW
        if known.report is not None and known == ShapeFacts(report=known.report, row=known.row):
            known.plan = known.report.plan
        return known

    def _judge_numbers(self, known: ShapeFacts, rest: str, piece: bytes) -> None:
        known.row = tables.may_be_row(rest)
        self._program.examine_line(rest)
        known.header = tables.header_of(rest)
        if known.header is None and not code.is_settings(rest):
            known.report = counting(examine(decode(piece), self._header), rest)

    def _in_listing(self, rest: str, number: int) -> bool:
        """Whether the line belongs to program text that is being printed."""
        return number - self._code[0] <= code.WINDOW and code.may_be_code(rest)

    def _tell(
        self,
        known: ShapeFacts,
        piece: bytes,
        text: str,
        number: int,
        ended: bool,
        now: float,
        said: list[Observation],
    ) -> None:
        rank, begin, _ = rank_prefix(text)
        if rank is None:
            rank = self.rank
        rest = text[begin : begin + MAX_MATCHED]
        if (known.trace or self._tracebacks.active) and self._in_traceback(
            text[:begin], rest, number, rank, now, said
        ):
            return
        if known.code:
            if ended:
                self._code = (self._code[1], number)
            return
        if self._in_listing(rest, number):
            return
        if known.rows:
            said += of_line(rest, known.rows, LogPosition(now, self.file, number, rank))
        if known.header is not None:
            self._set_header(known.header)
        elif known.report is not None:
            self._report(known.report, known.report.read(piece), text, number, ended, now, said)
        elif self._progress.open:
            said += self._progress.other_line(text, now, rank)
        claimed = False
        if known.saved:
            claim = phases.saved(rest)
            if claim is not None:
                claimed = True
                if not phases.is_over(rest):
                    said.append(Phase(now, "save", plain(text), self.file, number))
                said.append(CheckpointSaved(now, *claim, self.file, number))
        if known.phases:
            phase = phases.phase_of(rest, known.phases)
            if phase is not None and (phase == "done" or not claimed):
                said.append(Phase(now, phase, plain(text), self.file, number))

    def _report(
        self,
        report: LineReport | None,
        values: Values | None,
        text: str,
        number: int,
        ended: bool,
        now: float,
        said: list[Observation],
    ) -> None:
        if values is None:
            report = examine(text, self._header)
            values = None if report is None else evaluate(text, report.fields)
        if report is not None and values is not None:
            said += self._progress.report(report, values, now, number, ended, self.rank, text)

    def _set_header(self, header: tables.Header) -> None:
        """Set the table header, and drop what was known about rows if it is a new one."""
        if header != self._header:
            self._header = header
            self._lines.forget(is_row)
            self._shapes.forget(is_row)

    def _in_traceback(
        self,
        prefix: str,
        rest: str,
        number: int,
        rank: int | None,
        now: float,
        said: list[Observation],
    ) -> bool:
        belongs, raised = self._tracebacks.feed(prefix.strip()[:80], rest, number)
        if raised is not None:
            line = number if raised.text else raised.frame_line or raised.head_line
            said += of_raised(raised, LogPosition(now, self.file, line, rank))
        return belongs

    def save(self) -> dict[str, Any]:
        """State as plain JSON values, for :meth:`restore` after a restart."""
        saved: dict[str, Any] = codec.dump(_Place(self.bytes, self._header, self._code))
        return saved | {name: codec.dump(part) for name, part in self._parts()}

    def _parts(self) -> tuple[tuple[str, Any], ...]:
        """Parts with a state of their own; if one is damaged, only that part begins afresh."""
        cutter, progress = ("cutter", self._cutter), ("progress", self._progress)
        return cutter, progress, ("tracebacks", self._tracebacks)

    @classmethod
    def restore(cls: type[R], file: str, state: Mapping[str, Any], rank: int | None = None) -> R:
        """A reader that continues where ``state`` was saved; a damaged part begins afresh."""
        reader = cls(file, rank)
        place = codec.load_or_new(_Place, state)
        reader.bytes, reader._header, reader._code = place.bytes, place.header, place.code
        for name, part in reader._parts():
            with suppress(codec.Unfit):
                codec.fill(part, state.get(name))
        return reader
