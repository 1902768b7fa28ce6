"""The memory of the run will reach the limit at which the kernel kills processes.

Decides: Forecasts from the slope of used memory without page cache, which the kernel frees when
    needed. The slope over an hour is not changed by the temporary peaks of saves and evaluations.
    The slope over six minutes is for memory that will run out within the hour; it counts only if
    free memory falls evenly and is lower than at any earlier peak of this run. The most free memory
    in each minute is used. Also reported if almost nothing is left and processes wait for memory.
    Growth before the first step is loading, and a steep rise during a save is the gathering of
    weights: both do not count, nor does anything while half of the memory is free.
Classes: memory_pressure
Sources: A warning when the limit is less than two hours away; critical at less than 20 minutes, or
    with less than 5 % left while more than 20 % of the time is spent waiting for memory (the
    kernel's pressure figures). The short slope (six minutes, at least five of them falling) is our
    choice: a leak that uses all memory in 20 minutes is reported with about half of it left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from .kit import Evidence, Finding, MemorySample, Sentinel, Severity, View
from .kit.forecast import REACH, MemoryUse, clock
from .kit.numbers import median, size, span
from .kit.recovery import OpenIncident


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.memory_pressure]`."""

    warn_s: float = 7200.0
    """Reported as a warning when the limit will be reached within this time."""
    page_s: float = 1200.0
    """Critical when the limit will be reached within this time."""
    squeezed_s: float = 10.0
    """How long almost no memory must be left, with processes waiting for it, to be reported."""
    moved_ratio: float = 0.02
    """Growth by less than this part of the limit is no trend: allocators fluctuate."""
    steep_ratio: float = 0.05
    """Growth by less than this part of the limit in six minutes is judged by the slope of the hour
    only."""
    loading_s: float = 3600.0
    """How long a run may load data if its steps cannot be read."""
    saving_s: float = 120.0
    """For this time after a save grew, a steep rise counts as its gathering of weights."""
    saving_ratio: float = 0.1
    """Part of the limit; with less memory left, a steep rise is reported even during a save."""
    even_ratio: float = 0.5
    """A steep rise counts as even if its median rate explains at least this part of it."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if memory will run out soon, or if processes already wait for it."""
    use = view.accumulator(MemoryUse)
    if use is None or not view.live or view.ending is not None or not view.memory:
        return
    newest = view.memory[-1]
    if use.quiet or view.now - newest.at > 60:
        return
    since = use.squeezed_since
    if since is not None and newest.at - since >= limits.squeezed_s:
        yield _squeezed(view, use, newest)
        return
    began = use.began
    if began is None:
        began = view.run.started_at + limits.loading_s
    slow, fast, saving = _slow(view, limits, use, began), None, _saving(view, limits)
    if use.began is not None and (not saving or use.left < limits.saving_ratio * use.total):
        fast = _fast(limits, use, began)
    if slow is not None and (fast is None or slow <= fast):
        yield _running_out(view, use, newest, slow, slow[0] < limits.page_s)
    elif fast is not None:
        yield _running_out(view, use, newest, fast, not saving)


def _saving(view: View, limits: Limits) -> bool:
    """True while a save may be gathering weights in memory."""
    return view.saving_at is not None and 0 <= view.now - view.saving_at < limits.saving_s


def _slow(view: View, limits: Limits, use: MemoryUse, began: float) -> tuple[float, float] | None:
    """(seconds left, rate) by the slope of the last hour, where it still goes on."""
    rate = use.trend.slope(began)
    if rate is None or rate <= 0 or rate * use.trend.span_s(began) < limits.moved_ratio * use.total:
        return None
    then = use.trend.best(view.now - 1800, view.now - 1500)
    lately = use.trend.best(view.now - 600, view.now)
    if then is None or lately is None or then - lately < 0.25 * rate * 1500:
        return None  # it has stopped
    # Each value, moved along the slope to the present; it is the best of its minute, so it may be
    # a minute older than its time. The next dip will be as deep as the deepest so far.
    moved = [(at, v - rate * (view.now - at + 60)) for at, v in use.trend.values if at >= began]
    near = min(limits.warn_s, REACH * use.trend.span_s(began))
    if max(left for at, left in moved if at >= view.now - 600) >= near * rate:
        return None
    return max(0.0, min(left for _, left in moved)) / rate, rate


def _fast(limits: Limits, use: MemoryUse, began: float) -> tuple[float, float] | None:
    """The same by the last six minutes, for memory that will run out within the hour."""
    last = [v for v in list(use.trend.values)[-7:] if v[0] >= began]
    if len(last) < 7 or last[-1][0] - last[0][0] > 600:
        return None
    rates = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in pairwise(last)]
    rate = median(rates)
    moved = last[0][1] - last[-1][1]
    if sum(r > 0 for r in rates) < 5 or moved < limits.steep_ratio * use.total:
        return None
    if rate * (last[-1][0] - last[0][0]) < limits.even_ratio * moved:
        return None  # a single jump, as at the start of a save or an evaluation
    if use.lowest is not None and use.left > use.lowest - 0.01 * use.total:
        return None  # a temporary peak like earlier ones
    left_s = max(0, use.left) / rate
    return (left_s, rate) if left_s < limits.page_s else None


def _proof(use: MemoryUse, newest: MemorySample) -> Evidence:
    pressure = newest.pressure_some_avg10
    waited = "" if pressure is None else f"; {pressure:.0f} % of the last 10 s waited for memory"
    text = f"{newest.cgroup}: {size(use.left)} of {size(use.total)} left without page cache{waited}"
    return Evidence("cgroup", text, newest.at)


def _squeezed(view: View, use: MemoryUse, newest: MemorySample) -> Finding:
    waited = max(newest.pressure_some_avg10 or 0.0, newest.pressure_full_avg10 or 0.0)
    return Finding(
        trouble="memory_pressure",
        severity=Severity.CRITICAL,
        summary=f"almost no memory is left: {size(use.left)} of {size(use.total)}, and"
        f" {waited:.0f} % of the time is spent waiting for it",
        evidence=(_proof(use, newest),),
        details={"left_bytes": use.left, "total_bytes": use.total, "waiting_percent": waited},
        place=f"memory:{newest.cgroup}",
    )


def _running_out(
    view: View, use: MemoryUse, newest: MemorySample, soon: tuple[float, float], page: bool
) -> Finding:
    left_s, rate = soon
    return Finding(
        trouble="memory_pressure",
        severity=Severity.CRITICAL if page else Severity.WARNING,
        summary=f"memory runs out at {clock(view.now + left_s, view.now)}, in {span(left_s)}:"
        f" {size(use.left)} of {size(use.total)} left, {size(rate * 3600)} more an hour",
        evidence=(_proof(use, newest),),
        details={
            "left_bytes": use.left,
            "total_bytes": use.total,
            "per_hour": round(rate * 3600),
            "limit_at": view.now + left_s,
        },
        place=f"memory:{newest.cgroup}",
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once memory neither runs short nor out."""
    use = view.accumulator(MemoryUse)
    if use is None or not view.memory or view.memory[-1].at <= case.quiet_since:
        return ""
    if use.squeezed_since is not None:
        return ""
    return f"{size(use.left)} of {size(use.total)} are left, and no longer running out"


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(MemorySample,),
    clears_after_s=900.0,
    accumulators=(MemoryUse,),
    recovered=recovered,
)
