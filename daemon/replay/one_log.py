"""Judges a finished log by the daemon's parsers and sentinels, without a clock or a box.

The sentinels are given the same views as in the daemon, with ``live=False``. Each trouble is kept
once, with the line where it first shows; the verdict says how the run ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Union

from middlewatch.sentinels.kit import (
    CheckpointSaved,
    LogEvent,
    Observation,
    Phase,
    RunFacts,
    Sentinel,
    Step,
    View,
)
from middlewatch.sentinels.kit.last_words import LastWords
from middlewatch.sentinels.kit.troubles import Troubles

from ..config.secrets import mask, mask_values
from ..judge.engine import Engine
from ..judge.history import BoxHistory, RunHistory
from ..judge.incidents import Incidents
from ..parsers.backlog import OpenReader, everything
from ..parsers.df_tables import full_disks
from ..parsers.hosts import host_in
from ..parsers.last_block import passes_on, said_before
from ..parsers.last_words import last_words
from ..parsers.log_events import of_last_words
from ..parsers.text import decode
from ..system.isolation import Isolation
from .before_it import before_it
from .newest_start import OPENING_BYTES, began_after, newest_start
from .verdict import (
    Completion,
    Ending,
    LogTrouble,
    LogTroubles,
    ended_a_start,
    judge,
    says_more,
    unwritten,
)

Record = dict[str, Any]
"""One line of ``replay --json``."""
Seen = Union[Step, LogEvent, Phase, CheckpointSaved]
"""The observations that a parser can make of a log line."""
Listen = Callable[[Seen, int], None]
"""Is called with every observation, and with a number that grows along the log."""


CLOSE = 200
EVERY = 50
"""Sentinels report a known trouble again whenever they are asked. Once there is one, they are asked
at each of the ``CLOSE`` steps after something new, then only at every ``EVERY``-th step. Nothing is
lost, as the accumulators see every step, and a log of a million steps with a dozen old troubles is
read five times as fast."""


BELOW = 12
"""Lines below an error that may still be its message."""
HOST_LINES = 40
"""Lines around a network error in which its host is looked for."""


class FileLine(NamedTuple):
    """A line of a file, whose path is as the person gave it."""

    file: str
    line: int


class ReplayRules(NamedTuple):
    """What a replay is judged by: the sentinels with their limits, and the parsers."""

    sentinels: Mapping[str, Sentinel]
    limits: Mapping[str, Any]
    report_bug: Callable[[str], None]
    """Is called with the traceback when a sentinel raises."""
    open_reader: OpenReader = everything


class LogJudge:
    """Gives the observations of one run to the sentinels, in order, and keeps their findings."""

    def __init__(self, name: str, rules: ReplayRules) -> None:
        self.troubles = LogTroubles()
        self.completion = Completion()
        self._calm = 0
        """Steps since the last new trouble or event."""
        self._history = RunHistory(RunFacts(name, 0.0, 0.0), BoxHistory(), live=False)
        self._engine = Engine(
            rules.sentinels, rules.limits, Incidents(), Isolation(rules.report_bug)
        )

    @property
    def view(self) -> View:
        """The history so far, as the sentinels see it."""
        return self._history.view(0.0)

    def add(self, one: Observation) -> None:
        """Take the next observation, and ask the sentinels about it."""
        self._history.add(one)
        self.completion.add(one)
        if isinstance(one, Step):
            self._calm += 1
            if self._calm <= CLOSE or one.text or self._calm % EVERY == 0 or not self.troubles:
                self._ask(Step)
        elif isinstance(one, LogEvent):
            self._calm = 0
            self._ask(LogEvent)

    def close(self, words: Mapping[str, LastWords]) -> list[LogTrouble]:
        """Ask the sentinels a last time; all troubles, by the line where they first show. ``words``: what
        the last lines of each file say."""
        self._history.ended = True
        self._history.last_words.update(words)
        troubles = self.view.accumulator(Troubles)
        for file, said in words.items():
            if troubles is not None and said.well_line:
                troubles.left_well(file, said.well_line)
        self._ask(Step, LogEvent)
        return self.troubles.all()

    def _ask(self, *fresh: type) -> None:
        found, _ = self._engine.findings(self.view, set(fresh), tick=False)
        if self.troubles.add_findings(found):
            self._calm = 0


class Replay:
    """One log from its first byte to its last."""

    def __init__(self, file: str, rules: ReplayRules, listen: Listen | None = None) -> None:
        self.file = file
        self.reader = rules.open_reader(file, None)
        self.case = LogJudge(file, rules)
        self.troubles: list[tuple[LogTrouble, FileLine]] = []
        """After the end: every trouble and where it first shows."""
        self.proofs: dict[FileLine, str] = {}
        """After the end: the proof at each of these places, with the reason that the lines around it give."""
        self.below: dict[FileLine, str] = {}
        """After the end: what stands below the proof of a trouble that ended the run, up to twelve lines."""
        self.steps: dict[FileLine, str] = {}
        """After the end: the first step that the lines around a proof ask for; empty where they ask for none."""
        self.ending = Ending("cut", None, None)
        self._listen = listen
        self._opening = b""
        self._newest_start = 0

    @property
    def framework(self) -> str | None:
        """The framework that wrote the log, if that is known."""
        return self.reader.framework

    def read(self, chunks: Iterable[bytes], *, metrics: bool) -> Iterator[Record]:
        """All records of ``replay --json``: metrics as they come, then the findings and the end."""
        for chunk in chunks:
            yield from self.feed(chunk, metrics=metrics)
        yield from self.end(metrics=metrics)

    def feed(self, chunk: bytes, *, metrics: bool) -> Iterator[Record]:
        """Take the next bytes; yields the metrics in them."""
        if len(self._opening) < OPENING_BYTES:
            self._opening += chunk[: OPENING_BYTES - len(self._opening)]
        return self._take(self.reader.feed(chunk, 0.0), metrics=metrics)

    def end(self, *, metrics: bool) -> Iterator[Record]:
        """Finish: yields the last metrics, the findings and the end."""
        yield from self._take(self.reader.finish(0.0), metrics=metrics)
        words = last_words(self.reader.tail)
        self.case.completion.close(words)
        troubles = self.case.close({self.file: words})
        tail = self.reader.tail
        ends = (t.newest for t in troubles if t.newest.fatal and ended_a_start(t.newest))
        last = max((f.line for f in ends), default=0)
        self._newest_start = newest_start(self._opening, tail) or began_after(last, tail)
        if self.case.completion.error:
            error = of_last_words(words, self.file)
            known = words.loose and any(
                error.line in (t.first.line, t.newest.line) for t in troubles
            )
            if not known and says_more(error, self._judged(troubles), troubles):
                yield from self._take([error], metrics=metrics)
                troubles = self.case.close({})
        if unwritten(troubles) and (full := full_disks(self.reader.tail, self.file)):
            yield from self._take(full, metrics=metrics)
            troubles = self.case.close({})
        self.troubles = [(each, FileLine(self.file, each.first.line)) for each in troubles]
        for each, place in self.troubles:
            record = self._whole(finding(each, place, each.first.decided_line), words)
            shown, self.steps[place] = before_it(
                record["class"], record["line"], tail, decode(self._opening)
            )
            record["evidence"] = with_reason(record["evidence"], shown, "")
            self.proofs[place] = record["evidence"]
            if record["fatal"]:
                after = (text for n, text in tail if record["line"] < n <= record["line"] + BELOW)
                self.below[place] = mask("\n".join(after))
            yield record
        ending = self.ending = self._judged(troubles)
        yield {
            "type": "end",
            "file": self.file,
            "lines": self.reader.lines,
            "bytes": self.reader.bytes,
            "framework": self.framework,
            "verdict": ending.verdict,
            "cause": ending.cause,
            "last_step": self.case.completion.last_step,
            "finished_at_line": ending.finished_line,
        }

    def _whole(self, record: Record, words: LastWords) -> Record:
        """With the line after its proof, if that ends with a colon: what it was stands there. With what
        the last words tell about the reason, if it is the error with which the log ends."""
        if str(record["evidence"]).endswith(":"):
            after = (text for number, text in self.reader.tail if number > record["line"])
            said = next((text.strip() for text in after if text.strip()), "")
            record["evidence"] = mask(f"{record['evidence']} {said}".strip())[:400]
        if record["class"] == "network_error" and (host := self._host(record)):
            record["evidence"] = f"{record['evidence'][:300]} (host: {host})"
        if record["fatal"] and 0 < words.block_line <= record["line"]:
            block = [(n, text) for n, text in self.reader.tail if n >= words.block_line]
            because = words.because if record["line"] >= words.error_line else ""
            before = said_before(block, record["line"]) if passes_on(record["evidence"]) else ""
            record["evidence"] = mask(with_reason(record["evidence"], before, because))
        return record

    def _host(self, record: Record) -> str:
        """The host that the lines around a network error speak of, the nearest one first; empty for none."""
        if host_in(record["evidence"]):
            return ""
        near = sorted(self.reader.tail, key=lambda one: abs(one[0] - record["line"]))
        return next((host for _, text in near[:HOST_LINES] if (host := host_in(text))), "")

    def _judged(self, troubles: list[LogTrouble]) -> Ending:
        return judge(
            troubles, self.case.completion, self.case.view, newest_start=self._newest_start
        )

    def _take(self, seen: Iterable[Observation], *, metrics: bool) -> Iterator[Record]:
        for one in seen:
            self.case.add(one)
            if not isinstance(one, (Step, LogEvent, Phase, CheckpointSaved)):
                continue
            if self._listen is not None:
                self._listen(one, one.line)
            if metrics and isinstance(one, (Step, CheckpointSaved)):
                yield report(one)


def with_reason(proof: str, before: str, because: str) -> str:
    """A proof with what the lines around it give as the reason, at most 400 characters."""
    for label, said in (("before it", before), ("because", because)):
        if said and said not in proof:
            proof = f"{proof[: 380 - len(said)]} ({label}: {said})"
    return proof


def report(one: Step | CheckpointSaved) -> Record:
    """A step or a claimed save, as ``--metrics`` prints it."""
    if isinstance(one, CheckpointSaved):
        return {
            "type": "checkpoint_saved",
            "file": one.file,
            "line": one.line,
            "step": one.step,
            "path": None if one.path is None else mask(one.path),
        }
    return {
        "type": "metric",
        "file": one.file,
        "line": one.line,
        "step": one.number,
        "epoch": one.epoch,
        "rank": one.rank,
        "values": dict(one.values),
    }


def finding(trouble: LogTrouble, place: FileLine, decided_line: int) -> Record:
    """The record of one trouble. ``decided_line``: 0 where it is the line of the trouble."""
    newest = trouble.newest
    return {
        "type": "finding",
        "file": place.file,
        "line": place.line,
        "decided_line": decided_line or place.line,
        "class": newest.trouble,
        "severity": newest.severity.label,
        "fatal": newest.fatal,
        "sentinel": trouble.sentinel,
        "summary": mask(newest.summary),
        "evidence": proof(trouble),
        "at": None,
        "details": mask_values(trouble.details),
    }


def proof(trouble: LogTrouble) -> str:
    """The log line that shows a trouble, at most 400 characters; else its summary."""
    first = trouble.first
    text = next((e.text for e in first.evidence if e.kind == "log"), "") or first.summary
    return mask(text)[:400]
