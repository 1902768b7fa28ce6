"""The newest observations of a run and of its box, in ring buffers that a View is made of."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from middlewatch.sentinels.kit import (
    Accumulator,
    CheckpointSaved,
    CheckpointSeen,
    ContainerSeen,
    DiskSample,
    GpuSample,
    LastWords,
    LogEvent,
    LogGrowth,
    MemorySample,
    Observation,
    PartsUsed,
    Phase,
    ProcessEnded,
    ProcessesSeen,
    RunFacts,
    SourceState,
    StackSeen,
    Step,
    View,
    accumulators,
    codec,
)
from middlewatch.sentinels.kit.saves.save_log import SaveLog

from ..config.secrets import mask, mask_values
from .curve import KEPT, TIME, Curve
from .gpus import KnownGpus

BOX_SAMPLES = 120
"""Samples kept per mount, GPU and cgroup: two minutes at 1 Hz."""
LOOKS = 130
"""Process samples kept: a little more than two minutes at 1 Hz."""
STACKS = 160
"""Stacks kept: ten of each of sixteen processes, a few KiB each."""
AWAY_S = 60.0
"""Seconds between two calls of :meth:`RunHistory.keep_time`, which normally come every second,
after which the daemon was stopped in between: nobody watched."""
JUMP_S = 5.0
"""When the wall clock and the monotonic clock differ by more seconds than this since the last call,
the wall clock was set, or the box slept (monotonic time stands still then). NTP that only slews the
clock changes it by less than 1 ms a second."""
STEPS_SAVED, EVENTS_SAVED, TIMES_SAVED = 4, 24, 256
"""Newest reports and events that are stored, with the offsets of the logs in one transaction: as many as
a decision that is pending may rest on. Our choice; some KiB each time."""
NAMES = 256
"""Metric names kept: a program may invent a new one with every step."""
_RINGS: dict[type, str] = {
    LogEvent: "events",
    Phase: "phases",
    CheckpointSaved: "claimed_saves",
    ProcessesSeen: "process_samples",
    StackSeen: "stacks",
    ProcessEnded: "endings",
    MemorySample: "memory",
}
"""Observations that are kept one after the other, and where."""


class BoxHistory:
    """The newest samples of disks and GPUs, which all runs of the box share."""

    def __init__(self) -> None:
        self.disks: dict[str, deque[DiskSample]] = {}
        self.gpus: dict[int, deque[GpuSample]] = {}

    def add(self, seen: DiskSample | GpuSample) -> None:
        """Keep one sample."""
        if isinstance(seen, DiskSample):
            self.disks.setdefault(seen.mount, deque(maxlen=BOX_SAMPLES)).append(seen)
        else:
            self.gpus.setdefault(seen.index, deque(maxlen=BOX_SAMPLES)).append(seen)

    def some_gpus(self, indexes: Iterable[int]) -> dict[int, Sequence[GpuSample]]:
        """The samples of these GPUs, by index."""
        return {index: self.gpus[index] for index in sorted(indexes) if index in self.gpus}

    @property
    def cards(self) -> list[GpuSample]:
        """The newest sample of every GPU."""
        return [samples[-1] for samples in self.gpus.values() if samples]


T = TypeVar("T")


@dataclass(slots=True)
class _Saved:
    """What is stored of a history, so that a restarted daemon goes on with the same knowledge."""

    step_times: list[tuple[float, float]] = field(default_factory=list)
    latest: dict[str, float] = field(default_factory=dict)
    latest_at: dict[str, float] = field(default_factory=dict)
    total: float | None = None
    epoch: float | None = None
    not_finite_since: tuple[float, float | None] | None = None
    phases: list[Phase] = field(default_factory=list)
    curves: dict[str, Curve] = field(default_factory=dict)
    # What has not led to a push yet: the lines behind it will not be read again.
    steps: list[Step] = field(default_factory=list)
    events: list[LogEvent] = field(default_factory=list)
    claimed_saves: list[CheckpointSaved] = field(default_factory=list)
    endings: list[ProcessEnded] = field(default_factory=list)


class RunHistory:
    """The observations of one run, newest last, in bounded memory."""

    def __init__(self, facts: RunFacts, box: BoxHistory, *, live: bool = True) -> None:
        self.facts = facts
        self.box = box
        self.disks: dict[str, deque[DiskSample]] = {}
        """Samples of the mounts that this run uses."""
        self.parts: PartsUsed | None = None
        self.gpus = KnownGpus()
        self.stray_gpus: frozenset[int] = frozenset()
        """GPUs of the box that no run is known to use."""
        self.live = live
        self.ended = False
        self.gap_at: float | None = None
        self._shown: View | None = None
        self._looked: tuple[float, float] | None = None
        """Wall clock and monotonic clock at the last call of :meth:`keep_time`."""
        self.steps: deque[Step] = deque(maxlen=512)
        self.step_times: deque[tuple[float, float]] = deque(maxlen=512)
        self.latest: dict[str, float] = {}
        self.latest_at: dict[str, float] = {}
        self.not_finite_since: tuple[float, float | None] | None = None
        """(at, step) of the first report without a finite training loss, while that lasts."""
        self.total: float | None = None
        self.epoch: float | None = None
        self.events: deque[LogEvent] = deque(maxlen=256)
        self.phases: deque[Phase] = deque(maxlen=64)
        self.claimed_saves: deque[CheckpointSaved] = deque(maxlen=64)
        self.logs: dict[str, LogGrowth] = {}
        self.last_words: dict[str, LastWords] = {}
        """By file; set once the main process has ended."""
        self.process_samples: deque[ProcessesSeen] = deque(maxlen=LOOKS)
        self.stacks: deque[StackSeen] = deque(maxlen=STACKS)
        self.endings: deque[ProcessEnded] = deque(maxlen=64)
        self.memory: deque[MemorySample] = deque(maxlen=BOX_SAMPLES)
        self.memory_shared = False
        """Another run that is watched lives in the same control group."""
        self.container: ContainerSeen | None = None
        self.checkpoints: list[CheckpointSeen] = []
        self.saving_at: float | None = None
        self.sources: dict[str, SourceState] = {}
        self.curves: dict[str, Curve] = {}
        self.accumulators: dict[type[Accumulator], Accumulator] = {
            kind: kind() for kind in accumulators()
        }
        self._fed: dict[type, tuple[Accumulator, ...]] = {}
        for kind in {kind for accumulator in self.accumulators for kind in accumulator.takes}:
            self._fed[kind] = tuple(one for one in self.accumulators.values() if kind in one.takes)

    def pids(self) -> list[int]:
        """The processes of the run in the newest sample: ranks, then its main process, first."""
        main = self.facts.pid
        seen = self.process_samples[-1].processes if self.process_samples else ()
        ranked = sorted(seen, key=lambda p: (p.rank is None, p.pid != main, p.start_ticks))
        return [p.pid for p in ranked] or ([] if main is None else [main])

    def memory_by_pid(self) -> dict[int, int]:
        """Resident bytes of the processes of the run in the newest sample."""
        seen = self.process_samples[-1].processes if self.process_samples else ()
        return {p.pid: p.rss_bytes for p in seen if p.rss_bytes}

    def keep_time(self, now: float, mono: float) -> None:
        """Notice that the wall clock was set, or that the box slept or the daemon was stopped.

        To be called before new observations are added. ``now``: wall clock, ``mono``: monotonic
        clock, in seconds. When the wall clock was set, the times of all that is kept are moved by
        the same amount, so that ages stay right: a clock put forward by an hour is no hour of
        silence.
        """
        before, self._looked = self._looked, (now, mono)
        if before is None:
            return
        by = now - mono - (before[0] - before[1])
        if mono - before[1] > AWAY_S:
            self.gap_at = now
        elif abs(by) <= JUMP_S:
            return
        for accumulator in self.accumulators.values():
            accumulator.mark_gap()
        if abs(by) > JUMP_S:
            self._move(by)

    def _move(self, by: float) -> None:
        for ring in (getattr(self, name) for name in _RINGS.values()):
            moved = [replace(seen, at=seen.at + by) for seen in ring]
            ring.clear()
            ring.extend(moved)
        self.steps = deque((s._replace(at=s.at + by) for s in self.steps), self.steps.maxlen)
        times = ((at + by, number) for at, number in self.step_times)
        self.step_times = deque(times, self.step_times.maxlen)
        self.latest_at = {name: at + by for name, at in self.latest_at.items()}
        self.curves.get(TIME, Curve()).move(by)
        if self.not_finite_since is not None:
            self.not_finite_since = (self.not_finite_since[0] + by, self.not_finite_since[1])

    def feed_accumulators(self, seen: Observation) -> None:
        """Give one observation to the accumulators only; the buffers do not keep it."""
        for accumulator in self._fed.get(type(seen), ()):
            accumulator.add(seen)

    def add(self, seen: Observation) -> None:
        """Keep one observation in the buffer of its type, and give it to the accumulators."""
        self.feed_accumulators(seen)
        if isinstance(seen, Step):
            self._add_step(seen)
        elif isinstance(seen, LogGrowth):
            self.logs[seen.file] = seen
        elif type(seen) in _RINGS:
            if not (isinstance(seen, ProcessEnded) and _again(seen, self.endings)):
                getattr(self, _RINGS[type(seen)]).append(seen)
        elif isinstance(seen, SourceState):
            self.sources[seen.source] = seen
        elif isinstance(seen, DiskSample):
            self.disks.setdefault(seen.mount, deque(maxlen=BOX_SAMPLES)).append(seen)
        elif isinstance(seen, GpuSample):  # given to the run itself: it is one of its own
            self.box.add(seen)
            self.gpus.of_run = (self.gpus.of_run or frozenset()) | {seen.index}
        elif isinstance(seen, PartsUsed):
            self.parts = seen
        elif isinstance(seen, ContainerSeen):
            self.container = seen

    def _add_step(self, seen: Step) -> None:
        if seen.total is not None and seen.number is not None:
            self.total = seen.total
        if seen.epoch is not None:
            self.epoch = seen.epoch
        for name, value in seen.values.items():
            self.latest[name] = value
            self.latest_at[name] = seen.at
        if seen.loss is not None:
            self._note_finite(seen)
        while len(self.latest) > NAMES:
            oldest = min(self.latest_at, key=self.latest_at.__getitem__)
            del self.latest[oldest], self.latest_at[oldest]
        if seen.number is None:
            if "train_loss" in seen.values or seen.epoch is not None:
                self.steps.append(seen)
            return
        self.steps.append(seen)
        if not self.step_times or seen.number != self.step_times[-1][1]:
            self.step_times.append((seen.at, seen.number))
        for name, value in (*seen.values.items(), (TIME, seen.at)):
            if name in KEPT and not seen.rank:
                self.curves.setdefault(name, Curve()).add(seen.number, value, KEPT[name])

    def _note_finite(self, seen: Step) -> None:
        if math.isfinite(seen.values["train_loss"]):
            self.not_finite_since = None
        elif self.not_finite_since is None:
            self.not_finite_since = (seen.at, seen.number)

    def cut(self, since: float, grace_s: float) -> None:
        """Forget what another run has written, which was started at ``since`` (epoch seconds).

        Lines of this run may be read up to ``grace_s`` later, but where the steps begin anew the
        other one speaks.
        """
        last = since + grace_s
        marks = list(self.step_times)
        for place in range(1, len(marks)):
            if marks[place][0] >= since and marks[place][1] < marks[place - 1][1]:
                last = min(last, marks[place][0])
                del marks[place:]
                break
        self.step_times = deque((m for m in marks if m[0] <= last), self.step_times.maxlen)
        known = {mark[1] for mark in self.step_times}
        own = (s for s in self.steps if s.at < since or (s.at <= last and s.number in known))
        self.steps = deque(own, self.steps.maxlen)
        # A traceback is complete only when the next line has come.
        self.events = deque((e for e in self.events if e.at <= since + grace_s), self.events.maxlen)
        self.phases = deque((p for p in self.phases if p.at <= last), self.phases.maxlen)

    def view(self, now: float) -> View:
        """The view at ``now``. It has the buffers themselves, not copies: sentinels only read."""
        shown = self._shown
        if shown and not self.live and (shown.now, shown.ended) == (now, self.ended):
            return shown  # a finished log has neither clock nor box: nothing changed
        self._shown = View(
            now=now,
            run=self.facts,
            live=self.live,
            ended=self.ended,
            steps=self.steps,
            step_times=self.step_times,
            events=self.events,
            phases=self.phases,
            claimed_saves=self.claimed_saves,
            logs=self.logs,
            last_words=self.last_words,
            process_samples=self.process_samples,
            stacks=self.stacks,
            endings=self.endings,
            disks=self.disks,
            memory=self.memory,
            memory_shared=self.memory_shared,
            container=self.container,
            gpus=self.box.some_gpus(self.gpus.of_run or ()),
            stray_gpus=self.box.some_gpus(self.stray_gpus),
            gpus_known=self.gpus.of_run is not None,
            saving_at=self.saving_at,
            checkpoints=self.checkpoints,
            sources=tuple(self.sources.values()),
            accumulators=self.accumulators,
            gap_s=0.0 if self.gap_at is None else max(0.0, now - self.gap_at),
        )
        return self._shown

    def rest(self) -> None:
        """Keep of a run that has ended what is stored of it, and what is asked about it later.

        No sentinel is asked about it any more: its samples and what the accumulators have counted are
        dropped, but for the saves of its log, by which the advice on its cadence is worked out.
        """
        self.steps = _newest(self.steps, STEPS_SAVED)
        self.step_times = _newest(self.step_times, TIMES_SAVED)
        self.events = _newest(self.events, EVENTS_SAVED)
        self.process_samples, self.memory = (
            _newest(self.process_samples, 1),
            _newest(self.memory, 1),
        )
        self.stacks.clear()
        self.disks.clear()
        self.last_words.clear()
        self.curves = {name: curve.thinned() for name, curve in self.curves.items()}
        self.accumulators = {k: one for k, one in self.accumulators.items() if k is SaveLog}
        self._fed, self._shown = {}, None

    def save(self) -> dict[str, Any]:
        """State as plain JSON values, for :meth:`restore` after a restart of the daemon."""
        saved: dict[str, Any] = codec.dump(
            _Saved(
                list(self.step_times)[-TIMES_SAVED:],
                self.latest,
                self.latest_at,
                self.total,
                self.epoch,
                self.not_finite_since,
                [replace(p, text=mask(p.text)) for p in list(self.phases)[-16:]],
                self.curves,
                [s._replace(text=mask(s.text)) for s in list(self.steps)[-STEPS_SAVED:]],
                [_masked(event) for event in list(self.events)[-EVENTS_SAVED:]],
                list(self.claimed_saves)[-EVENTS_SAVED:],
                list(self.endings)[-EVENTS_SAVED:],
            )
        )
        return saved | {
            "ledgers": {kind.key(): one.save() for kind, one in self.accumulators.items()}
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Load what :meth:`save` returned. Raises ValueError for anything else."""
        known = codec.load(_Saved, saved)
        self.step_times.extend(known.step_times)
        self.latest, self.latest_at = known.latest, known.latest_at
        self.total, self.epoch = known.total, known.epoch
        self.not_finite_since = known.not_finite_since
        self.phases.extend(known.phases)
        self.curves = known.curves
        self.steps.extend(known.steps)
        self.events.extend(known.events)
        self.claimed_saves.extend(known.claimed_saves)
        self.endings.extend(known.endings)
        for kind, accumulator in self.accumulators.items():
            accumulator.restore(saved.get("ledgers", {}).get(kind.key(), {}))


def _newest(ring: deque[T], count: int) -> deque[T]:
    """The newest entries of a ring; the same ring would keep the memory of all."""
    return deque(list(ring)[-count:], ring.maxlen)


def _masked(event: LogEvent) -> LogEvent:
    return replace(event, text=mask(event.text), details=mask_values(event.details))


def _again(seen: ProcessEnded, known: Iterable[ProcessEnded]) -> bool:
    """True for an end that is seen once more after a restart of the daemon, when nobody can say any
    longer how the process ended."""
    if seen.exit_code is not None or seen.signal is not None:
        return False
    return any((one.pid, one.main) == (seen.pid, seen.main) for one in known)
