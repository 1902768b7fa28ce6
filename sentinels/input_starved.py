"""The training waits for data: data workers use the CPU, the main process and the GPUs are idle.

Decides: The run is silent beyond its limit, or each of the newest steps took far longer than those
    before. In both cases data workers must use CPU while the training process sleeps and the GPUs
    are idle. Always a warning, because the run is slow and not broken.
Classes: input_starved
Sources: Measured on a DataLoader with CPU-bound workers: the training process used 0.0 core (in
    poll), each worker 0.95 core. Twice the usual step time, for a minute, is our choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from .kit import Evidence, Finding, ProcessesSeen, Sentinel, Severity, View
from .kit.numbers import median, number, span
from .kit.pace.silence import SilenceLimits, case_of
from .kit.pace.work import starved, work_of
from .kit.recovery import OpenIncident, steps_since

RECENT = 5
"""Number of newest step intervals that must be slow."""
BEFORE = 64
"""Number of step intervals before them, whose median is the usual step time."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.input_starved]`."""

    floor_s: float = 60.0
    """Shortest silence that is judged; longer for a run with long steps."""
    evidence_s: float = 15.0
    """How long the processes are looked at before a verdict."""
    slow_times: float = 2.0
    """Multiple of the usual step time from which a run that still makes steps is judged."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if a slow or silent run has busy data workers while the trainer waits."""
    marks = view.step_times
    if not view.live or view.ending is not None or len(marks) < 2 * RECENT:
        return
    silent_s = view.now - marks[-1][0]
    slow: tuple[float, float] | None = None
    if silent_s < limits.floor_s:
        if view.now - marks[-1 - RECENT][0] < limits.floor_s:
            return  # the usual case: the newest steps are quick
        slow = _slow(view, limits)
        if slow is None:
            return
    else:
        case = case_of(view, SilenceLimits(floor_s=limits.floor_s))
        if case.silent_s < case.limit_s + limits.evidence_s:
            return
    work = work_of(view.process_samples, view.now, limits.evidence_s)
    found = None if work is None or work.blocked else starved(view, work)
    if work is None or found is None:
        return
    trainer, workers = found
    cores = sum(d.cores for d in workers)
    busy = sorted((d for d in workers if not d.waits), key=lambda d: -d.cores) or list(workers)
    how = (
        f"no progress for {span(silent_s)}"
        if slow is None
        else f"a step takes {span(slow[0])} instead of {span(slow[1])}"
    )
    yield Finding(
        trouble="input_starved",
        severity=Severity.WARNING,
        summary=f"the training waits for data: {how}; {len(busy)} of {len(workers)} data workers "
        f"use {cores:.1f} cores while the trainer waits",
        evidence=(
            Evidence(
                "process",
                f"pid {trainer.sample.pid}: {trainer.cores:.2f} cores, "
                f"in {trainer.sample.wchan or 'an unknown kernel function'}",
                view.now,
            ),
            *(
                Evidence("process", f"worker {d.sample.pid}: {d.cores:.2f} cores", view.now)
                for d in busy[:4]
            ),
        ),
        remedy=f"see what a data worker does: py-spy dump --pid {busy[0].sample.pid}",
        details={"workers": len(workers), "cores": round(cores, 2), "silent_s": round(silent_s, 1)},
    )


def _slow(view: View, limits: Limits) -> tuple[float, float] | None:
    """(seconds of the newest steps, of those before), if every new one is slow."""
    newest = list(islice(reversed(view.step_times), RECENT + BEFORE + 1))[::-1]
    took = [b[0] - a[0] for a, b in pairwise(newest)]
    before, now = took[:-RECENT], took[-RECENT:]
    if len(before) < RECENT:
        return None
    usual = median(before)
    slow = usual > 0.0 and min(now) >= limits.slow_times * usual
    return (median(now), usual) if slow else None


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once steps come at a usual rate again."""
    marks = list(islice(steps_since(view, case.quiet_since), RECENT + 1))
    if len(marks) <= RECENT or _slow(view, limits) is not None:
        return ""
    return f"steps come again, {span((marks[0][0] - marks[-1][0]) / RECENT)} each; step {number(marks[0][1])} now"


SENTINEL = Sentinel(check, Limits(), on=(ProcessesSeen,), clears_after_s=30.0, recovered=recovered)
