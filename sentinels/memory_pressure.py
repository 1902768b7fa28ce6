"""The run's memory will reach the limit at which the kernel kills.

Decides: by the slope of what is neither of the page caches, which the kernel drops at need: over an
    hour, which humps of saves and evaluations do not move, and over six minutes for what will not
    take an hour, if it falls evenly and is lower than any low that the run survived; each minute
    counts by the most that was left in it. Or by next to nothing left while the time is spent
    waiting for it. Growth before the first step is loading, a steep one while a save is written
    its gathering of weights; silent while half is left.
Classes: memory_pressure
Sources: told when the limit is under two hours away, a person is woken under 20 minutes, or
    with less than 5 % left while over 20 % of the time is spent waiting for memory (the kernel's
    pressure figures). The short look (six minutes, at least five of them falling) is our choice:
    a leak that needs 20 minutes for everything is told with about half of that left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from .kit import Evidence, Finding, MemorySample, Sentinel, Severity, View
from .kit.forecast import REACH, MemoryUse, clock
from .kit.numbers import median, size, span


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.memory_pressure]`."""

    warn_s: float = 7200.0
    """Told when the limit is nearer than this."""
    page_s: float = 1200.0
    """A person is woken when it is nearer than this."""
    squeezed_s: float = 10.0
    """Seconds for which next to nothing is left and is waited for, before that is told."""
    moved_ratio: float = 0.02
    """Less than this part of all memory is no trend: allocators breathe."""
    steep_ratio: float = 0.05
    """Less than this part in six minutes is left to the slope of the hour."""
    loading_s: float = 3600.0
    """How long a run whose steps cannot be read may load."""
    saving_s: float = 120.0
    """After bytes of a save grew, a steep rise is its gathering of weights."""
    saving_ratio: float = 0.1
    """Part of all memory below which even that is told."""
    even_ratio: float = 0.5
    """A steep rise is even: by its usual minute it makes this part of what it moved."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak when memory runs out soon by its slope, or is waited for already."""
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
    """True while a save may have gathered weights."""
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
    # Every value where the slope has taken it by now; it is the best of its minute, so it may
    # be a minute older than it says. The next hump will be as deep as the deepest so far.
    moved = [(at, v - rate * (view.now - at + 60)) for at, v in use.trend.values if at >= began]
    near = min(limits.warn_s, REACH * use.trend.span_s(began))
    if max(left for at, left in moved if at >= view.now - 600) >= near * rate:
        return None
    return max(0.0, min(left for _, left in moved)) / rate, rate


def _fast(limits: Limits, use: MemoryUse, began: float) -> tuple[float, float] | None:
    """The same by the last six minutes, for what will not take an hour."""
    last = [v for v in list(use.trend.values)[-7:] if v[0] >= began]
    if len(last) < 7 or last[-1][0] - last[0][0] > 600:
        return None
    rates = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in pairwise(last)]
    rate = median(rates)
    moved = last[0][1] - last[-1][1]
    if sum(r > 0 for r in rates) < 5 or moved < limits.steep_ratio * use.total:
        return None
    if rate * (last[-1][0] - last[0][0]) < limits.even_ratio * moved:
        return None  # one jump, as a save or an evaluation begins
    if use.lowest is not None and use.left > use.lowest - 0.01 * use.total:
        return None  # a hump like those before it
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
        summary=f"memory is all but gone: {size(use.left)} of {size(use.total)} left, and"
        f" {waited:.0f} % of the time is spent waiting for it",
        evidence=(_proof(use, newest),),
        details={"left_bytes": use.left, "total_bytes": use.total, "waiting_percent": waited},
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
    )


SENTINEL = Sentinel(
    check, Limits(), on=(MemorySample,), clears_after_s=900.0, accumulators=(MemoryUse,)
)
