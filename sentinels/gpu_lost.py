"""A GPU is gone or broken: off the bus, lost to the driver, or with uncorrectable memory.

Symptom: NVML answers "GPU is lost" for one card while the others answer, a kernel line with
    Xid 79, 48, 95 or 119, or "uncorrectable ECC error" from CUDA.
Confirm: `nvidia-smi -L` lists one card less or prints ERR!; `dmesg | grep Xid`.
Cause: hardware, power or PCIe; not the script.
Remedy:
    1. [safe] Note the Xid and the card's serial number for the provider.
    2. [safe] Check that the newest verified checkpoint is off this box.
    3. [costly] Leave the box: rent another and resume there; a reboot helps only sometimes.
Not: do not restart on the same card; do not wait for it to come back.
Retry: not on this box.
Classes: gpu_lost xid cuda_ecc nvswitch
Sources: two answers in a row, because a single lost answer can be the driver's own start.
    Xid 13, 31, 43 and 45 come from the application and are not the card's fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, GpuSample, LogEvent, Sentinel, Severity, View

CLASSES = ("gpu_lost", "xid", "cuda_ecc", "nvswitch")
APPLICATION_XIDS = frozenset({13, 31, 43, 45, 63, 68, 69, 94, 137})
"""Raised by the program or already dealt with by the driver (NVIDIA's Xid catalogue)."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.gpu_lost]`."""

    answers: int = 2
    """Answers in a row that say "lost" before it counts."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak about cards that the driver has lost, and fatal GPU lines of any log."""
    event = next((e for e in reversed(view.events) if _fatal(e)), None)
    for index, samples in view.gpus.items():
        newest = [s for s in list(samples)[-limits.answers :] if s.lost]
        if len(newest) < limits.answers:
            continue
        told = (Evidence("log", event.text, event.at),) if event else ()
        yield Finding(
            trouble="gpu_lost",
            key=f"gpu{index}",
            severity=Severity.CRITICAL,
            fatal=True,
            summary=f"GPU {index} {newest[-1].name} is lost to the driver".replace("  ", " "),
            evidence=(
                Evidence("gpu", f"GPU {index} {newest[-1].uuid}: {newest[-1].error}", newest[0].at),
                *told,
            ),
            details={"gpu": index},
        )
    lost = any(s[-1].lost for s in view.gpus.values())
    if event is not None and not lost and not view.steps_after(event.at, event.line, event.file):
        yield Finding(
            trouble=event.trouble,
            key="log",
            severity=Severity.CRITICAL,
            fatal=event.fatal,
            summary=f"a GPU failed: {event.text.strip()[:160]}",
            evidence=(Evidence("log", event.text, event.at),),
            file=event.file,
            line=event.line,
            details=dict(event.details),
        )


def _fatal(event: LogEvent) -> bool:
    if event.trouble not in CLASSES:
        return False
    return event.severity == "critical" and event.details.get("xid") not in APPLICATION_XIDS


SENTINEL = Sentinel(check, Limits(), on=(GpuSample, LogEvent), clears_after_s=300.0)
