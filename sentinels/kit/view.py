"""The View: what a sentinel is shown, frozen at ``now``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from .accumulator import Accumulator
from .observations import (
    CheckpointSaved,
    CheckpointSeen,
    DiskSample,
    GpuSample,
    LogEvent,
    LogGrowth,
    MemorySample,
    Phase,
    ProcessEnded,
    ProcessesSeen,
    SourceState,
    StackSeen,
    Step,
)

L = TypeVar("L", bound=Accumulator)

ENOUGH_STEPS = 3
"""Rules ask whether no step, one or more came; nobody needs to count on."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What does not change while a run lives."""

    name: str
    started_at: float
    watched_since: float
    pid: int | None = None
    ours: bool = False
    """Started by ``middlewatch run``: its exit status is recorded."""
    expected_steps: float | None = None
    world_size: int | None = None
    keep_saves: int | None = None
    """Checkpoints that the command line tells the trainer to keep."""


@dataclass(frozen=True, slots=True)
class View:
    """Recent observations of one run and its box, oldest first in every sequence."""

    now: float
    run: RunFacts
    live: bool = True
    """False while an old log is replayed: the clock and the box say nothing then."""
    ended: bool = False
    """True when nothing more will come: the log was read to its end (replay), or the
    run's main process is gone and its logs are drained (live)."""
    steps: Sequence[Step] = ()
    """Reports that carry a training step, newest 512."""
    step_times: Sequence[tuple[float, float]] = ()
    """(at, step) of every advance of the step counter, newest 512."""
    events: Sequence[LogEvent] = ()
    phases: Sequence[Phase] = ()
    claimed_saves: Sequence[CheckpointSaved] = ()
    logs: Mapping[str, LogGrowth] = field(default_factory=dict)
    process_samples: Sequence[ProcessesSeen] = ()
    """Process samples of about the last two minutes."""
    stacks: Sequence[StackSeen] = ()
    """Taken only while a silence is judged; forgotten when the steps go on."""
    endings: Sequence[ProcessEnded] = ()
    disks: Mapping[str, Sequence[DiskSample]] = field(default_factory=dict)
    """By mount point."""
    memory: Sequence[MemorySample] = ()
    gpus: Mapping[int, Sequence[GpuSample]] = field(default_factory=dict)
    """By index."""
    saving_at: float | None = None
    """When bytes of any checkpoint, finished or not, last grew."""
    checkpoints: Sequence[CheckpointSeen] = ()
    """By time of save."""
    sources: Sequence[SourceState] = ()
    accumulators: Mapping[type[Accumulator], Accumulator] = field(default_factory=dict)
    """What is remembered of the whole run; :meth:`accumulator` finds one."""
    gap_s: float = 0.0
    """Seconds since the watch itself last stopped watching (restart, suspend); 0 if it
    never did. Ages that reach over a gap prove nothing."""

    def accumulator(self, kind: type[L]) -> L | None:
        """The accumulator of a kind; ``None`` where nobody keeps it."""
        found = self.accumulators.get(kind)
        return found if isinstance(found, kind) else None

    def all_quiet(self, kinds: Iterable[type[Accumulator]]) -> bool:
        """True when none of these accumulators gives a rule anything to say."""
        for kind in kinds:
            found = self.accumulators.get(kind)
            if found is not None and not found.quiet:
                return False
        return True

    @property
    def ending(self) -> ProcessEnded | None:
        """The end of the run's main process, if it ended."""
        return next((e for e in reversed(self.endings) if e.main), None)

    @property
    def last_step(self) -> Step | None:
        """The newest report that names a step number."""
        return next((s for s in reversed(self.steps) if s.number is not None), None)

    @property
    def grown_at(self) -> float | None:
        """When any log of the run last grew; ``None`` without a log."""
        return max((g.grown_at for g in self.logs.values()), default=None)

    @property
    def mounts(self) -> list[DiskSample]:
        """The newest sample of every mount that can be written to.

        A file system that is mounted read-only (squashfs, a loop image) is always full.
        """
        newest = (samples[-1] for samples in self.disks.values() if samples)
        return [sample for sample in newest if not sample.read_only]

    def steps_after(self, at: float, line: int = 0, file: str = "") -> int:
        """How often the step counter advanced after an instant (live) or line (replay).

        Counted no further than ``ENOUGH_STEPS``. Lines that were read at the same instant
        (a log that is read from its beginning) are put in order by their place in the file.
        """
        if self.live:
            later = 0
            for t, _ in islice(reversed(self.step_times), ENOUGH_STEPS):
                later += t > at
            if later or not line:
                return later
        numbers: set[float] = set()
        for step in reversed(self.steps):
            if self.live and step.at < at:
                break
            if step.file != file or (self.live and step.at > at):
                continue
            if step.line <= line or len(numbers) == ENOUGH_STEPS:
                break
            if step.number is not None:
                numbers.add(step.number)
        return len(numbers)

    def went_on_after(self, event: LogEvent) -> bool:
        """True when the run went on: two steps, for one may have waited in a buffer."""
        return self.steps_after(event.at, event.line, event.file) >= 2

    def phases_since_step(self) -> list[Phase]:
        """Phases that the log announced after its last step, oldest first."""
        last = self.step_times[-1][0] if self.step_times else -math.inf
        step = self.last_step
        found: list[Phase] = []
        for phase in reversed(self.phases):
            if phase.at < last:
                break
            before = step is not None and phase.file == step.file and phase.line < step.line
            if phase.at > last or not before:
                found.append(phase)
        return found[::-1]
