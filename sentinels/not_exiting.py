"""The run has finished, but its process does not exit.

Decides: The last planned step was reached, or the log said that the training is done. Since then
    there is no new line in the log, and its processes are alive but do not compute, read, write or
    wait for a disk. A warning first, later critical, because the box costs money.
Classes: not_exiting
Sources: A minute without any activity is our choice: uploads and a last evaluation use CPU or move
    bytes. Three, if the stack shows a line of the program itself: one that only waits to exit stands
    in ``join``, ``_shutdown`` or another function of a library. After ten minutes of inactivity nothing more is to be expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, Phase, ProcessesSeen, Sentinel, Severity, View
from .kit.numbers import number, span
from .kit.pace.stack_summary import stack_summaries
from .kit.pace.work import progress, trainers, work_of
from .kit.progress import completed
from .kit.recovery import OpenIncident, went_on


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.not_exiting]`."""

    for_s: float = 60.0
    """How long a finished run may do nothing before a warning."""
    in_own_code_s: float = 180.0
    """The same for a run that stands in a line of its own code, and not in a function that waits: it
    may have more to do after its last step."""
    wakes_after_s: float = 600.0
    """How long before it is critical: the box costs money for nothing."""
    evidence_s: float = 15.0
    """How long the processes are looked at before a verdict."""
    idle_cores: float = 0.02
    """CPU cores below which a whole run counts as idle."""
    idle_bytes_per_s: float = 65536.0
    """Bytes read and written per second below which nothing is saved or sent."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the run is complete, its processes are alive, and they do nothing."""
    if not view.live or view.ending is not None or not view.process_samples or view.paused:
        return
    last = _last(view)
    silent_s = view.now - last
    if silent_s < limits.for_s or not completed(view):
        return
    work = work_of(view.process_samples, view.now, limits.evidence_s)
    if work is None or work.blocked or work.cores >= limits.idle_cores:
        return
    if (work.bytes_per_s or 0.0) >= limits.idle_bytes_per_s or work.runnable_ratio >= 0.25:
        return
    if any(p.state in ("T", "t") for p in view.process_samples[-1].processes):
        return
    if progress(view, work, last, limits.evidence_s, limits.idle_bytes_per_s):
        return
    late = silent_s >= limits.wakes_after_s
    reached = f"step {number(view.step_times[-1][1])}" if view.step_times else "its end"
    who = trainers(view, work)
    pids = [d.sample.pid for d in who] or [p.pid for p in view.process_samples[-1].processes[:1]]
    stacks = stack_summaries(view, last, pids)
    if silent_s < limits.in_own_code_s and any(s.stack.own == 0 for s in stacks):
        return
    yield Finding(
        trouble="not_exiting",
        severity=Severity.CRITICAL if late else Severity.WARNING,
        summary=f"the run reached {reached} and does not exit: nothing happened for "
        f"{span(silent_s)}, and the box is still billed",
        evidence=(
            Evidence("process", f"{work.cores:.2f} cores over {work.seconds:.0f} s", view.now),
            *(Evidence("stack", f"{s.name} in {s.where}", s.stack.at) for s in stacks[:4]),
        ),
        remedy="check that the last checkpoint is whole: middlewatch verify PATH",
        details={"pids": pids[:8], "silent_s": round(silent_s, 1)},
    )


def _last(view: View) -> float:
    """Time of the last step, log line or growth of a save; not before we began to watch."""
    heard = [view.run.watched_since, view.run.started_at, view.now - view.gap_s]
    if not view.gap_s:
        heard.pop()
    if view.step_times:
        heard.append(view.step_times[-1][0])
    heard += [at for at in (view.grown_at, view.saving_at) if at is not None]
    return max(heard)


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the process has ended, or works again."""
    if view.ending is not None:
        return "the process has ended"
    return went_on(view, case)


SENTINEL = Sentinel(
    check, Limits(), on=(ProcessesSeen, Phase), clears_after_s=5.0, recovered=recovered
)
