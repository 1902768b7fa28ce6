"""The GPU had no memory left for an allocation.

Symptom: OutOfMemoryError, RESOURCE_EXHAUSTED or CUBLAS_STATUS_ALLOC_FAILED in the log, and
    no step after it.
Confirm: `nvidia-smi` for another process on the card; the message says how much was asked,
    how much was free and how much is reserved but unused.
Cause: batch or sequence too large, the longest batch of the set, an evaluation with a
    larger batch, fragmentation, a stranger or a zombie on the card.
Remedy:
    1. [safe] Look whether another process holds memory of that GPU.
    2. [safe] Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True if reserved but
       unallocated memory is large.
    3. [costly] Resume with half the micro-batch and twice the accumulation steps.
Not: do not restart the identical command; do not lower the batch without raising the
    accumulation, or the run is another experiment.
Retry: after a change only.
Classes: cuda_oom accel_oom
Sources: a handled OOM (auto_find_batch_size, micro-batch halving) prints the same words,
    so steps afterwards make it a note; 20 s or three steps without any make it a page.
    Before the first step its time is unknown, and a model may be built anew: 60 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, LogEvent, ProcessEnded, Sentinel, Severity, View
from .kit.numbers import pace
from .kit.progress import completed

CLASSES = ("cuda_oom", "accel_oom")


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.cuda_oom]`."""

    wait_s: float = 20.0
    """Time given to a program that handles the error before the run counts as lost; three
    times as long before the first steps."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak about the newest out-of-memory line that no step followed."""
    event = next((e for e in reversed(view.events) if e.trouble in CLASSES), None)
    if event is None:
        return
    recovered = view.overcame(event)
    if recovered and view.live:
        return
    count = sum(1 for e in view.events if e.trouble == event.trouble)
    lost = not recovered and _lost(view, event, limits)
    yield Finding(
        trouble=event.trouble,
        key=event.trouble,
        severity=Severity.CRITICAL if lost else Severity.INFO,
        fatal=lost,
        summary=_summary(event),
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        details={**event.details, "rank": event.rank, "count": count},
    )


def _lost(view: View, event: LogEvent, limits: Limits) -> bool:
    handled = event.severity == "info"
    if not view.live:
        return not handled
    ending = view.ending
    if ending is not None:
        return ending.exit_code != 0 or not completed(view)
    if handled:
        return False  # the program says so; if it stands still after all, that is a hang
    rhythm = pace(view.step_times)
    wait = 3 * limits.wait_s if rhythm is None else max(limits.wait_s, 3 * rhythm.typical_s)
    return view.now - event.at >= wait


def _summary(event: LogEvent) -> str:
    where = "" if event.rank is None else f" on rank {event.rank}"
    asked = event.details.get("requested_bytes")
    wanted = f": {float(asked) / 2**30:.2f} GiB asked" if isinstance(asked, (int, float)) else ""
    return f"out of GPU memory{where}{wanted}"


SENTINEL = Sentinel(check, Limits(), on=(LogEvent, ProcessEnded), every_tick=True)
