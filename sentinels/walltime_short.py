"""The run will be ended at a known time, before its last step.

Decides: The end comes from the scheduler, the platform or the configuration. The remaining time is
    estimated from the median speed of eight blocks of recent steps, including evaluations and
    saves. It is critical shortly before the end, if more work would be lost than this run risks all
    the time.
Classes: walltime_short
Sources: Our choice: a margin of one save interval, at most a tenth of the time left; the last half
    hour, and 1.5 of the run's own save intervals of lost work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from .kit import Deadline, Evidence, Finding, Sentinel, Severity, View
from .kit.forecast import Deadlines, clock
from .kit.numbers import median, number, span
from .kit.progress import completed, planned
from .kit.recovery import OpenIncident
from .kit.saves.pattern import Saves, expected


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.walltime_short]`."""

    settle_s: float = 600.0
    """How long training must be seen before its speed is used."""
    margin_ratio: float = 0.1
    """Part of the remaining time by which the estimated last step may be wrong."""
    last_call_s: float = 1800.0
    """Time before the end in which a person can still make the trainer save a checkpoint."""
    lost_times: float = 1.5
    """Lost work is more than this run risks all the time if it is more than this many of its save
    intervals."""
    lost_s: float = 3600.0
    """The same in seconds, if the save interval is not known."""


BLOCKS = 8
"""Blocks of recent steps whose median gives the speed, so that one pause does not count."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the end comes before the last step, or soon and much work would be lost."""
    clocks = view.accumulator(Deadlines)
    if clocks is None or not view.live or view.ending is not None:
        return
    end = clocks.next(view.now)
    if end is None or completed(view):
        return
    saves = expected(view)
    last_at = _last_step_at(view, limits)
    lost = _lost(view, limits, end, saves, last_at)
    if lost is not None:
        yield lost
    elif last_at is not None:
        left_s = end.ends_at - view.now
        every_s = saves.every_s if saves is not None and saves.every_s is not None else 0.0
        margin = min(every_s, limits.margin_ratio * left_s)
        if last_at > end.ends_at - margin:
            yield _short(view, end, saves, last_at)


def _last_step_at(view: View, limits: Limits) -> float | None:
    """Estimated time of the last planned step; ``None`` while plan or speed are not known."""
    total = planned(view)
    seconds = _seconds_per_step(view, limits)
    if total is None or seconds is None or not total < 1e15:
        return None
    at, step = view.step_times[-1]
    return max(view.now, at + max(0.0, total - step) * seconds)


def _seconds_per_step(view: View, limits: Limits) -> float | None:
    # Lines that were in the log before we began to watch are all read at the same moment.
    began = view.run.watched_since + 60
    if view.gap_s:
        began = max(began, view.now - view.gap_s + 60)
    marks: list[tuple[float, float]] = []
    for at, step in view.step_times:
        if at < began:
            continue
        if marks and step <= marks[-1][1]:
            marks = []  # it went back: a resume
        marks.append((at, step))
    if len(marks) < 2 * BLOCKS or marks[-1][0] - marks[0][0] < limits.settle_s:
        return None
    ends = [marks[i * (len(marks) - 1) // BLOCKS] for i in range(BLOCKS + 1)]
    return median((b[0] - a[0]) / (b[1] - a[1]) for a, b in pairwise(ends) if b[1] > a[1])


def _lost(
    view: View, limits: Limits, end: Deadline, saves: Saves | None, last_at: float | None
) -> Finding | None:
    """A finding shortly before the end, if more would be lost than this run risks all the time."""
    left_s = end.ends_at - view.now
    if left_s > limits.last_call_s or not view.step_times:
        return None
    if last_at is not None and last_at < end.ends_at:
        return None
    began = max(view.run.started_at, view.run.watched_since)
    if saves is None:
        if view.claimed_saves or not _looked_for_saves(view):
            return None  # it is not known where the run saves
        lost_s, bearable = end.ends_at - began, limits.lost_s
    else:
        lost_s, bearable = end.ends_at - max(saves.newest_at, began), limits.lost_s
        if saves.every_s is not None:
            bearable = limits.lost_times * saves.every_s
    if lost_s <= bearable:
        return None
    newest = "no checkpoint is there"
    if saves is not None:
        newest = f"the newest checkpoint is of {clock(saves.newest_at, view.now)}"
    return Finding(
        trouble="walltime_short",
        severity=Severity.CRITICAL,
        summary=f"the run is ended at {clock(end.ends_at, view.now)}, in {span(left_s)}, and"
        f" {newest}: {span(lost_s)} of work will be lost",
        evidence=_proof(view, end),
        details={"ends_at": end.ends_at, "origin": end.origin, "lost_s": round(lost_s)},
    )


def _looked_for_saves(view: View) -> bool:
    return any(s.source.startswith("checkpoint_dir") and s.state == "ok" for s in view.sources)


def _short(view: View, end: Deadline, saves: Saves | None, last_at: float) -> Finding:
    total = planned(view) or 0.0
    late_s = last_at - end.ends_at
    when = f"{span(late_s)} before" if late_s >= 0 else f"only {span(-late_s)} after"
    at, step = view.step_times[-1]
    last_save = ""
    if saves is not None and saves.every_s is not None and saves.every_s > 0:
        more = max(0.0, (end.ends_at - saves.newest_at) // saves.every_s)
        save_at = saves.newest_at + more * saves.every_s
        last_save = f"; the last save would be at {clock(save_at, view.now)}"
        if last_at > at:
            reached = step + (total - step) * min(1.0, max(0.0, save_at - at) / (last_at - at))
            last_save += f", near step {number(round(reached))}"
    return Finding(
        trouble="walltime_short",
        severity=Severity.WARNING,
        summary=f"the run is ended at {clock(end.ends_at, view.now)}, {when} step"
        f" {number(total)}{last_save}",
        evidence=_proof(view, end),
        details={
            "ends_at": end.ends_at,
            "origin": end.origin,
            "last_step_at": last_at,
            "steps": total,
        },
    )


def _proof(view: View, end: Deadline) -> tuple[Evidence, ...]:
    at, step = view.step_times[-1]
    told = f"{end.origin} says that the run ends at {clock(end.ends_at, view.now)}"
    return (
        Evidence("process", told, end.at),
        Evidence("log", f"step {number(step)} at {clock(at, view.now)}", at),
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the run is complete, or its end was put off."""
    if completed(view):
        return "the run reached its last step in time"
    clocks = view.accumulator(Deadlines)
    end, before = None if clocks is None else clocks.next(view.now), case.details.get("ends_at")
    if end is None or not isinstance(before, (int, float)) or end.ends_at <= before + 60:
        return ""
    return f"its end was put off to {clock(end.ends_at, view.now)}"


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(Deadline,),
    clears_after_s=1800.0,
    accumulators=(Deadlines,),
    recovered=recovered,
)
