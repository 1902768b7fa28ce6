"""Several finished logs of one run, judged together: its ranks, or the parts of a rotated log.

Each log has its own reader. The observations of all go into one history, in the order in which the
logs are merged (:mod:`.interleave`). In this history the number of a line contains its place in the
merged order, the stream, and the line within the stream: see :class:`_Turn`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from middlewatch.sentinels.kit import CheckpointSaved, LogEvent, Observation, Phase, Step
from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.last_words import LastWords

from ..parsers.backlog import OpenReader, everything
from ..parsers.last_words import last_words
from ..parsers.log_events import of_last_words
from ..parsers.timestamps import SAMPLE
from .log_stream import LogStream
from .one_log import FileLine, Listen, LogJudge, Record, ReplayRules, Seen, finding, report
from .verdict import Completion, Ending, LogTrouble, judge

_LINE_BITS = 40
_STREAM_BITS = 24
WATCHED = 3
"""Reports of a rank that count after a trouble in its log: two show that the rank went on."""


class _Turn(NamedTuple):
    """Which stream is being read, and its turn: the upper bits of line numbers in the history."""

    turn: int
    stream: int

    def number(self, line: int) -> int:
        """The number in the history of a line of this stream; it grows in the merged order."""
        place = (self.stream << _LINE_BITS) | line
        return (self.turn << (_LINE_BITS + _STREAM_BITS)) | place


def tells_steps(sample: bytes) -> bool:
    """Whether the first bytes of a log report training steps."""
    seen = everything("").feed(sample[:SAMPLE], 0.0)
    return any(isinstance(one, Step) and one.number is not None for one in seen)


class _Reading:
    """One stream and its reader."""

    def __init__(self, stream: LogStream, open_reader: OpenReader) -> None:
        self.stream = stream
        self.reader = open_reader(stream.name, stream.rank)
        self.watched = 0
        """So many of the next reports count, although the steps are those of another rank."""
        self.ended = False

    def finish(self) -> list[Observation]:
        """The observations of its last line; none when called again."""
        ended, self.ended = self.ended, True
        return [] if ended else self.reader.finish(0.0)


class RunReplay:
    """All logs of one run from their first bytes to their last."""

    def __init__(
        self, name: str, streams: list[LogStream], rules: ReplayRules, listen: Listen | None = None
    ) -> None:
        self.name = name
        self.case = LogJudge(name, rules)
        self.troubles: list[tuple[LogTrouble, FileLine]] = []
        """After the end: every trouble and where it first shows, in the order of the run."""
        self.ending = Ending("cut", None, None)
        self.finished_at: FileLine | None = None
        self._readings = [_Reading(stream, rules.open_reader) for stream in streams]
        self._turn = _Turn(0, -1)
        self._leader = math.inf
        self._listen = listen
        self._errors: list[Seen] = []
        """Errors with which a log ends."""
        self._files: dict[str, _File] = {}

    @property
    def framework(self) -> str | None:
        """The framework that wrote the logs, if one of them shows it."""
        return next((r.reader.framework for r in self._readings if r.reader.framework), None)

    def feed(self, number: int, chunk: bytes, *, metrics: bool) -> Iterator[Record]:
        """Take the next bytes of stream ``number``; empty bytes are its end. Yields its metrics."""
        if number != self._turn.stream:
            self._turn = _Turn(self._turn.turn + 1, number)
        reading = self._readings[number]
        seen = reading.reader.feed(chunk, 0.0) if chunk else reading.finish()
        return self._take(reading, seen, metrics=metrics)

    def end(self, *, exact: bool, metrics: bool) -> Iterator[Record]:
        """Finish: yields the findings, and the ends of all files and of the run.

        ``exact``: the merged order is that of the run (:attr:`InterleavedText.exact`).
        """
        for number, reading in enumerate(self._readings):
            self._turn = _Turn(self._turn.turn + 1, number)
            yield from self._take(reading, reading.finish(), metrics=metrics)
        troubles = self.case.close(self._last_words())
        verdict = judge(troubles, self.case.completion, self.case.view, ordered=exact).verdict
        if self._errors and verdict != "failed":
            for error in self._errors:
                self.case.add(error)
            troubles = self.case.close({})
        self.troubles = [(each, self._place(each.first.line)) for each in troubles]
        for each, place in self.troubles:
            decided = self._place(each.first.decided_line)
            yield finding(each, place, decided.line if decided.file == place.file else 0)
        self._judge(troubles, exact=exact)
        for reading in self._readings:
            for part in reading.stream.parts:
                yield self._end_of_file(reading, part.file, part.lines, part.bytes)
        yield self._end_of_run()

    # -------------------------------------------------------------------- observations

    def _take(
        self, reading: _Reading, seen: Iterable[Observation], *, metrics: bool
    ) -> Iterator[Record]:
        for one in seen:
            if not isinstance(one, (Step, LogEvent, Phase, CheckpointSaved)):
                continue
            file, line = reading.stream.place(one.line)
            number = self._turn.number(one.line)
            own = one if file == one.file and line == one.line else _at(one, file, line)
            self._file(file).add(own)
            if self._listen is not None:
                self._listen(own, number)
            if isinstance(one, LogEvent) and one.severity != "info":
                reading.watched = WATCHED
            if not isinstance(one, Step) or self._counts(reading, one):
                self.case.add(_at(one, self.name, number))
            if metrics and isinstance(own, (Step, CheckpointSaved)):
                yield report(own)

    def _last_words(self) -> dict[str, LastWords]:
        """What the last lines of the lowest rank say; each file is told its own."""
        found: dict[str, LastWords] = {}
        newest = max((r.stream.attempt for r in self._readings), default=0)
        for number, reading in enumerate(self._readings):
            if not reading.stream.parts:
                continue
            words = last_words(reading.reader.tail)
            file, line = reading.stream.place(words.line)
            progress = self._file(file).progress
            wrong = reading.stream.place(words.error_line)[1]
            progress.close(replace(words, line=line, error_line=wrong))
            self._turn = _Turn(self._turn.turn + 1, number)
            leads = reading.stream.order == self._leader
            if progress.error and reading.stream.attempt == newest and leads:
                error = of_last_words(words, self.name)
                self._errors.append(_at(error, self.name, self._turn.number(error.line)))
            if leads or not found:
                found = {file: replace(words, line=self._turn.number(words.line))}
        for words in found.values():
            self.case.completion.close(words)
        return found

    def _file(self, name: str) -> _File:
        known = self._files.get(name)
        if known is None:
            known = self._files[name] = _File()
        return known

    def _counts(self, reading: _Reading, step: Step) -> bool:
        """Whether a report goes into the history of the run: those of the lowest rank do.

        With the same steps from several ranks the run would seem to go back and forth. Of the
        other ranks only reports with NaN or infinity count, and those right after a trouble.
        """
        order = reading.stream.order if step.rank is None else step.rank
        self._leader = min(self._leader, order)
        if order == self._leader:
            return True
        if not math.isfinite(sum(step.values.values())):
            reading.watched = WATCHED
        reading.watched -= 1
        return reading.watched >= 0

    def _place(self, number: int) -> FileLine:
        """File and line of a line number of the history."""
        if not number:
            return FileLine(self.name, 0)
        stream = number >> _LINE_BITS & ((1 << _STREAM_BITS) - 1)
        return FileLine(*self._readings[stream].stream.place(number & ((1 << _LINE_BITS) - 1)))

    # -------------------------------------------------------------------- the verdict

    def _judge(self, troubles: list[LogTrouble], *, exact: bool) -> None:
        progress, view = self.case.completion, self.case.view
        if not exact:
            troubles = self._roots(troubles)
        self.ending = judge(troubles, progress, view, ordered=exact)
        line = self.ending.finished_line
        self.finished_at = None if line is None else self._place(line)

    def _roots(self, troubles: list[LogTrouble]) -> list[LogTrouble]:
        """The root trouble of each log, all at the same line: it is not known which came first."""
        found = []
        progress, view = self.case.completion, self.case.view
        by_file: dict[str, list[LogTrouble]] = {}
        for each in troubles:
            by_file.setdefault(self._place(each.first.line).file, []).append(each)
        for mine in by_file.values():
            named = judge(mine, progress, view, ordered=False).cause
            found += [t for t in mine if named in (t.first.trouble, t.newest.trouble)][:1]
        first = min((t.first.line for t in found), default=0)
        return [replace(t, first=replace(t.first, line=first)) for t in found]

    def _end_of_file(self, reading: _Reading, file: str, lines: int, size: int) -> Record:
        known = self._file(file)
        fatal = {t.newest.trouble for t, _ in self.troubles if t.newest.fatal}
        mine = {t.newest.trouble for t, place in self.troubles if place.file == file}
        own = (mine | known.fatal) & fatal if self.ending.verdict == "failed" else set()
        view = self.case.view
        end = known.progress.finished_line(view) or (
            None if fatal else known.progress.closed_line(view)
        )
        cause = self.ending.cause
        if own and cause not in own:
            cause = min(own, key=lambda name: row(name).rank)
        verdict = "failed" if own else "cut" if end is None else "finished"
        return {
            "type": "end",
            "file": file,
            "rank": reading.stream.rank,
            "lines": lines,
            "bytes": size,
            "verdict": verdict,
            "cause": cause if own else None,
            "last_step": known.progress.last_step,
            "finished_at_line": None if own else end,
        }

    def _end_of_run(self) -> Record:
        parts = [part for reading in self._readings for part in reading.stream.parts]
        cause = self.root
        return {
            "type": "end",
            "run": self.name,
            "files": [part.file for part in parts],
            "lines": sum(part.lines for part in parts),
            "bytes": sum(part.bytes for part in parts),
            "framework": self.framework,
            "verdict": self.ending.verdict,
            "cause": self.ending.cause,
            "cause_file": None if cause is None else cause[1].file,
            "cause_line": None if cause is None else cause[1].line,
            "last_step": self.case.completion.last_step,
            "finished_at_file": None if self.finished_at is None else self.finished_at.file,
            "finished_at_line": None if self.finished_at is None else self.finished_at.line,
        }

    @property
    def root(self) -> tuple[LogTrouble, FileLine] | None:
        """The trouble that the verdict names, and where it first shows."""
        return root(self.troubles, self.ending)


def _at(one: Seen, file: str, line: int) -> Seen:
    """The same observation with another file and line."""
    if isinstance(one, Step):
        return one._replace(file=file, line=line)
    return replace(one, file=file, line=line)


class _File:
    """What one file by itself shows about its end."""

    def __init__(self) -> None:
        self.progress = Completion()
        self.fatal: set[str] = set()
        """Classes of the fatal lines in it."""

    def add(self, one: Observation) -> None:
        self.progress.add(one)
        if isinstance(one, LogEvent) and one.fatal:
            self.fatal.add(one.trouble)


def root(
    troubles: Iterable[tuple[LogTrouble, FileLine]], ending: Ending
) -> tuple[LogTrouble, FileLine] | None:
    """The trouble that ``ending`` names as the cause: the first fatal one of its class."""
    if ending.cause is None:
        return None
    named = [t for t in troubles if ending.cause in (t[0].first.trouble, t[0].newest.trouble)]
    return next((t for t in named if t[0].newest.fatal), named[0] if named else None)
