"""``replay``: read finished logs and report what happened."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from middlewatch.sentinels.kit import discover

from ..parsers import backlog
from ..replay.decompress import DamagedLog
from ..replay.interleave import InterleavedText
from ..replay.log_input import LogInput, open_log
from ..replay.log_stream import LogStream, size_of
from ..replay.many_logs import RunReplay, tells_steps
from ..replay.one_log import Record, Replay, ReplayRules
from ..replay.rank_files import group_by_rank
from ..system.clock import SystemClock
from ..system.errors import MiddlewatchError, UsageError
from . import console
from .context import configuration
from .named_files import check_finished_log

if TYPE_CHECKING:
    from ..replay.story import Story
    from ..replay.subject import Subject

INTERRUPTED = 130


def replay(args: argparse.Namespace) -> int:
    """Read every file; exit 1 when a run failed by its log, 2 when a log could not be read to its
    end, 130 when interrupted."""
    names, run = _named(args)
    config = configuration(args)
    sentinels = {n: s for n, s in discover().items() if n not in config.disabled}
    # several logs of a run are merged by what is read of each
    whole = args.whole or run is not None or (args.metrics and args.json)
    reader = backlog.everything if whole else backlog.to_judge
    if args.quick:
        reader = backlog.events_alone
    reading = _Reading(args, names, ReplayRules(sentinels, dict(config.limits), _bug, reader))
    try:
        if run is None:
            reading.each(names)
        else:
            reading.together(run, names)
    finally:
        reading.bar.clear()
    return reading.status


def _named(args: argparse.Namespace) -> tuple[list[str], str | None]:
    """(files, name of the run); the name is ``None`` without ``--run``: each file is a run then.

    Raises UsageError when no file is given.
    """
    names, run = list(args.file), args.run
    if run and (os.sep in run or os.path.lexists(run)):
        # `--run rank0.log rank1.log`: the first word after the option was meant as a file.
        names, run = [run, *names], ""
    if not names:
        raise UsageError("no log is named", "middlewatch replay train.log")
    return names, run or "run" if run is not None else None


def _bug(text: str) -> None:
    console.complain(f"middlewatch: {text}")


class _Reading:
    """One call of the command."""

    def __init__(self, args: argparse.Namespace, names: list[str], rules: ReplayRules) -> None:
        self.bar = console.ProgressBar(
            sum(map(size_of, names)),
            SystemClock(),
            shown=console.progress_wanted(as_json=args.json),
        )
        self.failed = self.unread = self.interrupted = False
        self._json: bool = args.json
        self._metrics: bool = args.metrics and args.json
        self._rules = rules
        self._quick: Record = {"quick": True} if args.quick else {}
        self._past = 0

    @property
    def status(self) -> int:
        """Exit status."""
        if self.interrupted:
            return INTERRUPTED
        return 2 if self.unread else int(self.failed)

    # -------------------------------------------------------------------- one after the other

    def each(self, names: list[str]) -> None:
        """Judge each file by itself, as the log of one run."""
        subjects: list[Subject] = []
        for name in names:
            try:
                check_finished_log(name)
                source = open_log(name)
            except UsageError as error:
                self._complain(name, error)
                continue
            try:
                subject = self._one(source, one_of_many=len(names) > 1)
            finally:
                source.close()
            if not source.bytes and not self.interrupted and not self.unread:
                self._note_empty(name)
            self._past += size_of(name)
            if subject is not None:
                subjects.append(subject)
            if self.interrupted:
                break
        if len(names) > 1 and not self._json:
            from .replay_report import table

            table(subjects)

    def _one(self, source: LogInput, *, one_of_many: bool) -> Subject | None:
        story = self._story()
        replay = Replay(source.name, self._rules, None if story is None else story.add)
        extra = self._quick | ({"packing": source.packing} if source.packing else {})
        try:
            for chunk in source.chunks():
                if story is not None:
                    story.add_text(chunk)
                self._emit(replay.feed(chunk, metrics=self._metrics))
                self.bar.at(self._past + source.taken, source.name)
        except DamagedLog as damage:
            extra["damage"] = str(damage)
            self._complain(source.name, damage)
        except UsageError as error:
            self._complain(source.name, error)
            return None
        except KeyboardInterrupt:
            self.interrupted = extra["interrupted"] = True
            self._emit(replay.feed(source.rest(), metrics=self._metrics))
        for record in replay.end(metrics=self._metrics):
            if record["type"] == "end":
                left_out = replay.reader.left_out
                record |= {"bytes": source.bytes, **extra}
                record |= {"reports_left_out": left_out} if left_out else {}
                self.failed |= record["verdict"] == "failed"
            self._emit((record,))
        if story is None or (not source.bytes and "damage" in extra):
            return None
        from ..replay.subject import Subject
        from .replay_report import print_report

        self.bar.clear()
        story.left_out = replay.reader.left_out
        subject = Subject.of_file(source, replay, story, extra, one_of_many=one_of_many)
        print_report(subject)
        return subject

    # -------------------------------------------------------------------- as one run

    def together(self, run: str, names: list[str]) -> None:
        """Judge all files together, as logs of one run called ``run``."""
        story = self._story()
        streams = [LogStream(lane, self._complain) for lane in group_by_rank(names)]
        merged = InterleavedText(streams, tells_steps)
        replay = RunReplay(run, streams, self._rules, None if story is None else story.add)
        extra = dict(self._quick)
        try:
            for number, chunk in merged.chunks():
                if story is not None:
                    story.add_text(chunk)
                records = replay.feed(number, chunk, metrics=self._metrics)
                self._emit(records)
                self.bar.at(sum(stream.taken for stream in streams), streams[number].name)
        except KeyboardInterrupt:
            self.interrupted = extra["interrupted"] = True
            for number, stream in enumerate(streams):
                if rest := stream.rest():
                    self._emit(replay.feed(number, rest, metrics=self._metrics))
        if not any(stream.parts for stream in streams):
            return
        ends = []
        for record in replay.end(exact=merged.exact, metrics=self._metrics):
            if record["type"] == "end":
                ends.append(record)
            if "run" in record:
                record |= extra
                self.failed = record["verdict"] == "failed"
            self._emit((record,))
        if story is not None:
            from ..replay.subject import Subject
            from .replay_report import print_report

            self.bar.clear()
            print_report(Subject.of_run(streams, replay, story, ends))

    # -------------------------------------------------------------------- what is printed

    def _story(self) -> Story | None:
        if self._json:
            return None
        from ..replay.story import Story

        return Story()

    def _emit(self, records: Iterable[Record]) -> None:
        """With ``--json`` print the records, one line each; flushed once per call."""
        written = False
        for record in records:
            if self._json:
                sys.stdout.write(console.json_text(record) + "\n")
                written = True
        if written:
            sys.stdout.flush()

    def _note_empty(self, name: str) -> None:
        """Say that a log has nothing in it: usually the output went elsewhere."""
        sys.stdout.flush()
        shown = "standard input" if name == "-" else name
        console.complain(f"middlewatch: {shown} is empty")
        console.complain("  to write the output of a training to a log: CMD 2>&1 | tee train.log")

    def _complain(self, name: str, error: MiddlewatchError) -> None:
        """Report a file that cannot be read to its end; the other files are read all the same."""
        self.unread = True
        self.bar.clear()
        sys.stdout.flush()
        told = str(error)
        shown = told if told.startswith(name) else f"{name}: {told}"
        console.complain(f"middlewatch: {shown}")
        hint = error.hint
        if isinstance(error, DamagedLog) and not hint:
            hint = "what was read until there is told above; fetch the file again for the rest"
        if hint:
            console.complain(f"  {hint}")
