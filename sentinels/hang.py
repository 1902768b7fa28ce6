"""The run is alive and makes no progress.

Symptom: no new step for longer than this run ever paused, a silent log, and no process of
    it burns CPU, reads or writes.
Confirm: `py-spy dump --pid PID` for every rank; the rank whose stack differs is the odd one.
Cause: a collective in which one rank is missing, a DataLoader worker that waits for ever, a
    lock, a dead network mount (state D), a tracker that blocks, a GPU that stopped working.
Remedy:
    1. [safe] Take stacks of every rank before touching anything: `py-spy dump --pid PID`.
    2. [safe] State D: check the mount the process waits for; do not send signals.
    3. [costly] End the whole process group and resume from the last verified checkpoint.
Not: do not restart one rank alone; do not kill a process in state D; do not wait for a
    collective's own time-out of 10 to 30 minutes when the evidence is plain.
Retry: allowed once; a hang at the same step again is a bug or a broken node.
Classes: hang
Sources: limits measured on 79 real logs (457 run-hours): log silence alone gives a false
    alarm every 20 to 40 run-hours, so it only opens a case. Evidence thresholds (0.02 and
    0.2 core, 1 MiB/s) come from a dozen real process states. The longest healthy silence
    was 17 min, hence 30 min for phases and first steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import (
    Evidence,
    Finding,
    ProcessesSeen,
    ProcessSample,
    Sentinel,
    Severity,
    Step,
    View,
)
from .kit.numbers import median, number, pace, span


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.hang]`."""

    floor_s: float = 60.0
    """Shortest silence that opens a case."""
    evidence_s: float = 15.0
    """How long the processes are looked at before a verdict: three looks five seconds apart."""
    first_step_s: float = 1800.0
    """Patience before the first steps, and in a phase that the log announced."""
    few_steps_s: float = 300.0
    """Patience while fewer than eight intervals are known."""
    idle_cores: float = 0.02
    """CPU below which a whole run counts as idle (measured: deadlocks burn 0.00)."""
    busy_cores: float = 0.2
    """CPU above which a run counts as working."""
    busy_bytes_per_s: float = 1048576.0
    """Bytes read or written per second that count as working."""


QUIET_PHASES = ("compile", "load", "evaluate", "save")


@dataclass(frozen=True, slots=True)
class Work:
    """What the processes of a run did over the evidence window."""

    seconds: float
    cores: float
    bytes_per_s: float | None
    """Of read and write calls; ``None`` when that cannot be read."""
    blocked: tuple[ProcessSample, ...]
    """Processes in state D in every look."""
    sleeping: tuple[ProcessSample, ...]


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Open a case by silence, decide it by what the processes do."""
    if not view.live or view.ending is not None:
        return
    silent_s, limit_s, since = case(view, limits)
    if silent_s < limit_s:
        return
    work = look(view, limits.evidence_s)
    if work is None or any(p.state in "Tt" for p in view.looks[-1].processes):
        return  # no evidence, no verdict; a stopped process has its own sentinel
    if silent_s < limit_s + limits.evidence_s:
        return
    yield from _verdict(view, limits, work, silent_s, limit_s, since)


def case(view: View, limits: Limits) -> tuple[float, float, str]:
    """(seconds of silence, limit that opens a case, what it is silent since)."""
    beginning = max(view.run.started_at, view.run.watched_since)
    marks = view.step_times
    last = marks[-1][0] if marks else beginning
    progress = [last, *(c.saved_at for c in view.checkpoints if c.saved_at <= view.now)]
    if view.gap_s:
        progress.append(view.now - view.gap_s)  # what happened while we were away is unknown
    silent = view.now - max(progress)
    what = f"step {number(marks[-1][1])}" if marks else "the start"
    if silent < limits.floor_s:
        return silent, limits.floor_s, what  # no limit is shorter: spare the arithmetic
    rhythm = pace(marks)
    if rhythm is None:
        return silent, limits.first_step_s, what
    limit = rhythm.limit_s(limits.floor_s)
    if rhythm.marks < 8:
        limit = max(limit, limits.few_steps_s)
    announced = [p for p in view.phases if p.at >= last and p.name in QUIET_PHASES]
    if announced:
        limit = max(limit, limits.first_step_s)
        what += f" ({announced[-1].name} announced)"
    return silent, limit, what


def look(view: View, window_s: float) -> Work | None:
    """What the processes did in the last ``window_s`` seconds; ``None`` without two looks."""
    looks = [s for s in view.looks if s.at >= view.now - window_s - 1.5]
    if len(looks) < 3 or not looks[-1].processes or looks[-1].at - looks[0].at < 0.8 * window_s:
        return None
    first, last = looks[0], looks[-1]
    seconds = last.at - first.at
    if len([s for s in looks if _tells_bytes(s)]) == 1:
        return None  # I/O can be read here, but not yet often enough to tell a rate
    before = {(p.pid, p.start_ticks): p for p in first.processes}
    cpu = sum(
        p.cpu_s - before[p.pid, p.start_ticks].cpu_s
        if (p.pid, p.start_ticks) in before
        else p.cpu_s
        for p in last.processes
    )
    states: dict[int, set[str]] = {}
    for seen in looks:
        for p in seen.processes:
            states.setdefault(p.pid, set()).add(p.state)
    return Work(
        seconds=seconds,
        cores=max(0.0, cpu) / seconds,
        bytes_per_s=_rate(looks),
        blocked=tuple(p for p in last.processes if states[p.pid] == {"D"}),
        sleeping=tuple(p for p in last.processes if states[p.pid] == {"S"}),
    )


def _tells_bytes(seen: ProcessesSeen) -> bool:
    return any(p.write_bytes is not None for p in seen.processes)


def _rate(looks: list[ProcessesSeen]) -> float | None:
    """Bytes per second of all read and write calls, from the looks that carry them."""
    counted = [s for s in looks if _tells_bytes(s)]
    if len(counted) < 2:
        return None
    totals = [sum((p.read_bytes or 0) + (p.write_bytes or 0) for p in s.processes) for s in counted]
    return max(0.0, totals[-1] - totals[0]) / (counted[-1].at - counted[0].at)


def _gpu_works(view: View) -> bool:
    """True when a GPU was busy in the last seconds and drew what it draws at work."""
    for samples in view.gpus.values():
        recent = [s for s in samples if s.at >= view.now - 15]
        busy = [s.util_ratio for s in recent if s.util_ratio is not None]
        if not busy or median(busy) < 0.05:
            continue
        power = [s.power_w for s in recent if s.power_w is not None]
        usual = [s.power_w for s in samples if s.power_w is not None]
        if not power or not usual or median(power) >= 0.5 * max(usual):
            return True
    return False


def _verdict(
    view: View, limits: Limits, work: Work, silent_s: float, limit_s: float, since: str
) -> Iterator[Finding]:
    heard = [at for at in (view.grown_at, view.saving_at) if at is not None]
    growing = bool(heard) and view.now - max(heard) < limits.evidence_s
    moving = work.bytes_per_s is not None and work.bytes_per_s >= limits.busy_bytes_per_s
    if work.blocked:
        names = ", ".join(f"{p.pid} ({p.wchan or p.name})" for p in work.blocked[:4])
        verdict, severity = f"waits in the kernel (state D): {names}", Severity.CRITICAL
        remedy = "check the mount it waits for (ls on it may hang too); send no signals"
    elif growing or moving or work.cores >= limits.busy_cores or _gpu_works(view):
        if silent_s < max(limits.first_step_s, 3 * limit_s):
            return
        verdict, severity = "works, but no step came for very long", Severity.INFO
        remedy = "look at what it does: py-spy dump --pid PID"
    elif work.cores < limits.idle_cores:
        verdict, severity = "does nothing at all", Severity.CRITICAL
        remedy = ""
    else:
        if silent_s < 2 * limit_s:
            return
        verdict, severity = "hardly does anything", Severity.WARNING
        remedy = ""
    moved = "unknown" if work.bytes_per_s is None else f"{work.bytes_per_s / 1024:.0f} KiB/s"
    yield Finding(
        trouble="hang",
        key="progress",
        severity=severity,
        fatal=severity is Severity.CRITICAL,
        summary=f"no progress since {since} for {span(silent_s)} (usual limit "
        f"{span(limit_s)}); the run {verdict}",
        evidence=(
            Evidence(
                "process",
                f"{work.cores:.2f} cores and {moved} read and written over {work.seconds:.0f} s",
                view.now,
            ),
            *(
                Evidence("process", _line(p), view.now)
                for p in sorted(view.looks[-1].processes, key=lambda p: (p.rank is None, p.pid))[:6]
            ),
        ),
        remedy=remedy,
        details={"silent_s": round(silent_s, 1), "limit_s": round(limit_s, 1), "cores": work.cores},
    )


def _line(p: ProcessSample) -> str:
    rank = "" if p.rank is None else f" rank {p.rank}"
    wchan = f" in {p.wchan}" if p.wchan and p.wchan != "0" else ""
    return f"pid {p.pid}{rank} {p.name}: state {p.state}{wchan}, {p.cpu_s:.0f} s CPU so far"


SENTINEL = Sentinel(check, Limits(), on=(Step, ProcessesSeen), every_tick=True, clears_after_s=5.0)
