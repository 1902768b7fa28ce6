"""What the processes and GPUs of a run did lately: the evidence that decides a hang."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .numbers import median
from .observations import GpuSample, ProcessesSeen, ProcessSample
from .view import View

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

_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Work:
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


def work_of(looks: Sequence[ProcessesSeen], now: float, window_s: float) -> Work | None:
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
    states: dict[_Identity, set[str]] = {}
    for seen in recent:
        for p in seen.processes:
            states.setdefault((p.pid, p.start_ticks), set()).add(p.state)
    return Work(
        seconds=seconds,
        cores=_cpu_s(first, last) / seconds,
        bytes_per_s=sum(moved.values()) / between_s if between_s > 0 else None,
        blocked=tuple(
            p
            for p in last.processes
            if states[p.pid, p.start_ticks] == {"D"} and not moved.get((p.pid, p.start_ticks))
        ),
        runnable_ratio=sum(any(p.state == "R" for p in s.processes) for s in recent) / len(recent),
    )


def _cpu_s(first: ProcessesSeen, last: ProcessesSeen) -> float:
    """CPU seconds between two looks, all of them for processes that are new."""
    before = {(p.pid, p.start_ticks): p.cpu_s for p in first.processes}
    spent = (p.cpu_s - before.get((p.pid, p.start_ticks), 0.0) for p in last.processes)
    return sum(max(0.0, s) for s in spent)


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


def gpu_works(view: View, since: float) -> bool:
    """True when a GPU is busy and draws what it drew at work, before ``since``."""
    return any(_works(samples, view.now, since) for samples in view.gpus.values())


def _works(samples: Sequence[GpuSample], now: float, since: float) -> bool:
    recent = [s for s in samples if s.at >= now - GPU_LOOK_S]
    busy = [s.util_ratio for s in recent if s.util_ratio is not None]
    if not busy or median(busy) < GPU_BUSY:
        return False
    power = [s.power_w for s in recent if s.power_w is not None]
    usual = [s.power_w for s in samples if s.power_w is not None and s.at <= since]
    if not usual:
        usual = [USUAL_DRAW * s.power_limit_w for s in recent if s.power_limit_w is not None]
    return not power or not usual or median(power) >= AT_WORK * max(usual)
