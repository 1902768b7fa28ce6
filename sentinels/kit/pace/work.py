"""What the processes and GPUs of a run did recently: the evidence by which a hang is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from ..gpu_sample import GpuSample
from ..gpus import used
from ..numbers import median
from ..observations import ProcessesSeen, ProcessSample
from ..view import View
from .silence import announced_phases

LOOKS = 3
"""Process samples needed as evidence."""
GPU_LOOK_S = 15.0
"""Age in seconds up to which GPU samples count as the present."""
GPU_BUSY = 0.05
"""Utilisation below which a GPU does nothing."""
AT_WORK = 0.5
"""Part of its usual power draw that a working GPU reaches. GPUs of ranks that wait for another rank
in a collective show 100 % utilisation at 20 to 40 % of that power."""
USUAL_DRAW = 0.5
"""Part of its power limit that is assumed as the usual draw of a GPU when that is not known. With
``AT_WORK`` the limit is a quarter: a V100 in a collective that hung was seen at 48 of 250 W."""

NET_BYTES_PER_S = 8192.0
"""Bytes per second through sockets, in every interval between two looks, from which a silent run
transfers something. What trackers, heartbeats of launchers and idle collectives send is less, or
comes at intervals."""

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
"""Beginnings of the names of compilers, for which a silent run may wait. They count while they use
CPU, or when new ones start; a pool of compile workers that sleeps does not."""
BUSY = 0.8
"""A process never rests if it uses this many cores, or is in state R (running or waiting for a CPU)
in this part of the samples."""
RESTS = 0.1
"""Cores below which a process waits rather than works."""
FLAT = 0.02
"""Deviation of the power draw of a GPU, as a part of its mean, up to which it is constant."""
SPINS = 0.98
"""Utilisation from which a GPU may be waiting in a kernel of a collective."""
RESTING = 0.005
"""Part of the time in which the memory of a GPU is used, below which a kernel computes nothing: a spinning one shows 0 %,
and a training with 2 % utilisation already 1 % (measured on an H100; the driver counts whole percents)."""
DRAINED = 0.05
"""Utilisation below which a GPU has nothing to do."""

_Identity = tuple[int, int]


class ProcessActivity(NamedTuple):
    """One living process, and what it did in the time in which the processes were examined."""

    sample: ProcessSample
    """The newest sample; if that has no ``wchan``, with the last one that was read."""
    cores: float
    runnable_ratio: float
    """Part of the samples in which it was in state R."""
    sleeps: bool = False
    """In all samples it was in one and the same call that waits for a time and for nothing else
    (``time.sleep``)."""
    naps: bool = False
    """In all samples it was in such a call, not always the same one."""

    @property
    def never_rests(self) -> bool:
        """True when it uses a core, or would if it got one."""
        return self.cores >= BUSY or self.runnable_ratio >= BUSY

    @property
    def waits(self) -> bool:
        """True when it does next to nothing."""
        return self.cores < RESTS and self.runnable_ratio < 0.25


@dataclass(frozen=True, slots=True)
class RunActivity:
    """What the processes of a run did in the time in which they were examined."""

    seconds: float
    cores: float
    bytes_per_s: float | None
    """Bytes per second of read and write calls; ``None`` when that cannot be read."""
    blocked: tuple[ProcessSample, ...]
    """Processes that were in state D in every sample and finished no read or write meanwhile."""
    runnable_ratio: float = 0.0
    """Part of the samples in which some process was in state R, whether it got a CPU or not: on a
    crowded box a working process gets little CPU time."""
    doing: tuple[ProcessActivity, ...] = ()
    compiler: str = ""
    """Name of a compiler that is at work among the processes; empty without one."""
    net_bytes_per_s: float | None = None
    """Bytes per second that came and went through sockets, in the slowest interval between two
    looks; ``None`` when that cannot be read."""


def work_of(looks: Sequence[ProcessesSeen], now: float, window_s: float) -> RunActivity | None:
    """What was done in the last ``window_s`` seconds; ``None`` when there are too few samples."""
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
        return None  # only one count of bytes: no rate yet
    moved = _bytes(counted[0], counted[-1]) if counted else {}
    between_s = counted[-1].at - counted[0].at if counted else 0.0
    states: dict[_Identity, list[str]] = {}
    slept: dict[_Identity, str] = {}
    newest: dict[_Identity, ProcessSample] = {}
    looks_of: dict[_Identity, list[ProcessSample]] = {}
    for seen in recent:
        for p in seen.processes:
            states.setdefault((p.pid, p.start_ticks), []).append(p.state)
            looks_of.setdefault((p.pid, p.start_ticks), []).append(p)
            newest[p.pid, p.start_ticks] = p
            if p.wchan:
                slept[p.pid, p.start_ticks] = p.wchan
    spent = _cpu_s(first, newest)
    doing = tuple(
        ProcessActivity(
            p if p.wchan or identity not in slept else replace(p, wchan=slept[identity]),
            spent[identity] / seconds,
            states[identity].count("R") / len(states[identity]),
            _asleep(looks_of[identity]),
            _naps(looks_of[identity]),
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
        net_bytes_per_s=_net(recent),
    )


def _asleep(looks: Sequence[ProcessSample]) -> bool:
    """True for a process that was not woken between the first and the last of these samples, and waits
    for a time in the kernel."""
    counted = [p for p in looks if p.switches is not None]
    return len(counted) >= LOOKS and len({p.switches for p in counted}) == 1 and _naps(counted)


def _naps(looks: Sequence[ProcessSample]) -> bool:
    """True for a process that waited for a time in the kernel whenever it was looked at."""
    known = [p.wchan for p in looks if p.wchan]
    return len(known) >= LOOKS and all("nanosleep" in where for where in known)


def _net(recent: Sequence[ProcessesSeen]) -> float | None:
    """The least bytes per second through sockets between two looks that counted them."""
    counted = [
        (seen.at, {(p.pid, p.start_ticks): p.socket_bytes for p in seen.processes})
        for seen in recent
        if any(p.socket_bytes is not None for p in seen.processes)
    ]
    rates = [
        sum(max(0, (b or 0) - (older.get(who) or 0)) for who, b in newer.items()) / (at - before)
        for (before, older), (at, newer) in pairwise(counted)
        if at > before
    ]
    return min(rates, default=None)


def _compiler(recent: Sequence[ProcessesSeen], doing: Sequence[ProcessActivity]) -> str:
    """The name of a compiler at work: it uses CPU, or has started since the first sample."""
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
    """The processes that train: those with a rank, else one at the top of the process tree that is
    no shell."""
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
    """The processes that may feed a trainer: its children, except compilers and shells."""
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
    """CPU seconds of each process since the sample ``first``; for new ones, since their start.

    A process that has ended counts with its last sample: a compiler that is done has worked.
    """
    before = {(p.pid, p.start_ticks): p.cpu_s for p in first.processes}
    return {one: max(0.0, p.cpu_s - before.get(one, 0.0)) for one, p in newest.items()}


def _moved(p: ProcessSample) -> int | None:
    if p.read_bytes is None and p.write_bytes is None:
        return None
    return (p.read_bytes or 0) + (p.write_bytes or 0)


def _bytes(first: ProcessesSeen, last: ProcessesSeen) -> dict[_Identity, int]:
    """Bytes read and written between two samples by each process for which both are known."""
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
    """Which part of a silent run makes progress, for a person; empty when none does."""
    # A time in the future was seen before the clock was set back: it means nothing.
    if view.heard_at is not None and 0 <= view.now - view.heard_at < window_s:
        return "its log grows"
    if view.saving_at is not None and 0 <= view.now - view.saving_at < window_s:
        return "a checkpoint grows"
    if work.bytes_per_s is not None and work.bytes_per_s >= bytes_per_s:
        return "it reads or writes"
    if work.net_bytes_per_s is not None:
        transfers = any(phase.name == "transfer" for phase in announced_phases(view))
        if work.net_bytes_per_s >= (1.0 if transfers else NET_BYTES_PER_S):
            return "it sends or receives"
    if work.compiler:
        return f"it compiles ({work.compiler})"
    return "a GPU works" if gpu_works(view, since) else ""


def starved(
    view: View, work: RunActivity
) -> tuple[ProcessActivity, tuple[ProcessActivity, ...]] | None:
    """(a trainer that waits for input, its workers that use CPU); ``None`` without such a trainer.

    All trainers must wait, and no GPU may have anything to do.
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
    """True when a GPU of the run is busy and draws at least :data:`AT_WORK` of its power before
    ``since``."""
    return any(_works(samples, view.now, since) for _, samples in used(view))


def gpus_idle(view: View) -> bool | None:
    """True when no GPU of the run has anything to do; ``None`` when that is not known."""
    told = []
    for _, samples in used(view):
        busy = [s.util_ratio for s in _recent(samples, view.now) if s.util_ratio is not None]
        if busy:
            told.append(median(busy))
    return max(told) < DRAINED if told else None


def gpus_spinning(view: View, since: float) -> tuple[int, ...]:
    """Indexes of GPUs that wait in a kernel: at full utilisation, with low and constant power."""
    return tuple(i for i, samples in used(view) if _spins(samples, view.now, since))


def _recent(samples: Sequence[GpuSample], now: float) -> list[GpuSample]:
    return [s for s in samples if s.at >= now - GPU_LOOK_S]


def _works(samples: Sequence[GpuSample], now: float, since: float) -> bool:
    recent = _recent(samples, now)
    busy = [s.util_ratio for s in recent if s.util_ratio is not None]
    if not busy or median(busy) < GPU_BUSY or _spins(samples, now, since):
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
    low = usual is not None and mean < AT_WORK * usual
    return flat and (low or _memory_rests(samples, recent, since))


def _memory_rests(samples: Sequence[GpuSample], recent: Sequence[GpuSample], since: float) -> bool:
    """True for a GPU whose memory was used before ``since`` and is not used any more.

    What a small model draws at work is hardly more than the clocks alone do (117 of 125 W were seen
    on an H100), so that its power says nothing.
    """
    now = [s.mem_busy_ratio for s in recent if s.mem_busy_ratio is not None]
    before = (s.mem_busy_ratio or 0.0 for s in samples if s.at <= since)
    return len(now) >= LOOKS and max(now) < RESTING and any(used >= RESTING for used in before)


def _usual_w(
    samples: Sequence[GpuSample], recent: Sequence[GpuSample], since: float
) -> float | None:
    """Usual power draw in watts of a GPU at work: the most that was seen before ``since``, else the
    remembered one, else :data:`USUAL_DRAW` of its limit; ``None`` when unknown."""
    before = [s.power_w for s in samples if s.power_w is not None and s.at <= since]
    if before:
        return max(before)
    known = [s.power_usual_w for s in recent if s.power_usual_w is not None]
    known = known or [USUAL_DRAW * s.power_limit_w for s in recent if s.power_limit_w is not None]
    return max(known, default=None)
