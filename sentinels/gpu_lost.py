"""A GPU is lost or broken: off the bus, lost to the driver, or with uncorrectable memory errors.

Decides: Two NVML answers in a row say that the GPU is lost; or a fatal GPU line in a log is not
    followed by two steps; or a counter of uncorrected memory errors has grown. If steps continue, a
    lost GPU is only a warning: CUDA contexts that exist keep working when only the container lost
    its access. A GPU that no run is known to use is only a warning about the box. A memory error is
    critical, because it ends the program that reads the bad memory cell, now or later.
Classes: gpu_lost xid cuda_ecc nvswitch
Sources: NVIDIA's Xid catalogue: 13, 31, 43 and 45 come from the application and are no fault of the
    GPU; a row that cannot be remapped is its criterion for replacing a GPU. Two answers, because a
    single one can occur while the driver starts (our choice).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .kit import Evidence, Finding, GpuSample, LogEvent, Sentinel, Severity, View
from .kit.gpus import newest
from .kit.recovery import OpenIncident, went_on

CLASSES = ("gpu_lost", "xid", "cuda_ecc", "nvswitch")
APPLICATION_XIDS = (13, 31, 43, 45, 63, 68, 69, 94, 137)
"""Caused by the program, or already handled by the driver (NVIDIA's Xid catalogue)."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.gpu_lost]`."""

    answers: int = 2
    """Answers in a row that say "lost" before it is reported."""
    goes_on_s: float = 10.0
    """A step later than this after the loss of the GPU shows that the run goes on."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about GPUs that the driver has lost, fatal GPU lines, and memory errors."""
    if not view.live:
        yield from _replayed(view)
        return
    event = next(
        (e for e in reversed(view.events) if _fatal(e) and not view.went_on_after(e)), None
    )
    spoken = False
    for index, samples in (*view.gpus.items(), *view.stray_gpus.items()):
        answers = newest(samples, limits.answers)
        if len(answers) < max(1, limits.answers) or not all(s.lost for s in answers):
            continue
        spoken = spoken or index in view.gpus or not view.gpus_known
        yield _lost(view, limits, index, answers[0], _since(samples), event)
    if event is not None and not spoken:
        card = event.details.get("gpu")
        stray = event.file == "nvml" and card is not None and card not in view.gpus
        yield _told(event, Severity.WARNING if stray else Severity.CRITICAL)
    yield from _memory(view)


def _memory(view: View) -> Iterator[Finding]:
    """Findings about GPUs with new uncorrected memory errors, or rows that cannot be remapped."""
    cards = [s[-1] for s in (*view.gpus.values(), *view.stray_gpus.values()) if s]
    for card in cards:
        if not (card.ecc_new or card.remap_failed):
            continue
        name = f"GPU {card.index} {card.name}".rstrip()
        count = card.ecc_new or 0
        what = f"has counted {count} uncorrected ECC error{'s' if count > 1 else ''} of its memory"
        yield Finding(
            trouble="cuda_ecc",
            key=f"memory{card.index}",
            severity=Severity.CRITICAL if count and card.index in view.gpus else Severity.WARNING,
            summary=f"{name} {what if count else 'cannot replace a faulty row of its memory'}",
            evidence=(Evidence("gpu", f"GPU {card.index} {card.uuid}: {card.error or what}"),),
            details={"gpu": card.index, "errors": count, "remap_failed": card.remap_failed},
            place=card.place,
        )


def _since(samples: Sequence[GpuSample]) -> float:
    """When the newest series of "lost" answers began."""
    at = samples[-1].at
    for sample in reversed(samples):
        if not sample.lost:
            break
        at = sample.at
    return at


def _lost(
    view: View,
    limits: Limits,
    index: int,
    newest: GpuSample,
    since: float,
    event: LogEvent | None,
) -> Finding:
    goes_on = view.steps_after(since + limits.goes_on_s) > 0
    ours = index in view.gpus
    name = f"GPU {index} {newest.name}".rstrip()
    told = (Evidence("log", event.text, event.at),) if event else ()
    return Finding(
        trouble="gpu_lost",
        key=f"gpu{index}",
        severity=Severity.CRITICAL if ours and not goes_on else Severity.WARNING,
        fatal=ours and not goes_on,
        summary=f"{name} is lost to the driver{_whose(ours=ours, goes_on=goes_on)}",
        evidence=(Evidence("gpu", f"GPU {index} {newest.uuid}: {newest.error}", since), *told),
        file=event.file if event else "",
        line=event.line if event else 0,
        details={"gpu": index},
        place=newest.place,
        since=since,
    )


def _whose(*, ours: bool, goes_on: bool) -> str:
    if not ours:
        return "; no run is known to use it"
    if not goes_on:
        return ""
    return "; the run still makes steps: it uses another GPU, or only telemetry is lost"


def _told(event: LogEvent, severity: Severity) -> Finding:
    return Finding(
        trouble=event.trouble,
        key=_key(event),
        severity=severity,
        fatal=event.fatal and severity is Severity.CRITICAL,
        summary=f"a GPU failed: {event.text.strip()[:160]}",
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        details=dict(event.details),
        place=_place(event),
        since=event.at or None,
    )


def _place(event: LogEvent) -> str:
    """The GPU, if the box reported it: then all runs on that GPU are told of it together."""
    if event.file not in ("nvml", "kernel"):
        return ""
    return f"gpu:{event.details.get('gpu', event.details.get('gpu_bus', ''))}:{event.trouble}"


def _key(event: LogEvent) -> str:
    xid = event.details.get("xid")
    return event.trouble if xid is None else f"xid{xid}"


def _replayed(view: View) -> Iterator[Finding]:
    """Findings in a finished log: every error once, at its first line; overcome ones as a note."""
    first: dict[str, LogEvent] = {}
    newest: dict[str, LogEvent] = {}
    for event in view.events:
        if event.trouble in CLASSES:
            key = _key(event)
            first.setdefault(key, event)
            newest[key] = event
    for key, event in first.items():
        severity = Severity.parse(event.severity)
        yield _told(event, Severity.INFO if view.went_on_after(newest[key]) else severity)


def _fatal(event: LogEvent) -> bool:
    if event.trouble not in CLASSES:
        return False
    return event.severity == "critical" and event.details.get("xid") not in APPLICATION_XIDS


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the GPU answers again, or training went on; never for errors of its memory."""
    if case.key.startswith("memory"):
        return ""
    if case.trouble != "gpu_lost" or not case.key.startswith("gpu"):
        return went_on(view, case)
    index = case.details.get("gpu")
    cards = {**view.stray_gpus, **view.gpus}
    samples = cards.get(index, ()) if isinstance(index, int) else ()
    answers = newest(samples, limits.answers)
    if len(answers) < max(1, limits.answers) or any(s.lost for s in answers):
        return ""
    return f"GPU {index} answers again" if answers[-1].at > case.quiet_since else ""


SENTINEL = Sentinel(
    check, Limits(), on=(GpuSample, LogEvent), clears_after_s=300.0, recovered=recovered
)
