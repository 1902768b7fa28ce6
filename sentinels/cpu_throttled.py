"""The CPU quota of the run's control group is used up, and this slows the run.

Decides: The quota was used up in most periods of a long and of a short window. This alone is a
    note. It is a warning if the run also became slower and uses less CPU time than before, or if
    the quota was lowered during the run and its earlier speed is not known.
Classes: cpu_throttled
Sources: The kernel's counters nr_periods and nr_throttled. Our choice: half of the periods in five
    minutes and in the last minute; slow means a fifth below its own speed in the short window, as
    in `throughput_collapse`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import CpuQuotaSample, Evidence, Finding, Sentinel, Severity, View
from .kit.numbers import number
from .kit.pace.quota import Quota
from .kit.pace.windows import SLOW, Windows
from .kit.recovery import OpenIncident


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.cpu_throttled]`."""

    share: float = 0.5
    """Part of the periods, in each of the two windows, in which the quota must be used up."""
    long_s: float = 300.0
    """Length of the long window."""
    short_s: float = 60.0
    """Length of the short window, the newest part of the long one."""
    soon_s: float = 120.0
    """Length of the long window if the quota was lowered during the run."""
    slow_ratio: float = SLOW
    """Part of the usual speed below which the run counts as slow."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding while the quota is used up in a long and a short window."""
    quota = view.accumulator(Quota)
    if not view.live or view.ending is not None or quota is None or quota.last is None:
        return
    last, now = quota.last, quota.last.at
    if last.cores is None or view.now - now > limits.short_s:
        return
    lowered = quota.changed_at is not None and (
        quota.cores_before is None or last.cores < quota.cores_before
    )
    recent = quota.share(now, limits.short_s)
    lasting = quota.share(now, limits.soon_s if lowered else limits.long_s)
    if recent is None or lasting is None or min(recent, lasting) < limits.share:
        return
    yield _finding(view, limits, quota, last, lasting, lowered=lowered)


def _finding(
    view: View, limits: Limits, quota: Quota, last: CpuQuotaSample, share: float, *, lowered: bool
) -> Finding:
    speed = view.accumulator(Windows)
    ratio: float | None = 1.0 if speed is None else speed.short_ratio
    less = speed is None or speed.cores_ratio is None or speed.cores_ratio < limits.slow_ratio
    slow = ratio is not None and ratio < limits.slow_ratio and (less or lowered)
    since = None if speed is None else speed.known_since
    if lowered and (since is None or since > (quota.changed_at or 0.0)):
        slow, ratio = True, None  # its earlier speed is not known, but it had more CPU time
    cores = f"{number(last.cores or 0.0)} CPU{'' if last.cores == 1.0 else 's'}"
    before = ", none before"
    if quota.cores_before is not None:
        before = f", {number(quota.cores_before)} before"
    told = f"{share:.0%} of the last periods"
    pace = "the run is slowed down: "
    if not slow:
        pace = ""
    elif ratio is not None:
        pace = f"the run makes {ratio:.0%} of its usual speed: "
    waits = quota.waits(last.at, limits.short_s)
    text = f"{last.cgroup}: quota {cores}, {last.throttled} of {last.periods} periods throttled"
    return Finding(
        trouble="cpu_throttled",
        severity=Severity.WARNING if slow else Severity.INFO,
        summary=f"{pace}its CPU quota ({cores}{before if lowered else ''}) ran out in {told}",
        evidence=(Evidence("cgroup", f"{text}, {waits:.1f} threads waiting", last.at),),
        details={
            "cores": last.cores,
            "cores_before": quota.cores_before if lowered else None,
            "share": round(share, 3),
            "speed": None if ratio is None else round(ratio, 3),
            "cgroup": last.cgroup,
        },
        place=f"cpu:{last.cgroup}",
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the quota is no longer used up."""
    quota = view.accumulator(Quota)
    if quota is None or quota.last is None:
        return ""
    if quota.last.cores is None:
        return "the control group has no CPU quota any more"
    recent = quota.share(quota.last.at, limits.short_s)
    if recent is None or recent >= limits.share:
        return ""
    return f"its CPU quota ran out in {recent:.0%} of the last periods only"


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(CpuQuotaSample,),
    clears_after_s=120.0,
    accumulators=(Quota, Windows),
    recovered=recovered,
)
