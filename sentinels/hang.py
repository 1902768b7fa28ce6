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

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from .kit import (
    Evidence,
    Finding,
    LogEvent,
    ProcessesSeen,
    ProcessSample,
    Sentinel,
    Severity,
    Step,
    View,
)
from .kit.numbers import number, pace, span
from .kit.progress import completed
from .kit.troubles import Troubles
from .kit.work import Work, gpu_works, work_of

CLASSES = ("hang",)


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
    busy_runnable_ratio: float = 0.25
    """Part of the looks that find a process wanting a CPU, from which a run counts as working
    however little it got: a deadlock never wants one, a neighbour may take what it wants."""
    busy_bytes_per_s: float = 1048576.0
    """Bytes read or written per second that count as working."""
    idle_bytes_per_s: float = 65536.0
    """Bytes per second below which nothing is saved or loaded: what is left of a deadlocked
    run (a tracker's thread) still moves a few KiB."""
    phase_times: float = 1.5
    """A phase may take this many times its longest so far, once it was seen twice."""


QUIET_PHASES = ("compile", "load", "evaluate", "save")


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Open a case by silence, decide it by what the processes do."""
    if not view.live:
        troubles = view.ledger(Troubles)
        if troubles is not None:
            yield from troubles.told(of=CLASSES)
        return
    if view.ending is not None:
        return
    silent_s, limit_s, since = case(view, limits)
    if silent_s < limit_s + limits.evidence_s:
        return
    work = work_of(view.looks, view.now, limits.evidence_s)
    if work is None or any(p.state in ("T", "t") for p in view.looks[-1].processes):
        return  # no evidence, no verdict; a stopped process has its own sentinel
    verdict = _verdict(view, limits, work, silent_s, limit_s)
    if verdict is not None:
        yield _finding(view, work, verdict, (silent_s, limit_s, since))


def case(view: View, limits: Limits) -> tuple[float, float, str]:
    """(seconds of silence, limit that opens a case, what it is silent since)."""
    beginning = max(view.run.started_at, view.run.watched_since)
    marks = view.step_times
    last = marks[-1][0] if marks else beginning
    saved = next((c.saved_at for c in reversed(view.checkpoints) if c.saved_at <= view.now), last)
    # What happened while the watch itself was away is unknown.
    away = view.now - view.gap_s if view.gap_s else last
    silent = view.now - max(last, saved, away)
    what = f"step {number(marks[-1][1])}" if marks else "the start"
    if silent < limits.floor_s:
        return silent, limits.floor_s, what  # no limit is shorter: spare the arithmetic
    rhythm = pace(marks)
    if rhythm is None:
        return silent, limits.first_step_s, what
    limit = rhythm.limit_s(limits.floor_s)
    if rhythm.marks < 8:
        limit = max(limit, limits.few_steps_s)
    announced = [p.name for p in view.phases_since_step() if p.name in QUIET_PHASES]
    if announced:
        limit = max(limit, *(_patience(view, limits, name) for name in set(announced)))
        what += f" ({announced[-1]} announced)"
    return silent, limit, what


def _patience(view: View, limits: Limits, name: str) -> float:
    """How long a phase of this name may last: learned from those that came back."""
    times = [at for at, _ in view.step_times]
    seen: dict[int, float] = {}
    for phase in view.phases:
        after = bisect.bisect_right(times, phase.at)
        if phase.name == name and 0 < after < len(times):
            seen[after] = times[after] - times[after - 1]
    if len(seen) < 2:
        return limits.first_step_s
    return max(limits.few_steps_s, limits.phase_times * max(seen.values()))


def _verdict(
    view: View, limits: Limits, work: Work, silent_s: float, limit_s: float
) -> tuple[Severity, str, str] | None:
    """(severity, what the run does, first remedy); ``None`` while there is nothing to say."""
    heard = [at for at in (view.grown_at, view.saving_at) if at is not None]
    growing = bool(heard) and view.now - max(heard) < limits.evidence_s
    moving = work.bytes_per_s is not None and work.bytes_per_s >= limits.busy_bytes_per_s
    busy = (
        work.cores >= limits.busy_cores
        or work.runnable_ratio >= limits.busy_runnable_ratio
        or gpu_works(view, view.now - silent_s)
    )
    working = growing or moving or busy
    # One process that waits for a disk is no trouble while the others work, unless for long.
    if work.blocked and (not working or silent_s >= 2 * limit_s):
        names = ", ".join(f"{p.pid} ({p.wchan or p.name})" for p in work.blocked[:4])
        remedy = "check the mount it waits for (ls on it may hang too); send no signals"
        return Severity.CRITICAL, f"waits in the kernel (state D): {names}", remedy
    if working:
        if silent_s < max(limits.first_step_s, 3 * limit_s):
            return None
        remedy = "look at what it does: py-spy dump --pid PID"
        return Severity.INFO, "works, but no step came for very long", remedy
    if work.cores < limits.idle_cores and (work.bytes_per_s or 0.0) < limits.idle_bytes_per_s:
        if completed(view):
            remedy = "check that the last checkpoint is whole, then end the process"
            return Severity.CRITICAL, "reached its end and does not exit", remedy
        return Severity.CRITICAL, "does nothing at all", ""
    if silent_s < 2 * limit_s:
        return None
    return Severity.WARNING, "hardly does anything", ""


def _finding(
    view: View, work: Work, verdict: tuple[Severity, str, str], case: tuple[float, float, str]
) -> Finding:
    severity, does, remedy = verdict
    silent_s, limit_s, since = case
    moved = "unknown bytes"
    if work.bytes_per_s is not None:
        moved = f"{work.bytes_per_s / 1024:.0f} KiB/s"
    processes = sorted(view.looks[-1].processes, key=lambda p: (p.rank is None, p.pid))
    return Finding(
        trouble="hang",
        key="progress",
        severity=severity,
        fatal=severity is Severity.CRITICAL,
        summary=f"no progress since {since} for {span(silent_s)} (usual limit "
        f"{span(limit_s)}); the run {does}",
        evidence=(
            Evidence(
                "process",
                f"{work.cores:.2f} cores and {moved} read and written over {work.seconds:.0f} s",
                view.now,
            ),
            *(Evidence("process", _line(p), view.now) for p in processes[:6]),
        ),
        remedy=remedy,
        details={
            "silent_s": round(silent_s, 1),
            "limit_s": round(limit_s, 1),
            "cores": round(work.cores, 3),
        },
    )


def _line(p: ProcessSample) -> str:
    rank = "" if p.rank is None else f" rank {p.rank}"
    wchan = f" in {p.wchan}" if p.wchan and p.wchan != "0" else ""
    return f"pid {p.pid}{rank} {p.name}: state {p.state}{wchan}, {p.cpu_s:.0f} s CPU so far"


SENTINEL = Sentinel(
    check, Limits(), on=(LogEvent, Step, ProcessesSeen), every_tick=True, clears_after_s=5.0
)
