"""A process of the run waits in the kernel for a disk or mount that does not answer.

Decides: The run is silent beyond its limit, and a process is in state D in every look and finishes
    no read and no write. If other processes work, twice the limit is needed.
Classes: storage_stall
Sources: State D in three of three looks five seconds apart is our choice. A process that writes a
    checkpoint is in state D most of the time too, but its byte counters grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, ProcessesSeen, Sentinel, Severity, View
from .kit.numbers import span
from .kit.pace.silence import SilenceLimits, case_of
from .kit.pace.work import progress, work_of
from .kit.recovery import OpenIncident, moves_again


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.storage_stall]`."""

    floor_s: float = 60.0
    """Shortest silence that is judged; longer for a run with long steps."""
    evidence_s: float = 15.0
    """How long a process must be in state D: three looks five seconds apart."""
    busy_cores: float = 0.2
    """CPU cores used by other processes above which the run counts as working."""
    busy_bytes_per_s: float = 1048576.0
    """Bytes read or written per second that count as working."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if a silent run has a process that was in state D in every look."""
    if not view.live or view.ending is not None or not view.process_samples or view.paused:
        return  # what is frozen with its container is in state D as well
    if not any(p.state == "D" for p in view.process_samples[-1].processes):
        return
    case = case_of(view, SilenceLimits(floor_s=limits.floor_s))
    if case.silent_s < case.limit_s + limits.evidence_s:
        return
    work = work_of(view.process_samples, view.now, limits.evidence_s)
    if work is None or not work.blocked:
        return
    since = view.now - case.silent_s
    busy = work.cores >= limits.busy_cores or bool(
        progress(view, work, since, limits.evidence_s, limits.busy_bytes_per_s)
    )
    # One process that waits for a disk is no trouble while the others work, unless for long.
    if busy and case.silent_s < 2 * case.limit_s:
        return
    names = ", ".join(f"{p.pid} ({p.wchan or p.name})" for p in work.blocked[:4])
    yield Finding(
        trouble="storage_stall",
        severity=Severity.CRITICAL,
        summary=f"no progress since {case.since} for {span(case.silent_s)}; waits in the kernel "
        f"for storage or a driver (state D): {names}",
        evidence=tuple(
            Evidence(
                "process",
                f"pid {p.pid} {p.name}: state D in every look of {work.seconds:.0f} s, "
                f"in {p.wchan or 'an unknown kernel function'}",
                view.now,
            )
            for p in work.blocked[:4]
        ),
        remedy="find the mount it waits for: `timeout 5 stat -f MOUNT` for each in /proc/mounts"
        " (ls may hang too); send no signals",
        details={
            "pids": [p.pid for p in work.blocked[:8]],
            "wchan": work.blocked[0].wchan or "",
            "silent_s": round(case.silent_s, 1),
        },
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once steps come again."""
    return moves_again(view, case)


SENTINEL = Sentinel(check, Limits(), on=(ProcessesSeen,), clears_after_s=5.0, recovered=recovered)
