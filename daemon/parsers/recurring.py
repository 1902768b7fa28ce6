"""What the lines of a live log are about, by how often their shapes come: a program says the same
things again and again.

Rules decide by steps. But a run may report none, or a thread may go on talking beside one that
hangs, or a loop may catch every error and go on for ever. For these, each line without a report is
one of four: *usual* (its shape came before), *background* (its shape came between reports all the
time, so it says nothing about them), *complaint* (it says that something failed), or *fresh*.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from middlewatch.sentinels.kit import LineSigns, LogEvent, Observation, Step
from middlewatch.sentinels.kit.pace.announced_pause import goes_on_at

from ..system.bounded import bounded
from .learned import LearnedReports
from .reader import LogReader
from .samples import LOOK_BACK, is_sample
from .shapes import shape_of
from .text import decode, plain
from .turned import Turn, replaced, says_failed

MOST_BYTES = 16 * 1024
"""A larger piece is a backlog or the dump of something, and tells nothing about the rhythm."""
SHAPES = 192
"""Shapes kept; the older half is dropped when there are more. A log in use has some dozens."""
WIDE = 160
"""Bytes of a line that make its shape here."""
USUAL = 3
"""Times that a shape must have come to be usual."""
BACKGROUND = 0.75
"""Part of the repetitions of a shape that came with a report in between, from which the shape is
background. The lines of an evaluation come one after the other, so it is not."""

_COMPLAINT = re.compile(
    rb"(?-i:\b[A-Z]\w*(?:Error|Exception)\b(?!\W{0,3}[-+]?0\.))"
    rb"|(?<!0 )(?<!no )\b(?:\w*(?:error|exception)s?\b(?!\W{0,3}(?:rate\W{0,3})?[-+.]?0)"
    rb"|fail(?:ed|ures?|s|ing)?\b(?!\W{0,3}0)|skip(?:ped|ping|s)?\b(?!\W{0,3}0)|corrupt\w*|cannot\b|can't\b|could not\b"
    rb"|unable\b|retry\w*|retries\b|ignor(?:ed|ing)\b|discard\w*|dropp(?:ed|ing)\b|refused\b|timed? ?out\b|warn(?:ing)?\b"
    rb"|rejected\b|aborted\b|bad batch|giving up)",
    re.IGNORECASE,
)
_OTHER_SCRIPTS = tuple(
    w.encode() for w in ("失败", "错误", "异常", "跳过", "失敗", "エラー", "スキップ")
)
_OF_A_TOTAL = re.compile(rb"\d ?/ ?\d|\d ?%|\d of \d")
# What says that something is learnt: a bar without one goes on while every batch fails.
_MEASURED = re.compile(r"loss|rew|return|acc|perplexity|entropy")
_COUNT = re.compile(rb"(?<![\d.])\d{1,9}(?![\d.])")
ROW_OVER_S = 60.0
"""Seconds after which a row of complaints that does not go on no longer hides a shorter one."""
_TRACE = b"Traceback (most recent call last)"


class LiveReader(LogReader):
    """A reader of a log that is followed live, which also counts the lines without a report."""

    _recurring: RecurringLines | None = None
    _learned: LearnedReports | None = None
    _readable = False
    """The log has had a report that was read by its words."""

    @property
    def signs(self) -> LineSigns:
        """What the lines without a report were about, since the daemon began to read."""
        return self._recurring.signs if self._recurring else LineSigns()

    def feed(self, data: bytes, now: float) -> list[Observation]:
        """As :meth:`LogReader.feed`."""
        self._stumbled = False
        said = bounded(partial(super().feed, data, now))
        if said and any(isinstance(one, LogEvent) for one in said):
            said = bounded(partial(self._without_samples, said))
        if data and not self._readable:
            said += bounded(partial(self._learn, data, said, now))
        if data:
            if self.isolated is not None and not (self._stumbled or self.isolated.left_out(now)):
                self.isolated.worked(now)
            if self._recurring is None:
                self._recurring = RecurringLines()
            steps = [one for one in said if isinstance(one, Step)]
            measured = sum(any(map(_MEASURED.search, one.values)) for one in steps)
            self._recurring.add(data, len(steps), now, measured=measured)
        return said

    def _without_samples(self, said: Sequence[Observation]) -> list[Observation]:
        """Without the troubles that are only quoted, as what the model reads."""
        tail = [text for _, text in self.tail[-LOOK_BACK:]]
        return [one for one in said if not (isinstance(one, LogEvent) and is_sample(one, tail))]

    def _learn(self, data: bytes, said: Sequence[Observation], now: float) -> list[Step]:
        """Reports of unknown words, while the log has no others."""
        if any(isinstance(one, Step) and (one.values or one.number is not None) for one in said):
            self._readable, self._learned = True, None
            return []
        self._learned = self._learned or LearnedReports()
        return self._learned.feed(data, self.file, self.lines, now)


@dataclass(slots=True)
class _Shape:
    """How often the lines of one shape came."""

    complaint: bool
    count: int = 0
    between: int = 0
    """Times that a report had come since the line before."""
    reports: int = 0
    """Reports when it came last."""
    turn: Turn | None = None
    background: bool = False
    """As found when a report had come since the line before: a run that reports no more does not
    change it."""
    counts: list[int] = field(default_factory=list)
    """The numbers of the newest line."""
    row: int = 0
    """Lines in a row that counted on from the one before."""
    row_reports: int = 0
    """Measures that had come when the row began."""
    row_since: float = 0.0
    """Epoch seconds of its first line."""


class RecurringLines:
    """Counts the lines of one log by what they are about, while it is followed live."""

    def __init__(self) -> None:
        self._shapes: dict[bytes, _Shape] = {}
        self._reports = self._measured = 0
        self._in_trace = False
        self._signs = LineSigns()

    @property
    def signs(self) -> LineSigns:
        """What was counted so far."""
        return self._signs

    def add(self, data: bytes, reports: int, now: float, *, measured: int = 0) -> None:
        """Count new text. ``reports``: how many of its lines gave a report, ``measured``: a loss or another
        measure of what is learnt; ``now``: epoch seconds.

        Of a text with reports only the other lines are counted, as far as they can be told.
        """
        self._reports += reports
        self._measured += measured
        if len(data) > MOST_BYTES:
            self._signs = self._signs._replace(fresh=self._signs.fresh + 1, fresh_at=now)
            return
        lines = [line for line in re.split(rb"[\r\n]+", data) if line and not line.isspace()]
        only_reports = 0 < reports >= len(lines)
        if lines:
            later = 0.0 if only_reports else goes_on_at(lines[-1][:WIDE], now)
            self._signs = self._signs._replace(goes_on_at=later)
        if only_reports:
            return
        for line in lines:
            self._line(line, now)

    def _line(self, line: bytes, now: float) -> None:
        traced = self._traced(line)
        shape = shape_of(line[:WIDE])
        known = self._shapes.get(shape)
        if known is None:
            if len(self._shapes) >= SHAPES:
                for old in list(self._shapes)[: SHAPES // 2]:
                    del self._shapes[old]
            known = self._shapes[shape] = _Shape(_complains(shape), reports=self._reports)
        known.count += 1
        if not traced:
            self._turn(known, line, now)
            if known.complaint or (known.turn is not None and known.turn.failed):
                self._count_on(known, line, now)
        was = self._signs
        if self._reports > known.reports:
            known.between += 1
            known.reports = self._reports
            often = known.between >= BACKGROUND * (known.count - 1)
            known.background = often and known.count > USUAL
        if traced or known.complaint:
            complaint = _words(line) if known.complaint else was.complaint
            self._signs = was._replace(
                complaints=was.complaints + known.complaint,
                complaint_at=now,
                complaint=complaint,
            )
        elif known.background or self._waits(known, line):
            return
        elif known.count > USUAL:
            self._signs = was._replace(usual=was.usual + 1, usual_at=now, fresh_at=now)
        else:
            self._signs = was._replace(fresh=was.fresh + 1, fresh_at=now)

    def _waits(self, known: _Shape, line: bytes) -> bool:
        """True for a line that comes again and again since the last report and never came with reports:
        whoever waits says so (``waiting for shard 18 (40 s)``). One that counts to a total gets on."""
        again = self._reports > 0 and known.count > USUAL and not known.between
        return again and _OF_A_TOTAL.search(line) is None

    def _count_on(self, known: _Shape, line: bytes, now: float) -> None:
        """Follow complaints that count on: each of them is about what comes next, so that all fail."""
        counts = [int(digits) for digits in _COUNT.findall(line[:WIDE])]
        before, known.counts = known.counts, counts
        if not counts_on(before, counts):
            known.row = 0
            return
        if not known.row:
            known.row_reports, known.row_since = self._measured, now
        known.row += 1
        if known.row >= self._signs.row or now - self._signs.row_at > ROW_OVER_S:
            self._signs = self._signs._replace(
                row=known.row + 1,
                row_reports=self._measured - known.row_reports,
                row_since=known.row_since,
                row_at=now,
                row_text=_words(line),
            )

    def _turn(self, known: _Shape, line: bytes, now: float) -> None:
        """Follow how the line comes beside the reports, and what comes instead of another one."""
        turn = known.turn
        if turn is None:
            text = line[:WIDE]
            known.turn = Turn(says_failed(text), text, self._reports, self._reports, since=now)
            return
        turn.comes(self._reports)
        was = self._signs
        if not turn.failed:
            if was.instead and was.instead_of == _words(turn.text):  # it works again
                self._signs = was._replace(instead="", instead_times=0, instead_of=_words(line))
            return
        turns = [one.turn for one in self._shapes.values() if one.turn]
        gone = replaced(turn, turns, self._reports)
        if gone is not None:
            self._signs = was._replace(
                instead=_words(line),
                instead_times=turn.times,
                instead_since=turn.since,
                instead_of=_words(gone.text),
            )

    def _traced(self, line: bytes) -> bool:
        """Whether a line belongs to a traceback: its own lines are indented, the last one is not."""
        inside = self._in_trace
        if _TRACE in line:
            self._in_trace = True
            return True
        if inside and not line[:1].isspace():
            self._in_trace = False
        return inside


def counts_on(before: list[int], now: list[int]) -> bool:
    """True when a number of a line is one more than in the line before, or begins anew at 0 or 1."""
    pairs = list(zip(before, now, strict=False))
    return any(new - old == 1 or new <= 1 < old for old, new in pairs)


def _words(line: bytes) -> str:
    return plain(decode(line), 160)


def _complains(shape: bytes) -> bool:
    return _COMPLAINT.search(shape) is not None or any(word in shape for word in _OTHER_SCRIPTS)
