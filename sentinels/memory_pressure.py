"""The run's memory will reach the limit at which the kernel kills.

Symptom: nothing yet, or steps that get slower; memory that grows with every step, batch or
    evaluation although the model does not.
Confirm: `memory.current` less `inactive_file` and `active_file` of `memory.stat`, against
    `memory.max`, some minutes apart; `memory.pressure` where there is one.
Cause: tensors that are kept with their graph (a loss added up without `.item()`), an
    evaluation that keeps all outputs, loader workers that copy a growing list, a cache
    without a bound, pinned memory.
Remedy:
    1. [safe] See who grows: `ps -eo pid,rss,cmd --sort=-rss | head`, twice.
    2. [safe] Ask the trainer for a checkpoint now, if it listens to a signal.
    3. [costly] Resume from it with fewer loader workers, without persistent workers; end
       other programs that share the limit.
Not: do not trust `free -h` in a container; do not drop page caches, they are not the use.
Retry: after a change only, the same leak comes back.
Classes: memory_pressure
Sources: what counts is neither of the page caches, which the kernel drops at need. Told when
    the limit is under two hours away by the median slope of an hour, which humps of saves and
    evaluations do not move; a person is woken under 20 minutes, or with less than 5 % left
    while over 20 % of the time is spent waiting for memory. The short look (six minutes, at
    least five of them falling, lower than any low that the run survived) is our choice: a
    leak that needs 20 minutes for everything is told with about half of that left. Growth
    before the first step is loading. Silent while half is left.
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


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak when memory runs out soon by its slope, or is waited for already."""
    use = view.ledger(MemoryUse)
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
    slow, fast = _slow(view, limits, use, began), None
    if use.began is not None:
        fast = _fast(view, limits, use, began)
    soonest = min((one for one in (slow, fast) if one is not None), default=None)
    if soonest is not None:
        yield _running_out(view, limits, use, newest, soonest)


def _slow(view: View, limits: Limits, use: MemoryUse, began: float) -> tuple[float, float] | None:
    """(seconds left, rate) by the slope of the last hour, where it still goes on."""
    rate = use.trend.slope(began)
    if rate is None or rate <= 0 or rate * use.trend.span_s(began) < limits.moved_ratio * use.total:
        return None
    then = use.trend.best(view.now - 1800, view.now - 1500)
    lately = use.trend.best(view.now - 600, view.now)
    if then is None or lately is None or then - lately < 0.25 * rate * 1500:
        return None  # it has stopped
    left_s = max(0, use.left) / rate
    near = min(limits.warn_s, REACH * use.trend.span_s(began))
    return (left_s, rate) if left_s < near else None


def _fast(view: View, limits: Limits, use: MemoryUse, began: float) -> tuple[float, float] | None:
    """The same by the last six minutes, for what will not take an hour."""
    last = [v for v in list(use.trend.values)[-7:] if v[0] >= began]
    if len(last) < 7 or last[-1][0] - last[0][0] > 600:
        return None
    rates = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in pairwise(last)]
    rate = median(rates)
    moved = last[0][1] - last[-1][1]
    if sum(r > 0 for r in rates) < 5 or moved < limits.steep_ratio * use.total:
        return None
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
    view: View, limits: Limits, use: MemoryUse, newest: MemorySample, soon: tuple[float, float]
) -> Finding:
    left_s, rate = soon
    saving = view.saving_at is not None and 0 <= view.now - view.saving_at < limits.saving_s
    page = left_s < limits.page_s and not saving
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


SENTINEL = Sentinel(check, Limits(), on=(MemorySample,), clears_after_s=900.0, ledgers=(MemoryUse,))
