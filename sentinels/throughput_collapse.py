"""The run has become much slower than before, and no other rule explains it.

Decides: A live run is judged by the clock: its speed in a long and in a short window must be below
    its own best half hour, and the short window slower than nine tenths of all earlier ones. If
    GPUs draw their usual power, or processes use their usual CPU time, a step is more work than
    before (longer sequences, a larger batch), which is no trouble. A CPU quota or a throttled GPU
    is reported by its own rule. At once it is told if every report takes four times as long, for
    half a minute or longer in an older run, and the GPUs draw half their power or the processes use
    half their CPU time. Figures in the reports are also compared with their own best: per
    sample if a batch size is reported, or by the time stamps of the lines if no speed is. A
    finished log is judged by these figures, and by gaps between its time stamps.
Classes: throughput_collapse
Sources: Windows of 30 and 5 minutes (less for a young run) below 80 %, like multi-window burn
    rates. Critical below 50 % for ten minutes, if the GPUs are measured to do less too. Our choice:
    two blocks of 16 reports, so that evaluations and saves do not count; four times the usual step
    time, so that a changed phase does not count. A short finished log needs eight reports in a row,
    each six times the longest before. A gap must be half an hour (the longest healthy silence in 79
    real logs was 17 min) and twenty times the longest interval, if nothing was announced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import sqrt

from .kit import Evidence, Finding, GpuSample, LogEvent, Sentinel, Severity, Step, View
from .kit.gpus import newest, possible, used
from .kit.numbers import median, number, span
from .kit.pace.collapse import Collapse
from .kit.pace.quota import Quota
from .kit.pace.throughput import LogGap, Speed, Throughput
from .kit.pace.windows import Windows
from .kit.recovery import OpenIncident, steps_since
from .kit.troubles import Troubles, said_in_old_log

CLASSES = ("throughput_collapse",)


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.throughput_collapse]`."""

    slower_times: float = 4.0
    """Multiple of the usual step time that counts as a collapse; two at least."""
    slow_ratio: float = 0.8
    """Part of the usual speed below which both windows count as slow; 0.8 at most."""
    page_ratio: float = 0.5
    """Part of the usual speed below which it is critical, if the GPUs do less too."""
    page_after_s: float = 600.0
    """How long the speed must be that low to be critical."""
    works_ratio: float = 0.85
    """Part of the usual power (GPUs) or CPU time (processes) from which they work as before."""
    idle_ratio: float = 0.5
    """Part of the usual power (GPUs) or CPU time (processes) below which a sudden collapse is
    believed: what computes as before has more to do."""
    again_reports: int = 3
    """Reports at the usual speed after a gap in a finished log that make the gap a note."""


_WITHOUT_GPU = (
    "see what it waits for: `py-spy dump --pid PID`, three times some seconds apart; and what it reads from there: the disk "
    "(`iostat -x 2 3`), the file server, the service"
)


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings while the run is far slower than its own best speed."""
    yield from said_in_old_log(view, CLASSES)
    sudden = view.accumulator(Collapse)
    if view.live and sudden is not None and sudden.lasting(view.now):
        at_once = list(_sudden(view, limits, sudden))
        if at_once:
            yield from at_once
            return
    speed = view.accumulator(Windows)
    if view.live and speed is not None and not speed.quiet:
        if view.ending or _known(view) or _as_before(view, limits, speed):
            return
        slower = list(_slower(view, limits, speed))
        if slower:
            yield from slower
            return
    tempo = view.accumulator(Throughput)
    if tempo is None:
        return
    if tempo.hole is not None and not view.live:
        yield _hole(tempo.hole, limits)
    if tempo.slow is None or tempo.times < limits.slower_times:
        return
    if not view.live or not (tempo.over or tempo.quick):
        yield from _slow(tempo, tempo.slow)


def _slower(view: View, limits: Limits, speed: Windows) -> Iterator[Finding]:
    """A finding if both windows are slow by the clock."""
    ratio = max(speed.long_ratio, speed.short_ratio)
    since = speed.slow_since
    if since is None or ratio >= limits.slow_ratio:
        return
    work, told = _work(view, speed)
    if work is None and ratio >= limits.page_ratio:
        return  # only the times of the lines are known: a fifth slower is no evidence
    lasting = view.now - since >= limits.page_after_s
    page = ratio < limits.page_ratio and lasting and work is not None and bool(view.gpus)
    step = "" if speed.slow_at_step is None else f", seen at step {number(speed.slow_at_step)}"
    yield Finding(
        trouble="throughput_collapse",
        key="pace",
        severity=Severity.CRITICAL if page else Severity.WARNING,
        remedy=_look(view),
        summary=f"the run makes {ratio:.0%} of its usual speed{step}"
        + (f"; {told}" if told else ""),
        evidence=tuple(_evidence(view, speed)),
        details={
            "speed": round(ratio, 3),
            "work": None if work is None else round(work, 3),
            "step": speed.slow_at_step,
            "since": since,
        },
    )


def _sudden(view: View, limits: Limits, speed: Collapse) -> Iterator[Finding]:
    """A finding if every report takes several times as long, and less is computed meanwhile."""
    if view.ending or _known(view) or speed.times < limits.slower_times:
        return
    work, told = _power(view, 8)
    if work is None and not view.gpus:
        work, told = _computed(speed, limits)
    if work is None or work >= limits.idle_ratio:
        return
    step = "" if speed.step is None else f" since step {number(speed.step)}"
    yield Finding(
        trouble="throughput_collapse",
        key="sudden",
        severity=Severity.WARNING,
        remedy=_look(view),
        summary=f"the run is {number(speed.times)} times as slow as before{step}, and waits: {told}",
        evidence=(Evidence("process", _now_and_usually(speed)),),
        details={"speed": round(1 / speed.times, 3), "work": round(work, 3), "step": speed.step},
        since=speed.slow[0].at,
    )


def _computed(speed: Collapse, limits: Limits) -> tuple[float | None, str]:
    """CPU time of all processes in the slow stretch as a part of the usual value, or of the trainers
    alone: what feeds them may be at work. (the part, or ``None``; the same in words)"""
    everybody, trainers = speed.cores(), speed.trainers()
    for who, cores in (("its processes use", everybody), ("its trainer uses", trainers)):
        if cores and cores[1] > 0 and cores[0] / cores[1] < limits.idle_ratio:
            words = f"{who} {cores[0]:.2g} CPU cores instead of {cores[1]:.2g}"
            return cores[0] / cores[1], words
    return None, ""


def _now_and_usually(speed: Collapse) -> str:
    now = speed.usual_s * speed.times
    return f"{now:.3g} s a {speed.unit} now, {speed.usual_s:.3g} s usually"


def _as_before(view: View, limits: Limits, speed: Windows) -> bool:
    """True while GPUs or processes work as usual, or nearly: then a step is more work than before.

    A run that waits works less by as much as it is slower. Half way between that and the usual work, on the scale
    of ratios, decides: of a run at a quarter of its speed, half of the usual work.
    """
    work, _ = _work(view, speed)
    waits = max(speed.long_ratio, speed.short_ratio)
    return work is not None and work >= min(limits.works_ratio, sqrt(waits))


def _known(view: View) -> bool:
    """True while the CPU quota or a throttled GPU explains it: other rules report these."""
    quota = view.accumulator(Quota)
    if quota is not None and quota.last is not None and quota.last.cores is not None:
        share = quota.share(quota.last.at, 120.0)
        if share is not None and share >= 0.5:
            return True
    return any(_held_back(newest(samples, 8)) for _, samples in possible(view))


def _held_back(recent: Sequence[GpuSample]) -> bool:
    return sum("hw_" in reason for s in recent for reason in s.throttle[:1]) > len(recent) // 2


def _work(view: View, speed: Windows) -> tuple[float | None, str]:
    """Present power of the GPUs, else CPU time of the processes, as a part of the usual value.

    (the part, or ``None`` if it is not known; the same in words)
    """
    drawn, told = _power(view)
    if drawn is not None:
        return drawn, told
    cores = speed.cores_ratio
    if view.gpus or cores is None:
        return None, ""
    return cores, f"its processes use {cores:.0%} of their usual CPU time"


def _power(view: View, samples: int = 60) -> tuple[float | None, str]:
    """Present power of the GPUs as a part of the usual value, by their newest ``samples``."""
    parts = []
    for _, seen in used(view):
        recent = newest(seen, samples)
        usual = recent[0].power_usual_w
        drawn = [s.power_w for s in recent if s.power_w is not None]
        if usual and drawn:
            parts.append(median(drawn) / usual)
    if not parts:
        return None, ""
    return min(parts), f"the GPUs draw {min(parts):.0%} of their usual power"


def _evidence(view: View, speed: Windows) -> Iterator[Evidence]:
    usual, now = speed.usual_s, speed.short_s
    per = "step" if speed.metric is None else speed.metric.split("_")[0].rstrip("s")
    yield Evidence("process", f"{now:.4g} s a {per} now, {usual:.4g} s usually")
    for index, samples in list(used(view))[:8]:
        last = samples[-1]
        told = [f"{last.util_ratio:.0%} busy"] if last.util_ratio is not None else []
        told += [f"{last.power_w:.0f} W"] if last.power_w is not None else []
        told += [f"{last.sm_clock_mhz:.0f} MHz"] if last.sm_clock_mhz is not None else []
        told += [" ".join(last.throttle)] if last.throttle else []
        if told:
            yield Evidence("gpu", f"GPU {index}: {', '.join(told)}", last.at)
    quota = view.accumulator(Quota)
    if quota is not None and quota.last is not None and quota.last.cores is not None:
        share = quota.share(quota.last.at, 300.0)
        often = "" if share is None else f", run out in {share:.0%} of the periods"
        yield Evidence("cgroup", f"CPU quota {number(quota.last.cores)}{often}", quota.last.at)


def _look(view: View) -> str:
    """The first step where no GPU can be the slow one; the handbook's begins with the GPUs."""
    return "" if view.gpus or view.stray_gpus or not view.live else _WITHOUT_GPU


def _slow(tempo: Throughput, speed: Speed) -> Iterator[Finding]:
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


def _hole(hole: LogGap, limits: Limits) -> Finding:
    """A finding about two reports whose time stamps are far apart, in a finished log."""
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


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the speed is usual again."""
    if case.key == "sudden":
        sudden = view.accumulator(Collapse)
        last = sudden.recovered_at(case.quiet_since) if sudden is not None else None
        return f"{last.seconds:.3g} s a {sudden.unit} again" if sudden and last else ""
    if len(list(islice(steps_since(view, case.quiet_since), 2))) < 2:
        return ""
    if case.key == "pace":
        speed = view.accumulator(Windows)
        if speed is None or not speed.usual_s or not speed.short_s:
            return ""
        ratio = speed.short_ratio
        return f"the run makes {ratio:.0%} of its usual speed" if ratio >= limits.slow_ratio else ""
    tempo = view.accumulator(Throughput)
    quick = tempo is not None and tempo.slow is not None and (tempo.over or tempo.quick)
    return "steps are as quick as before" if quick else ""


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(Step, LogEvent),
    accumulators=(
        Troubles,
        Throughput,
        Windows,
        Collapse,
    ),
    clears_after_s=300.0,
    recovered=recovered,
)
