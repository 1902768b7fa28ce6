"""What a report of ``replay`` is about: one log, or the logs of one run, read to the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from middlewatch.sentinels.kit.numbers import number

from .before_it import alike, ran_out
from .log_input import LogInput
from .log_stream import LogStream
from .many_logs import RunReplay, root
from .one_log import FileLine, LogJudge, Record, Replay
from .story import Story
from .verdict import Ending, LogTrouble


@dataclass(frozen=True, slots=True)
class Log:
    """One file of a subject."""

    file: str
    lines: int
    bytes: int
    packing: str = ""
    damage: str = ""
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What a report is about: one log, or the logs of one run."""

    name: str
    logs: Sequence[Log]
    case: LogJudge
    troubles: Sequence[tuple[LogTrouble, FileLine]]
    ending: Ending
    finished_at: FileLine | None
    story: Story
    framework: str | None = None
    encoding: str = "utf-8"
    interrupted: bool = False
    quick: bool = False
    """Read with ``--quick``: for troubles only, without metrics."""
    one_of_many: bool = False
    proofs: Mapping[FileLine, str] = field(default_factory=dict)
    """The proof at a place with its reason, where that is known."""
    below: Mapping[FileLine, str] = field(default_factory=dict)
    """What stands below it."""
    steps: Mapping[FileLine, str] = field(default_factory=dict)
    """The first step that the lines around it ask for."""
    ran_out: tuple[int, str] = (0, "")
    """The line in which a library says that the data ended before the plan, and its words."""
    alike: tuple[int, str] = (0, "")
    """How many of the last lines complain of the same, and the last of them."""
    ends: Sequence[Record] = field(default_factory=list)
    """The `end` records of the files of a run."""

    @classmethod
    def of_file(
        cls, source: LogInput, replay: Replay, story: Story, extra: Record, *, one_of_many: bool
    ) -> Subject:
        """The subject for one log that was read."""
        line = replay.ending.finished_line
        damage = str(extra.get("damage", ""))
        # the last line may have no newline
        lines = max([replay.reader.lines, *(number for number, _ in replay.reader.tail[-1:])])
        log = Log(source.name, lines, source.bytes, source.packing, damage)
        return cls(
            name="standard input" if source.name == "-" else source.name,
            logs=[log],
            case=replay.case,
            troubles=replay.troubles,
            proofs=replay.proofs,
            below=replay.below,
            steps=replay.steps,
            alike=alike(replay.reader.tail),
            ran_out=ran_out(replay.reader.tail),
            ending=replay.ending,
            finished_at=None if line is None else FileLine(source.name, line),
            story=story,
            framework=replay.framework,
            encoding=source.encoding,
            interrupted=bool(extra.get("interrupted")),
            quick=bool(extra.get("quick")),
            one_of_many=one_of_many,
        )

    @classmethod
    def of_run(
        cls, streams: Sequence[LogStream], replay: RunReplay, story: Story, ends: Sequence[Record]
    ) -> Subject:
        """The subject for the logs of one run that were read."""
        logs = [
            Log(p.file, p.lines, p.bytes, p.packing, p.damage, stream.rank)
            for stream in streams
            for p in stream.parts
        ]
        return cls(
            name=replay.name,
            logs=logs,
            case=replay.case,
            troubles=replay.troubles,
            ending=replay.ending,
            finished_at=replay.finished_at,
            story=story,
            framework=replay.framework,
            interrupted=bool(ends and ends[-1].get("interrupted")),
            quick=bool(ends and ends[-1].get("quick")),
            ends=[end for end in ends if "run" not in end],
        )

    @property
    def root(self) -> tuple[LogTrouble, FileLine] | None:
        """The trouble that ended the run, and where it first shows."""
        return root(self.troubles, self.ending)


def grouped(value: float) -> str:
    """A number with separators: ``12,400``."""
    return f"{int(value):,}" if math.isfinite(value) and value == int(value) else number(value)
