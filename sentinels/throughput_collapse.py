"""The run has become several times slower than it was.

Symptom: step times, or tokens and samples per second, are far from the run's own best and stay
    there; nothing fails.
Confirm: `middlewatch status` for clocks, throttle reasons and CPU use; compare the time for
    data with the time for a step.
Cause: a slow or failing link, a GPU that throttles, a data source that starves the run, a
    neighbour on the box, swapping, a node that was replaced by a slower one.
Remedy:
    1. [safe] Look which rank is slow, and whether it waits for data or for the others.
    2. [safe] Check GPU clocks and throttle reasons, CPU quota and read latency.
    3. [costly] Move the run to another node from its newest verified checkpoint.
Not: do not restart on the same node before its cause is known.
Retry: allowed on other hardware.
Classes: throughput_collapse
Sources: our choice: twice 16 reports forgive evaluations and saves, four times the usual time of a
    step forgives a changed phase. The report's own figures are compared with its own best;
    where a batch size is reported, the time is taken per sample, and where no speed is, the
    times that the lines tell. An old log that is short is judged by eight reports in a row, each
    six times the longest before; a hole of half an hour (the longest healthy silence of 79
    real logs was 17 min) by twenty times the longest interval, if nothing was announced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, LogEvent, Sentinel, Severity, Step, View
from .kit.numbers import number, span
from .kit.tempo import Hole, Speed, Tempo
from .kit.troubles import Troubles, said_in_old_log

CLASSES = ("throughput_collapse",)


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.throughput_collapse]`."""

    slower_times: float = 4.0
    """Times the usual time of a step that count as a collapse; two at least."""
    again_reports: int = 3
    """Reports at the usual speed after a hole in an old log that make it a note."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak while the newest block of reports is far slower than the best one."""
    yield from said_in_old_log(view, CLASSES)
    tempo = view.ledger(Tempo)
    if tempo is None:
        return
    if tempo.hole is not None and not view.live:
        yield _hole(tempo.hole, limits)
    if tempo.slow is None or tempo.times < limits.slower_times:
        return
    if not view.live or not (tempo.over or tempo.quick):
        yield from _slow(tempo, tempo.slow)


def _slow(tempo: Tempo, speed: Speed) -> Iterator[Finding]:
    if tempo.since is None or tempo.decided is None:
        return
    since = "" if tempo.since.step is None else f" since step {number(tempo.since.step)}"
    yield Finding(
        trouble="throughput_collapse",
        key="speed",
        severity=Severity.INFO if tempo.over else Severity.WARNING,
        summary=f"steps take {number(tempo.times)} times as long as before{since}",
        file=speed.file,
        line=tempo.since.line,
        decided_line=tempo.decided.line,
        details={"step": tempo.since.step, "times": tempo.times, "metric": speed.metric},
    )


def _hole(hole: Hole, limits: Limits) -> Finding:
    """Two reports whose own times lie far apart; while a run lives, silence is for `hang`."""
    step = hole.before.number
    after = "" if step is None else f" after step {number(step)}"
    return Finding(
        trouble="throughput_collapse",
        key="hole",
        severity=Severity.INFO if hole.over >= limits.again_reports else Severity.WARNING,
        summary=f"{span(hole.seconds)} passed{after} until the next report; as many steps took "
        f"{span(hole.usual)} at most",
        file=hole.before.file,
        line=hole.after.line,
        details={"step": step, "seconds": hole.seconds, "metric": "clock"},
    )


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(Step, LogEvent),
    ledgers=(
        Troubles,
        Tempo,
    ),
)
