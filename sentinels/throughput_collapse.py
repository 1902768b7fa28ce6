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
    where a batch size is reported, the time is taken per sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, LogEvent, Sentinel, Severity, Step, View
from .kit.numbers import number
from .kit.tempo import Tempo
from .kit.troubles import Troubles

CLASSES = ("throughput_collapse",)


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.throughput_collapse]`."""

    slower_times: float = 4.0
    """Times the usual time of a step that count as a collapse; two at least."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak while the newest block of reports is far slower than the best one."""
    troubles = view.ledger(Troubles)
    if troubles is not None and not view.live:
        yield from troubles.told(of=CLASSES)
    tempo = view.ledger(Tempo)
    if tempo is None or tempo.slow is None or tempo.since is None or tempo.decided is None:
        return
    if tempo.times < limits.slower_times or (view.live and tempo.over):
        return
    since = "" if tempo.since.step is None else f" since step {number(tempo.since.step)}"
    yield Finding(
        trouble="throughput_collapse",
        key="speed",
        severity=Severity.INFO if tempo.over else Severity.WARNING,
        summary=f"steps take {number(tempo.times)} times as long as before{since}",
        file=tempo.slow.file,
        line=tempo.since.line,
        decided_line=tempo.decided.line,
        details={"step": tempo.since.step, "times": tempo.times, "metric": tempo.slow.metric},
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
