"""The View: what a sentinel gets to judge, frozen at ``now``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from .accumulator import Accumulator
from .container import ContainerSeen
from .gpu_sample import GpuSample
from .last_words import LastWords
from .observations import (
    CheckpointSaved,
    CheckpointSeen,
    DiskSample,
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
"""Steps counted at most: rules only need to know whether there were none, one or more."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts about a run that do not change while it runs."""

    name: str
    started_at: float
    watched_since: float
    pid: int | None = None
    ours: bool = False
    """Started by ``middlewatch run``: its exit status is recorded."""
    expected_steps: float | None = None
    world_size: int | None = None
    attempt: int = 1
    """Above 1 for a command that a wrapper has started again."""
    after_failure: bool = False
    """A wrapper did so, no person, after the attempt before had failed or was killed."""
    goes_on: bool = False
    """What had started it, and was to start others, goes on with another one."""
    keep_saves: int | None = None
    """Number of checkpoints that the trainer keeps, by the command line."""
    command: str = ""
    """The command line, with blanks between its words."""


@dataclass(frozen=True, slots=True)
class View:
    """Recent observations of one run and its box, oldest first in every sequence."""

    now: float
    run: RunFacts
    live: bool = True
    """False while a finished log is replayed: the clock and the box have no meaning then."""
    ended: bool = False
    """True when nothing more will come: the log was read to its end (replay), or the main process
    of the run has ended and its logs were read to their ends (live)."""
    steps: Sequence[Step] = ()
    """The newest 512 reports that have a step number or a training loss."""
    step_times: Sequence[tuple[float, float]] = ()
    """(epoch seconds, step) of the newest 512 advances of the step counter."""
    events: Sequence[LogEvent] = ()
    phases: Sequence[Phase] = ()
    claimed_saves: Sequence[CheckpointSaved] = ()
    logs: Mapping[str, LogGrowth] = field(default_factory=dict)
    last_words: Mapping[str, LastWords] = field(default_factory=dict)
    """What the end of each log says about the end of the run; by file, only once it has ended."""
    process_samples: Sequence[ProcessesSeen] = ()
    """Process samples of about the last two minutes."""
    stacks: Sequence[StackSeen] = ()
    """Stacks; taken only while a silence is judged, and dropped when steps come again."""
    endings: Sequence[ProcessEnded] = ()
    disks: Mapping[str, Sequence[DiskSample]] = field(default_factory=dict)
    """The mounts that the run uses, by mount point."""
    memory: Sequence[MemorySample] = ()
    memory_shared: bool = False
    """True when another run that is watched lives in the same control group."""
    container: ContainerSeen | None = None
    """The container that it lives in; ``None`` when it does not, and when no engine tells of it."""
    gpus: Mapping[int, Sequence[GpuSample]] = field(default_factory=dict)
    """The GPUs that the run is known to use, by index."""
    stray_gpus: Mapping[int, Sequence[GpuSample]] = field(default_factory=dict)
    """The GPUs of the box that no run is known to use, by index. If ``gpus`` is empty and nothing
    is known, the run may use some of them."""
    gpus_known: bool = True
    """False when nothing shows which GPUs the run uses."""
    saving_at: float | None = None
    """When bytes of any checkpoint, finished or not, last grew."""
    checkpoints: Sequence[CheckpointSeen] = ()
    """In the order of the times of save."""
    sources: Sequence[SourceState] = ()
    accumulators: Mapping[type[Accumulator], Accumulator] = field(default_factory=dict)
    """What is remembered of the whole run; to be read by :meth:`accumulator`."""
    gap_s: float = 0.0
    """Seconds since the last time that the daemon did not watch (restart, suspend); 0 if it always
    did. An age that is larger proves nothing."""

    def accumulator(self, kind: type[L]) -> L | None:
        """The accumulator of this class; ``None`` if there is none in this view."""
        found = self.accumulators.get(kind)
        return found if isinstance(found, kind) else None

    def stalled_since(self, kind: str) -> float | None:
        """Since when a source of this kind (``log_tail``) does not answer; ``None`` if all do.

        What such a source would have shown since then is not known.
        """
        late = (s for s in self.sources if s.state == "stalled")
        return min((s.since for s in late if s.source.partition(":")[0] == kind), default=None)

    def all_quiet(self, kinds: Iterable[type[Accumulator]]) -> bool:
        """True when all these accumulators are quiet, or not in this view."""
        for kind in kinds:
            found = self.accumulators.get(kind)
            if found is not None and not found.quiet:
                return False
        return True

    @property
    def ending(self) -> ProcessEnded | None:
        """The end of the run's main process; ``None`` while it runs."""
        return next((e for e in reversed(self.endings) if e.main), None)

    @property
    def paused(self) -> bool:
        """True while the container of the run is paused: its processes stand still, whatever state
        they are in, and wait for nothing."""
        return self.container is not None and self.container.paused(self.now)

    @property
    def last_step(self) -> Step | None:
        """The newest report that has a step number."""
        return next((s for s in reversed(self.steps) if s.number is not None), None)

    @property
    def grown_at(self) -> float | None:
        """When any log of the run last grew; ``None`` without a log."""
        return max((g.grown_at for g in self.logs.values()), default=None)

    @property
    def heard_at(self) -> float | None:
        """When a line last came to any log of the run that is no complaint about a failure, and not
        of a kind that comes all the time beside the steps; ``None`` without a log.

        A log whose lines were not counted is heard with every growth.
        """
        told = ((g.grown_at if g.signs is None else g.signs.fresh_at) for g in self.logs.values())
        return max(told, default=None)

    @property
    def mounts(self) -> list[DiskSample]:
        """The newest sample of every mount that is not read-only.

        (A read-only one, such as squashfs or a loop image, is always full.)
        """
        newest = (samples[-1] for samples in self.disks.values() if samples)
        return [sample for sample in newest if not sample.read_only]

    def steps_after(self, at: float, line: int = 0, file: str = "") -> int:
        """How often the step counter advanced after a time (live) or a line (replay).

        Of a run that numbers no steps ("pass 3 of 20: mean loss 0.41"), its reports count. At most ``ENOUGH_STEPS``. Lines that were read at the same instant, as when a log is read
        from its beginning, are compared by their line numbers.
        """
        if self.live:
            later = 0
            for t, _ in islice(reversed(self.step_times), ENOUGH_STEPS):
                later += t > at
            if not self.step_times:
                for step in islice(reversed(self.steps), ENOUGH_STEPS):
                    later += step.at > at
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
        """True when the run went on after an event: two steps came (one may have been in a
        buffer), or two trials of a search began or ended: the error was of one of them."""
        if self.steps_after(event.at, event.line, event.file) >= 2:
            return True
        trials = (p for p in self.phases if p.name == "trial" and p.file == event.file)
        return sum(p.line > event.line for p in trials) >= 2

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
