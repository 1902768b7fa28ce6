"""The one entry point: bytes of one log in, steps, events, phases and claims out.

Both the resident daemon (live tail) and ``middlewatch replay`` read logs through
:class:`LogReader`; what it says depends on the bytes and the times they are fed at, never
on how they were split.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from middlewatch.sentinels.kit import CheckpointSaved, LogEvent, Observation, Phase

from . import code, matcher, phases, tables
from .fields import evaluate
from .heads import rank_prefix
from .lines import LineCutter, RawLine
from .metrics import Report, examine
from .progress import Progress
from .shapes import ShapeCache, shape_of
from .signature import Signature
from .text import decode, plain
from .tracebacks import Raised, Tracebacks

TAIL_LINES = 200
MAX_MATCHED = 4096
"""Characters of a line that signatures look at."""


@dataclass(slots=True)
class _Known:
    """What is known about lines of one shape."""

    rows: tuple[int, ...] = ()
    phases: tuple[int, ...] = ()
    saved: bool = False
    trace: bool = False
    code: bool = False
    header: tables.Header | None = None
    report: Report | None = None
    only: Report | None = None
    """The report, when there is nothing else."""


_CODE = _Known(code=True)
_UNSEEN = _Known()


class LogReader:
    """Reads one log file; keeps what it needs to understand the next line, and no more."""

    def __init__(self, file: str, rank: int | None = None) -> None:
        self.file = file
        self.rank = rank
        """Rank of the process that writes the file; a rank in a line's prefix wins over it."""
        self.bytes = 0
        """Bytes fed so far."""
        self.tail: deque[tuple[int, str]] = deque(maxlen=TAIL_LINES)
        """The last lines with their numbers, each at most 400 characters. Of a line that is
        redrawn again and again only the newest state is kept."""
        self._cutter = LineCutter()
        self._shapes: ShapeCache[_Known | None] = ShapeCache()
        self._progress = Progress(file)
        self._tracebacks = Tracebacks()
        self._header: tables.Header | None = None
        self._heat = 0

    @property
    def lines(self) -> int:
        """Complete lines (``\\n``) so far."""
        return self._cutter.number - 1

    @property
    def clipped(self) -> int:
        """Lines that were longer than 64 KiB and lost their end."""
        return self._cutter.clipped

    def feed(self, data: bytes, now: float) -> list[Observation]:
        """What the lines that ``data`` completes say, in order. ``now`` is epoch seconds."""
        self.bytes += len(data)
        return self._read(self._cutter.feed(data), now)

    def finish(self, now: float) -> list[Observation]:
        """The file has ended: read the last line even without its newline."""
        said = self._read(self._cutter.flush(), now)
        for raised in self._tracebacks.finish():
            said += self._raised(raised, raised.head_line, self.rank, now)
        return said

    def _read(self, cut: list[RawLine], now: float) -> list[Observation]:
        said: list[Observation] = []
        tail, tracebacks = self.tail, self._tracebacks
        for number, piece, ended in cut:
            shape = shape_of(piece)
            known = self._shapes.get(shape, _UNSEEN)
            if known is _UNSEEN:
                known = self._shapes.older(shape, _UNSEEN)
                if known is _UNSEEN:
                    known = self._judge(piece)
                    self._shapes.put(shape, known)
            text = decode(piece)
            if tail and tail[-1][0] == number:
                tail.pop()
            tail.append((number, plain(text)))
            report = None if known is None else known.only
            if report is not None and not self._heat and not tracebacks.open:
                self._report(report, piece, text, number, ended, now, said)
            elif known is not None or self._heat or self._tracebacks.active or self._progress.open:
                self._tell(known or _UNSEEN, piece, text, number, ended, now, said)
        return said

    def _judge(self, piece: bytes) -> _Known | None:
        """Everything that can be said about a line's shape."""
        text = decode(piece)[:MAX_MATCHED]
        _, begin, _ = rank_prefix(text)
        rest = text[begin:]
        known = _Known(trace=Tracebacks.concerns(rest))
        if known.trace:
            return known
        if code.is_code(rest):
            return _CODE
        known.rows = matcher.candidates(rest)
        known.phases = phases.phase_candidates(rest)
        known.saved = phases.may_be_saved(rest)
        known.header = tables.header_of(rest)
        if known.header is None and not code.is_settings(rest):
            known.report = examine(decode(piece), self._header)
        if known == _UNSEEN:
            return None
        if known == _Known(report=known.report):
            known.only = known.report
        return known

    def _tell(
        self,
        known: _Known,
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
            self._heat = min(self._heat + code.HEAT_OF_CODE, code.HEAT_MOST)
            return
        listing = self._heat >= code.HEAT_IN_CODE
        self._heat = max(0, self._heat - 1)
        if listing and code.may_be_code(rest):
            return
        if known.rows:
            said += (
                self._event(row, details, rest, number, rank, now)
                for row, details in matcher.matches(rest, known.rows)
            )
        if known.header is not None:
            self._set_header(known.header)
        elif known.report is not None:
            self._report(known.report, piece, text, number, ended, now, said)
        elif self._progress.open:
            self._progress.other_line(text)
        if known.saved:
            claim = phases.saved(rest)
            if claim is not None:
                said.append(Phase(now, "save", plain(text), self.file, number))
                said.append(CheckpointSaved(now, *claim, self.file, number))
                return
        if known.phases:
            phase = phases.phase_of(rest, known.phases)
            if phase is not None:
                said.append(Phase(now, phase, plain(text), self.file, number))

    def _report(
        self,
        report: Report | None,
        piece: bytes,
        text: str,
        number: int,
        ended: bool,
        now: float,
        said: list[Observation],
    ) -> None:
        values = None if report is None else report.read(piece)
        if values is None:
            report = examine(text, self._header)
            values = None if report is None else evaluate(text, report.fields)
        if report is not None and values is not None:
            said += self._progress.report(report, values, now, number, ended, self.rank, text)

    def _set_header(self, header: tables.Header) -> None:
        """Rows mean something else now: forget what was known about them."""
        if header != self._header:
            self._header = header
            self._shapes.clear()

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
            said += self._raised(raised, number if raised.text else raised.head_line, rank, now)
        return belongs

    def _raised(self, raised: Raised, number: int, rank: int | None, now: float) -> list[LogEvent]:
        """The events of one traceback: its exact class if there is one, else the exception."""
        details: dict[str, object] = {"traceback_line": raised.head_line}
        if raised.exception:
            details |= {"exception": raised.exception, "message": plain(raised.message, 300)}
        if raised.chained:
            details["chained"] = True
        text = raised.text or raised.head_text
        found = matcher.matches(text, matcher.candidates(text)) if raised.text else []
        exact = [(row, more) for row, more in found if row.severity != "info"]
        said: list[LogEvent] = []
        # a script that started another one: its exception is a trouble of its own
        if raised.ignored or not exact or raised.exception == "CalledProcessError":
            said.append(self._exception(raised, text, details, number, rank, now))
        if not raised.ignored:
            said += (
                self._event(row, details | more, text, number, rank, now) for row, more in exact
            )
        return said

    def _exception(
        self,
        raised: Raised,
        text: str,
        details: Mapping[str, object],
        number: int,
        rank: int | None,
        now: float,
    ) -> LogEvent:
        return LogEvent(
            at=now,
            trouble="python_exception",
            role="confirmation" if raised.ignored else "root",
            severity="info" if raised.ignored else "critical",
            fatal=not raised.ignored,
            text=plain(text),
            file=self.file,
            line=number,
            rank=rank,
            signature="traceback",
            details=details,
        )

    def _event(
        self,
        row: Signature,
        details: Mapping[str, object],
        text: str,
        number: int,
        rank: int | None,
        now: float,
    ) -> LogEvent:
        named = details.get("rank")
        return LogEvent(
            at=now,
            trouble=row.trouble,
            role=row.role,
            severity=row.severity,
            fatal=row.fatal,
            text=plain(text),
            file=self.file,
            line=number,
            rank=named if isinstance(named, int) else rank,
            signature=row.id,
            details=details,
        )

    def save(self) -> dict[str, Any]:
        """State as plain JSON values, for :meth:`restore` after a restart."""
        header = self._header
        return {
            "bytes": self.bytes,
            "cutter": self._cutter.save(),
            "progress": self._progress.save(),
            "tracebacks": self._tracebacks.save(),
            "header": None if header is None else [header.mark, *header.names],
            "heat": self._heat,
        }

    @classmethod
    def restore(cls, file: str, state: Mapping[str, Any], rank: int | None = None) -> LogReader:
        """A reader that continues where ``state`` was saved; bad state begins afresh."""
        reader = cls(file, rank)
        cutter, progress, header = (state.get(k) for k in ("cutter", "progress", "header"))
        if not isinstance(cutter, dict):
            return reader
        reader._cutter.restore(cutter)
        reader.bytes = state["bytes"] if type(state.get("bytes")) is int else 0
        if isinstance(progress, dict):
            reader._progress.restore(progress)
        reader._tracebacks.restore(state.get("tracebacks"))
        if isinstance(header, list) and len(header) > 2 and all(isinstance(c, str) for c in header):
            reader._header = tables.Header(header[0], tuple(header[1:]))
        heat = state.get("heat")
        reader._heat = heat if type(heat) is int else 0
        return reader
