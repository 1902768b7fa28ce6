"""A source of middlewatch cannot read what it needs to watch the run.

Decides: A source that has failed, does not answer or is impaired for a while is reported; a source
    that this box does not have is only listed in the status. While middlewatch itself has too few file
    descriptors, that is told once, and not for each source that has none. It is critical if NVML does not answer
    and the run makes no progress either: that is how a dying GPU looks.
Classes: blind
Sources: 30 s, because NVML calls of a busy healthy driver take milliseconds, and a rotated log
    exists again within seconds. Whether the run makes progress is judged by its own rhythm, and by
    a minute at least, as in `hang`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, Sentinel, Severity, SourceState, View
from .kit.forecast import clock
from .kit.numbers import pace, span
from .kit.pace.silence import SilenceLimits, case_of
from .kit.recovery import OpenIncident

OF_BOX = frozenset({"nvml", "kernel_log", "disk", "mirror", "docker"})
"""Sources that all runs of the box share, or all in containers."""
OWN = "own:"
"""What the name of a source begins with that looks at middlewatch itself: its disk, its memory."""
OWN_DESCRIPTORS = "own:descriptors"
STARVED = ("Too many open files", "no descriptor is left")
"""What a source says that has no descriptor: the words of the system, and those of `processes`."""
TOGETHER_S = 60.0
"""Seconds. A run that made steps for longer than this after NVML stopped to answer is not stuck
for the same reason."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.blind]`."""

    for_s: float = 30.0
    """How long a source may be broken before it is reported."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """One finding per source that is broken or stuck; absent ones are only listed in the status."""
    if not view.live or view.ending is not None:
        return
    short = any(s.source == OWN_DESCRIPTORS and s.state == "impaired" for s in view.sources)
    for source in view.sources:
        if source.state not in ("failed", "stalled", "impaired"):
            continue
        if short and any(words in source.detail for words in STARVED):
            continue
        for_s = view.now - source.since
        if for_s < limits.for_s:
            continue
        silent = source.state != "impaired" and source.source.startswith("nvml")
        standing = silent and _stands_still(view, source.since)
        yield Finding(
            trouble="blind",
            key=source.source,
            severity=Severity.CRITICAL if standing else Severity.WARNING,
            summary=_summary(source, for_s)
            + ("; the run makes no progress either" if standing else ""),
            evidence=(Evidence("process", f"{source.source}: {source.detail}", source.at),),
            details={"source": source.source},
            place=f"source:{source.source}" if _of_box(source) and not standing else "",
            since=source.since,
        )


def _of_box(source: SourceState) -> bool:
    return source.source in OF_BOX or source.source.startswith(OWN)


def _summary(source: SourceState, for_s: float) -> str:
    if source.source.startswith(OWN):
        return f"the watch itself is in trouble for {span(for_s)}: {source.detail}"
    return f"{source.source} {_verb(source)} for {span(for_s)}: {source.detail}"


def _verb(source: SourceState) -> str:
    words = {"stalled": "has not answered", "impaired": "is impaired"}
    return words.get(source.state, "cannot be read")


def _stands_still(view: View, since: float) -> bool:
    """True when the last step came about ``since``, and the run never paused for so long."""
    if pace(view.step_times) is None or view.step_times[-1][0] - since > TOGETHER_S:
        return False
    return case_of(view, SilenceLimits()).open


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the source can be read again."""
    source = next((s for s in view.sources if s.source == case.key), None)
    if source is None or source.state != "ok":
        return ""
    if case.key.startswith(OWN):
        return f"the watch itself is well again since {clock(source.since, view.now)}"
    return f"{source.source} can be read again since {clock(source.since, view.now)}"


SENTINEL = Sentinel(
    check, Limits(), on=(SourceState,), every_tick=True, clears_after_s=5.0, recovered=recovered
)
