"""A run told step by step, and the View that a rule is shown of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from middlewatch.sentinels.kit import (
    CheckpointSaved,
    CheckpointSeen,
    DiskSample,
    Finding,
    GpuSample,
    LogEvent,
    LogGrowth,
    MemorySample,
    Observation,
    Phase,
    ProcessEnded,
    ProcessesSeen,
    ProcessSample,
    RunFacts,
    SourceState,
    StackSeen,
    Step,
    View,
    accumulators,
    discover,
)
from middlewatch.sentinels.kit.observations import (
    PhaseName,
    Role,
    SeverityName,
    SourceStateName,
    VerifiedState,
)

T = TypeVar("T")
Box = Callable[[Iterable[Any]], Sequence[Any]]

BEGIN = 1_760_000_000.0
"""When every story begins, in epoch seconds."""
MAIN = 100
"""Pid of the main process."""
GIB = 1 << 30
MIB = 1 << 20


def samples(main: str = "S", **others: Any) -> tuple[ProcessSample, ...]:
    """One process in a state; ``others`` are fields of its sample."""
    return (sample(state=main, **others),)


def sample(**fields: Any) -> ProcessSample:
    given = {"pid": MAIN, "start_ticks": 7, "ppid": 1, "name": "python", "state": "S", "cpu_s": 9.0}
    return ProcessSample(**{**given, **fields})


class Story:
    """Tells what was seen, at ``now``, which only moves forward.

    ``box`` is what sequences are kept in: the daemon keeps deques, which cannot be sliced.
    """

    def __init__(self, box: Box = tuple) -> None:
        self.box = box
        self.now = BEGIN
        self.facts = RunFacts("run7", BEGIN, BEGIN, MAIN, ours=True)
        self.live = True
        self.ended = False
        self.file = "/data/train.log"
        self.line = 0
        self.number = 0.0
        self.steps: list[Step] = []
        self.marks: list[tuple[float, float]] = []
        self.events: list[LogEvent] = []
        self.phases: list[Phase] = []
        self.claims: list[CheckpointSaved] = []
        self.logs: dict[str, LogGrowth] = {}
        self.looks: list[ProcessesSeen] = []
        self.lived_s = 0
        self.cpu_s = 0.0
        self.moved = 0.0
        self.stacks: list[StackSeen] = []
        self.endings: list[ProcessEnded] = []
        self.disks: dict[str, list[DiskSample]] = {}
        self.memory: list[MemorySample] = []
        self.gpus: dict[int, list[GpuSample]] = {}
        self.stray_gpus: dict[int, list[GpuSample]] = {}
        self.gpus_known = True
        self.checkpoints: list[CheckpointSeen] = []
        self.sources: list[SourceState] = []
        self.accumulators = {kind: kind() for kind in accumulators()}

    def seen(self, one: Observation) -> None:
        """Feed the accumulators, as the history does."""
        for accumulator in self.accumulators.values():
            if type(one) in accumulator.takes:
                accumulator.add(one)

    # -- the view ---------------------------------------------------------------------

    def view(self, **other: Any) -> View:
        box = self.box
        view = View(
            now=self.now if self.live else 0.0,
            run=self.facts,
            live=self.live,
            ended=self.ended,
            steps=box(self.steps),
            step_times=box(self.marks),
            events=box(self.events),
            phases=box(self.phases),
            claimed_saves=box(self.claims),
            logs=self.logs,
            process_samples=box(self.looks),
            stacks=box(self.stacks),
            endings=box(self.endings),
            disks={mount: box(seen) for mount, seen in self.disks.items()},
            memory=box(self.memory),
            gpus={index: box(seen) for index, seen in self.gpus.items()},
            stray_gpus={index: box(seen) for index, seen in self.stray_gpus.items()},
            gpus_known=self.gpus_known,
            checkpoints=box(self.checkpoints),
            sources=tuple(self.sources),
            accumulators=self.accumulators,
        )
        return replace(view, **other)

    def asks(self, name: str, limits: Any = None, **other: Any) -> list[Finding]:
        """What the sentinel called ``name`` says now."""
        return discover()[name](self.view(**other), limits)

    def all(self) -> list[Finding]:
        """What all sentinels say now."""
        return [finding for name in discover() for finding in self.asks(name)]

    # -- time ---------------------------------------------------------------------------

    def wait(self, seconds: float) -> Story:
        self.now += seconds
        return self

    @property
    def at(self) -> float:
        """The time that an observation carries: none in the replay of an old log."""
        return self.now if self.live else 0.0

    def replayed(self) -> Story:
        """From here on the story is an old log."""
        self.live = False
        return self

    def run(self, **facts: Any) -> Story:
        self.facts = replace(self.facts, **facts)
        return self

    # -- the log ------------------------------------------------------------------------

    def grow(self) -> Story:
        """A line of no interest."""
        self.line += 1
        self.logs[self.file] = LogGrowth(self.at, self.file, 80 * self.line, self.line, self.at)
        return self

    def step(self, every_s: float = 1.0, by: float = 1.0, **report: Any) -> Story:
        """One report of the next step. Values that are no fields of Step are metrics."""
        self.wait(every_s).grow()
        fields = {
            k: report.pop(k) for k in ("total", "rank", "epoch", "epochs", "text") if k in report
        }
        number = report.pop("number", self.number + by)
        values = {"train_loss": 2.0, **report}
        values = {k: v for k, v in values.items() if v is not None}
        step = Step(self.at, number, values, file=self.file, line=self.line, **fields)
        self.steps.append(step)
        self.seen(step)
        if number is not None and (not self.marks or self.marks[-1][1] != number):
            self.marks.append((self.at, number))
            self.number = number
        return self

    def ordered(self, values: dict[str, float]) -> Story:
        """A report of the next step with these values, in the order of its line."""
        self.wait(1).grow()
        self.number += 1
        self.marks.append((self.at, self.number))
        self.steps.append(Step(self.at, self.number, values, file=self.file, line=self.line))
        self.seen(self.steps[-1])
        return self

    def train(self, steps: int = 40, every_s: float = 1.0, by: float = 1.0, **report: Any) -> Story:
        for _ in range(steps):
            self.step(every_s, by, **report)
        return self

    def says(
        self,
        trouble: str,
        text: str = "",
        *,
        role: Role = "root",
        severity: SeverityName = "critical",
        fatal: bool = True,
        rank: int | None = None,
        file: str | None = None,
        **details: object,
    ) -> Story:
        """A line (of the log, or of another ``file``) that matches a signature."""
        self.grow()
        self.events.append(
            LogEvent(
                at=self.at,
                trouble=trouble,
                role=role,
                severity=severity,
                fatal=fatal,
                text=text or f"a line about {trouble}",
                file=self.file if file is None else file,
                line=self.line,
                rank=rank,
                details=details,
            )
        )
        self.seen(self.events[-1])
        return self

    def phase(self, name: PhaseName, text: str = "") -> Story:
        self.grow()
        self.phases.append(Phase(self.at, name, text or f"{name} …", self.file, self.line))
        self.seen(self.phases[-1])
        return self

    def claim(self, path: str = "/data/out/ckpt.pt", step: float | None = None) -> Story:
        self.grow()
        self.claims.append(CheckpointSaved(self.at, step, path, self.file, self.line))
        return self

    # -- the processes --------------------------------------------------------------------

    def idle(self, seconds: float, *processes: ProcessSample) -> Story:
        """Nothing happens for a while; the processes are looked at once a second."""
        return self.lives(seconds, 0.0, 0.0, *processes)

    def lives(
        self,
        seconds: float,
        cores: float,
        bytes_per_s: float | None,
        *processes: ProcessSample,
    ) -> Story:
        """The first of the processes burns CPU and moves bytes; every fifth look tells them."""
        first, *rest = processes or samples()
        end = self.now + seconds
        for _ in range(int(seconds)):
            self.now += 1
            self.lived_s += 1
            self.cpu_s += cores
            self.moved += bytes_per_s or 0.0
            closer = bytes_per_s is not None and self.lived_s % 5 == 0
            spent = replace(
                first,
                cpu_s=first.cpu_s + self.cpu_s,
                read_bytes=0 if closer else None,
                write_bytes=5000 + int(self.moved) if closer else None,
            )
            self.looks.append(ProcessesSeen(self.now, (spent, *rest)))
            self.seen(self.looks[-1])
        self.now = end
        self.looks = self.looks[-130:]
        return self

    def end(self, code: int | None = None, signal: int | None = None, **other: Any) -> Story:
        """The end of the main process, or of another one (``pid``, ``main=False``)."""
        fields = {"pid": MAIN, "main": True, "name": "python", **other}
        self.endings.append(ProcessEnded(self.at, exit_code=code, signal=signal, **fields))
        return self

    # -- the box --------------------------------------------------------------------------

    def disk(
        self,
        free: int,
        total: int = 100 * GIB,
        *,
        mount: str = "/data",
        inodes: tuple[int, int] | None = (900_000, 1_000_000),
        holds: tuple[str, ...] = ("checkpoints",),
        **other: Any,
    ) -> Story:
        """One look at a mount. ``inodes`` is (free, total)."""
        free_inodes, total_inodes = inodes or (None, None)
        self.disks.setdefault(mount, []).append(
            DiskSample(
                self.at,
                mount,
                other.pop("fstype", "ext4"),
                total,
                free,
                total_inodes,
                free_inodes,
                holds=holds,
                **other,
            )
        )
        self.seen(self.disks[mount][-1])
        return self

    def memory_look(
        self,
        kills: int | None = 0,
        *,
        current: int = GIB,
        limit: int | None = 4 * GIB,
        group: str = "/box",
    ) -> Story:
        self.memory.append(
            MemorySample(self.at, group, limit, current, min(current, GIB), oom_kills=kills)
        )
        self.seen(self.memory[-1])
        return self

    def gpu(self, index: int = 0, **fields: Any) -> Story:
        """One look at a GPU of the run; ``stray``: one that no run is known to use."""
        stray = bool(fields.pop("stray", False))
        given = {
            "uuid": f"GPU-{index}",
            "name": "H100",
            "util_ratio": 0.97,
            "power_w": 600.0,
            "power_limit_w": 700.0,
        }
        cards = self.stray_gpus if stray else self.gpus
        cards.setdefault(index, []).append(GpuSample(self.at, index, **{**given, **fields}))
        return self

    def saved(
        self,
        size: int = GIB,
        files: int = 4,
        *,
        path: str = "",
        state: VerifiedState = "ok",
        step: float | None = None,
    ) -> Story:
        """A checkpoint appears on disk."""
        number = self.number if step is None else step
        path = path or f"/data/out/checkpoint-{number:.0f}"
        self.checkpoints.append(
            CheckpointSeen(self.at, path, self.at, size, files, "hf", number, state=state)
        )
        self.seen(self.checkpoints[-1])
        return self

    def source(
        self, name: str, state: SourceStateName, since_s: float = 0.0, detail: str = ""
    ) -> Story:
        """A source that has been in a state for ``since_s`` seconds."""
        since = self.at - since_s
        self.sources.append(SourceState(since, name, state, since, detail))
        return self


BOXES: Mapping[str, Box] = {"tuple": tuple, "deque": deque}
