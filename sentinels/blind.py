"""The watch itself cannot see something it should see.

Decides: a source that failed, does not answer or is impaired for a while is told; one that this
    box does not have is only listed. A silent NVML while the run stands still as well wakes a
    person: that is how a dying GPU looks.
Classes: blind
Sources: 30 s, because NVML calls of a busy healthy driver take milliseconds and a log that
    is rotated is back within seconds. Standing still is judged by the run's own rhythm and by
    a minute at least, as `hang` opens its cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, Sentinel, Severity, SourceState, View
from .kit.numbers import pace, span


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.blind]`."""

    for_s: float = 30.0
    """How long a source may be broken before it is told."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak about every source that is broken or stuck; absent ones are only listed."""
    if not view.live or view.ending is not None:
        return
    for source in view.sources:
        if source.state not in ("failed", "stalled", "impaired"):
            continue
        for_s = view.now - source.since
        if for_s < limits.for_s:
            continue
        silent = source.state != "impaired" and source.source.startswith("nvml")
        standing = silent and _stands_still(view)
        yield Finding(
            trouble="blind",
            key=source.source,
            severity=Severity.CRITICAL if standing else Severity.WARNING,
            summary=f"{source.source} {_verb(source)} for {span(for_s)}: {source.detail}"
            + ("; the run stands still too" if standing else ""),
            evidence=(Evidence("process", f"{source.source}: {source.detail}", source.at),),
            details={"source": source.source},
        )


def _verb(source: SourceState) -> str:
    words = {"stalled": "has not answered", "impaired": "is not as it should be"}
    return words.get(source.state, "cannot be read")


def _stands_still(view: View) -> bool:
    rhythm = pace(view.step_times)
    if rhythm is None:
        return False
    silent_s = view.now - view.step_times[-1][0]
    if view.gap_s:
        silent_s = min(silent_s, view.gap_s)  # what was before the gap is unknown
    return silent_s > rhythm.limit_s(60.0)


SENTINEL = Sentinel(check, Limits(), on=(SourceState,), every_tick=True, clears_after_s=5.0)
