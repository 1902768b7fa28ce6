"""What the processes and GPUs of a run did lately: the evidence that decides a hang."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..numbers import median
from ..observations import GpuSample, ProcessesSeen, ProcessSample
from ..view import View

LOOKS = 3
"""Fewer looks at the processes are no evidence."""
GPU_LOOK_S = 15.0
"""Seconds of GPU samples that count as now."""
GPU_BUSY = 0.05
"""Utilisation below which a GPU does nothing."""
AT_WORK = 0.5
"""Part of its usual draw that a working GPU reaches. Ranks that wait for another one in a
collective show 100 % utilisation at 20 to 40 % of it."""
USUAL_DRAW = 0.5
"""Part of its power limit that a GPU is taken to draw at work when what it drew before is not
known any more. With ``AT_WORK`` that is a quarter: a V100 in a collective that hung was seen
at 48 of 250 W."""

COMPILERS = (
    "nvcc",
    "cicc",
    "ptxas",
    "ninja",
    "cc1plus",
    "cc1",
    "gcc",
    "g++",
    "clang",
    "triton",
    "inductor",
)
"""How the names of programs begin that a silent run may wait for: it compiles. They count while
they burn CPU or come and go; a pool of compile workers that sleeps does not."""
BUSY = 0.8
"""Part of the looks that find a process on a CPU, or wanting one, from which it never rests."""
RESTS = 0.1
"""Cores below which a process waits rather than works."""
FLAT = 0.02
"""Deviation of the draw of a GPU, in parts of its mean, below which nothing changes on it."""
SPINS = 0.98
"""Utilisation of a GPU that waits in a kernel of a collective."""
DRAINED = 0.05
"""Utilisation of a GPU that gets nothing to do."""

_Identity = tuple[int, int]


class ProcessActivity(NamedTuple):
    """One process that lives, and what it did over the evidence window."""

    sample: ProcessSample
    """As in the newest look, with the kernel function it slept in when that was last read."""
    cores: float
    runnable_ratio: float
    """Part of the looks that found it in state R."""

    @property
    def never_rests(self) -> bool:
        """It burns a core, or would if it got one."""
        return self.cores >= BUSY or self.runnable_ratio >= BUSY

    @property
    def waits(self) -> bool:
        """It does next to nothing, by itself."""
        return self.cores < RESTS and self.runnable_ratio < 0.25


@dataclass(frozen=True, slots=True)
class RunActivity:
    """What the processes of a run did over the evidence window."""

    seconds: float
    cores: float
    bytes_per_s: float | None
    """Of read and write calls; ``None`` when that cannot be read."""
    blocked: tuple[ProcessSample, ...]
    """Processes in state D in every look that finished no read or write meanwhile."""
    runnable_ratio: float = 0.0
    """Part of the looks in which a process wanted a CPU (state R), whether it got one or not:
    on a crowded box a working process burns little."""
    doing: tuple[ProcessActivity, ...] = ()
    compiler: str = ""
    """Name of a compiler that is at work among the children."""


def work_of(looks: Sequence[ProcessesSeen], now: float, window_s: float) -> RunActivity | None:
    """What was done in the last ``window_s`` seconds; ``None`` when that cannot be told."""
    recent: list[ProcessesSeen] = []
    for seen in reversed(looks):
        if seen.at < now - window_s - 1.5:
            break
        recent.append(seen)
    recent.reverse()
    if len(recent) < LOOKS or not recent[-1].processes:
        return None
    first, last = recent[0], recent[-1]
    seconds = last.at - first.at
    counted = [seen for seen in recent if any(_moved(p) is not None for p in seen.processes)]
    if seconds < 0.8 * window_s or seconds <= 0 or len(counted) == 1:
        return None  # one count of bytes: they can be read here, but tell no rate yet
    moved = _bytes(counted[0], counted[-1]) if counted else {}
    between_s = counted[-1].at - counted[0].at if counted else 0.0
    states: dict[_Identity, list[str]] = {}
    slept: dict[_Identity, str] = {}
    newest: dict[_Identity, ProcessSample] = {}
    for seen in recent:
        for p in seen.processes:
            states.setdefault((p.pid, p.start_ticks), []).append(p.state)
            newest[p.pid, p.start_ticks] = p
            if p.wchan:
                slept[p.pid, p.start_ticks] = p.wchan
    spent = _cpu_s(first, newest)
    doing = tuple(
        ProcessActivity(
            p if p.wchan or identity not in slept else replace(p, wchan=slept[identity]),
            spent[identity] / seconds,
            states[identity].count("R") / len(states[identity]),
        )
        for p in last.processes
        for identity in ((p.pid, p.start_ticks),)
    )
    return RunActivity(
        seconds=seconds,
        cores=sum(spent.values()) / seconds,
        bytes_per_s=sum(moved.values()) / between_s if between_s > 0 else None,
        blocked=tuple(
            p
            for p in last.processes
            if set(states[p.pid, p.start_ticks]) == {"D"} and not moved.get((p.pid, p.start_ticks))
        ),
        runnable_ratio=sum(any(p.state == "R" for p in s.processes) for s in recent) / len(recent),
        doing=doing,
        compiler=_compiler(recent, doing),
    )


def _compiler(recent: Sequence[ProcessesSeen], doing: Sequence[ProcessActivity]) -> str:
    """The name of a compiler that works: it burns CPU, or another one has come since."""
    before = {(p.pid, p.start_ticks) for p in recent[0].processes}
    for one in doing:
        p = one.sample
        fresh = (p.pid, p.start_ticks) not in before
        if p.name.startswith(COMPILERS) and (fresh or not one.waits):
            return p.name
    return ""


_PARTS = ("sh", "bash", "dash", "zsh", "tee", "env", "sudo", "timeout", "numactl", "tmux", "srun")
"""Programs around a training that only wait for it."""


def trainers(view: View, work: RunActivity) -> tuple[ProcessActivity, ...]:
    """The processes that train: the ranks, else the topmost one that is no shell."""
    ranks = tuple(d for d in work.doing if d.sample.rank is not None)
    if ranks:
        return tuple(sorted(ranks, key=lambda d: (d.sample.rank or 0, d.sample.pid)))
    real = [d for d in work.doing if d.sample.name not in _PARTS]
    pids = {d.sample.pid for d in real}
    top = [d for d in real if d.sample.ppid not in pids]
    main = [d for d in top if d.sample.pid == view.run.pid]
    python = [d for d in top if d.sample.name.startswith(("python", "pt_"))]
    return tuple((main or python or top)[:1])


def workers_of(trainer: ProcessActivity, work: RunActivity) -> tuple[ProcessActivity, ...]:
    """The processes that feed a trainer: its children, but no compilers and no shells."""
    return tuple(
        d
        for d in work.doing
        if d.sample.ppid == trainer.sample.pid
        and d.sample.name not in _PARTS
        and not d.sample.name.startswith(COMPILERS)
    )


def _cpu_s(
    first: ProcessesSeen, newest: Mapping[_Identity, ProcessSample]
) -> dict[_Identity, float]:
    """CPU seconds of each process since a look, all of them for those that are new.

    One that has ended meanwhile counts with what it was last seen to have used: a compiler
    that is done has worked.
    """
    before = {(p.pid, p.start_ticks): p.cpu_s for p in first.processes}
    return {one: max(0.0, p.cpu_s - before.get(one, 0.0)) for one, p in newest.items()}


def _moved(p: ProcessSample) -> int | None:
    if p.read_bytes is None and p.write_bytes is None:
        return None
    return (p.read_bytes or 0) + (p.write_bytes or 0)


def _bytes(first: ProcessesSeen, last: ProcessesSeen) -> dict[_Identity, int]:
    """Bytes read and written between two looks by every process that can be told of."""
    before = {(p.pid, p.start_ticks): _moved(p) for p in first.processes}
    found = {}
    for p in last.processes:
        now, then = _moved(p), before.get((p.pid, p.start_ticks), 0)
        if now is not None and then is not None:
            found[p.pid, p.start_ticks] = max(0, now - then)
    return found


def progress(
    view: View, work: RunActivity, since: float, window_s: float, bytes_per_s: float
) -> str:
    """What of a silent run gets on, for a person; empty when nothing does."""
    # A time that is yet to come was seen before the clock was set back, and tells nothing.
    if view.grown_at is not None and 0 <= view.now - view.grown_at < window_s:
        return "its log grows"
    if view.saving_at is not None and 0 <= view.now - view.saving_at < window_s:
        return "a checkpoint grows"
    if work.bytes_per_s is not None and work.bytes_per_s >= bytes_per_s:
        return "it reads or writes"
    if work.compiler:
        return f"it compiles ({work.compiler})"
    return "a GPU works" if gpu_works(view, since) else ""


def starved(
    view: View, work: RunActivity
) -> tuple[ProcessActivity, tuple[ProcessActivity, ...]] | None:
    """(a trainer that waits, its workers that burn CPU); ``None`` where nobody is starved.

    Every trainer waits, so what works are the workers; and no GPU has anything to do.
    """
    who = trainers(view, work)
    if not who or not all(d.waits for d in who) or gpus_idle(view) is False:
        return None
    for trainer in who:
        feeding = workers_of(trainer, work)
        if sum(d.cores for d in feeding) >= 0.5 or any(d.never_rests for d in feeding):
            return trainer, feeding
    return None


def gpu_works(view: View, since: float) -> bool:
    """True when a GPU is busy and draws what it drew at work, before ``since``."""
    return any(_works(samples, view.now, since) for samples in view.gpus.values())


def gpus_idle(view: View) -> bool | None:
    """True when no GPU of the box gets anything to do; ``None`` when none tells."""
    told = []
    for samples in view.gpus.values():
        busy = [s.util_ratio for s in _recent(samples, view.now) if s.util_ratio is not None]
        if busy:
            told.append(median(busy))
    return max(told) < DRAINED if told else None


def gpus_spinning(view: View, since: float) -> tuple[int, ...]:
    """GPUs at full utilisation that draw little, and always the same: they wait in a kernel."""
    return tuple(i for i, samples in view.gpus.items() if _spins(samples, view.now, since))


def _recent(samples: Sequence[GpuSample], now: float) -> list[GpuSample]:
    return [s for s in samples if s.at >= now - GPU_LOOK_S]


def _works(samples: Sequence[GpuSample], now: float, since: float) -> bool:
    recent = _recent(samples, now)
    busy = [s.util_ratio for s in recent if s.util_ratio is not None]
    if not busy or median(busy) < GPU_BUSY:
        return False
    power = [s.power_w for s in recent if s.power_w is not None]
    usual = _usual_w(samples, recent, since)
    return not power or usual is None or median(power) >= AT_WORK * usual


def _spins(samples: Sequence[GpuSample], now: float, since: float) -> bool:
    recent = _recent(samples, now)
    busy = [s.util_ratio for s in recent if s.util_ratio is not None]
    power = [s.power_w for s in recent if s.power_w is not None]
    if len(power) < LOOKS or not busy or median(busy) < SPINS:
        return False
    usual, mean = _usual_w(samples, recent, since), sum(power) / len(power)
    flat = max(power) - min(power) <= 4 * FLAT * mean  # two deviations to either side
    return usual is not None and flat and mean < AT_WORK * usual


def _usual_w(
    samples: Sequence[GpuSample], recent: Sequence[GpuSample], since: float
) -> float | None:
    """What a GPU draws at work: seen before the silence, else remembered, else supposed."""
    before = [s.power_w for s in samples if s.power_w is not None and s.at <= since]
    if before:
        return max(before)
    known = [s.power_usual_w for s in recent if s.power_usual_w is not None]
    known = known or [USUAL_DRAW * s.power_limit_w for s in recent if s.power_limit_w is not None]
    return max(known, default=None)
