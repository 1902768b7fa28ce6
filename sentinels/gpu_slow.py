"""A GPU lowers its own speed: too hot, limited by its power supply, or at a low clock.

Decides: In most of the newest samples of a busy GPU the driver reports a hardware slowdown; or it
    reports a thermal limit and the clock is lower than usual; or the clock under full load is far
    below the usual clock of the same GPU, and no power cap explains it.
Classes: gpu_slow
Sources: NVIDIA's clock event reasons: hw_thermal halves the clock or worse, hw_power_brake is a
    signal from outside, hw_slowdown is either of them. Six of eight seconds, because a single
    second is common when the load changes. sw_thermal alone is normal for warm GPUs, so the clock
    must also be a tenth lower. 60 % of its own usual clock at 80 % load is our choice: a power cap,
    which is no trouble, costs less than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .kit import Evidence, Finding, GpuSample, Sentinel, Severity, View
from .kit.gpus import at_work, newest, possible
from .kit.numbers import median
from .kit.recovery import OpenIncident

HARD = ("hw_thermal", "hw_power_brake", "hw_slowdown")
"""Clock event reasons that always cost much speed, the most exact first."""
SOFT = ("sw_thermal",)
WORDS = {
    "hw_thermal": "is too hot: the hardware has cut its clock",
    "hw_power_brake": "is slowed down by its power supply (power brake)",
    "hw_slowdown": "is slowed down by its hardware",
    "sw_thermal": "is too hot: the driver lowers its clock",
}
FULL_LOAD = 0.8


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.gpu_slow]`."""

    looks: int = 8
    """Number of newest samples, one a second, that are looked at."""
    most: int = 6
    """Number of these samples that must show the slowdown."""
    soft_ratio: float = 0.9
    """Part of the usual clock below which a thermal limit of the driver counts."""
    clock_ratio: float = 0.6
    """Part of the usual clock under full load below which the clock counts as too low."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about busy GPUs that are slowed down in most of the newest samples."""
    if not view.live or view.ending is not None:
        return
    for index, samples in possible(view):
        last = samples[-1]
        if not last.throttle and not _dropped(last, limits.clock_ratio):
            continue  # the usual case: no sign of it in the newest sample
        recent = newest(samples, limits.looks)
        if len(recent) < limits.looks or view.now - last.at > limits.looks or not at_work(recent):
            continue
        what = _what(recent, limits)
        if what:
            yield _finding(index, recent, *what)


def _what(recent: Sequence[GpuSample], limits: Limits) -> tuple[str, str] | None:
    """(reason, words) of what slows the GPU down; ``None``: nothing does."""
    for reason in HARD:
        if sum(reason in s.throttle for s in recent) >= limits.most:
            return reason, WORDS[reason]
    part = _part(recent)
    for reason in SOFT:
        often = sum(reason in s.throttle for s in recent) >= limits.most
        if often and part is not None and part < limits.soft_ratio:
            return reason, WORDS[reason]
    if sum(_dropped(s, limits.clock_ratio) for s in recent) >= limits.most:
        return "clock", "runs far below its usual clock"
    return None


def _dropped(sample: GpuSample, ratio: float) -> bool:
    clock, usual = sample.sm_clock_mhz, sample.sm_clock_usual_mhz
    if clock is None or not usual or (sample.util_ratio or 0.0) < FULL_LOAD:
        return False
    return clock < ratio * usual and "sw_power_cap" not in sample.throttle


def _part(recent: Sequence[GpuSample]) -> float | None:
    """The clock as a part of what is usual."""
    usual = recent[0].sm_clock_usual_mhz
    clocks = [s.sm_clock_mhz for s in recent if s.sm_clock_mhz is not None]
    return median(clocks) / usual if usual and clocks else None


def _finding(index: int, recent: Sequence[GpuSample], reason: str, words: str) -> Finding:
    last = recent[0]
    part = _part(recent)
    clock = _clock(last)
    name = f"GPU {index} {last.name}".rstrip()
    text = f"GPU {index} {last.uuid}: {clock}"
    text += "" if last.temp_c is None else f", {last.temp_c:.0f} °C"
    text += "" if last.power_w is None else f", {last.power_w:.0f} W"
    text += f", reasons: {' '.join(last.throttle)}" if last.throttle else ""
    return Finding(
        trouble="gpu_slow",
        key=f"gpu{index}",
        severity=Severity.WARNING,
        summary=f"{name} {words} ({clock})",
        evidence=(Evidence("gpu", text, last.at),),
        details={
            "gpu": index,
            "reason": reason,
            "clock_ratio": None if part is None else round(part, 3),
        },
        place=last.place,
        since=recent[-1].at,
    )


def _clock(last: GpuSample) -> str:
    if last.sm_clock_mhz is None:
        return "clock unknown"
    usual = last.sm_clock_usual_mhz
    return f"{last.sm_clock_mhz:.0f} MHz" + (f", usually {usual:.0f}" if usual else "")


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the GPU is not slowed down in any of the newest samples."""
    index = case.details.get("gpu")
    cards = dict(possible(view))
    recent = newest(cards.get(index, ()) if isinstance(index, int) else (), limits.looks)
    if len(recent) < limits.looks or recent[-1].at <= case.quiet_since:
        return ""
    if any(s.throttle or _dropped(s, limits.clock_ratio) for s in recent):
        return ""
    return f"GPU {index} is not slowed down any more ({_clock(recent[0])})"


SENTINEL = Sentinel(check, Limits(), on=(GpuSample,), clears_after_s=120.0, recovered=recovered)
