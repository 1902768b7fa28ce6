"""A file system the run writes to has no inodes left for new files.

Symptom: "No space left on device" although `df -h` shows room.
Confirm: `df -i DIR` shows 100 % in IUse%.
Cause: millions of small files: a data set unpacked file by file, one file per sample from a
    tracker, a package cache on the same volume.
Remedy:
    1. [safe] Find the folder: `du --inodes -x --max-depth=3 DIR | sort -n | tail`.
    2. [safe] Point caches and trackers to another volume.
    3. [costly] Pack or delete small files that are not needed to run.
Not: do not delete checkpoints for this; they are few files.
Retry: after there are inodes for two saves.
Classes: inode_exhausted
Sources: btrfs and some overlays report 0 inodes in total, which means unknown, not full.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import (
    CheckpointSeen,
    DiskSample,
    Evidence,
    Finding,
    LogEvent,
    Sentinel,
    Severity,
    View,
)
from .kit.numbers import span
from .kit.saves import saves_on


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.inodes_full]`."""

    full_inodes: int = 64
    """Free inodes at which a file system counts as full (a small one: 1 % of its own)."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak about file systems without inodes, now or for the next save."""
    spoken = False
    for mount, samples in view.disks.items():
        now = samples[-1]
        if not set(now.holds) - {"state"} or not now.total_inodes or now.free_inodes is None:
            continue
        finding = _mount(view, limits, mount, now, now.free_inodes, now.total_inodes)
        if finding:
            spoken = True
            yield finding
    event = next((e for e in reversed(view.events) if e.trouble == "inode_exhausted"), None)
    if event is not None and not spoken and not view.steps_after(event.at, event.line, event.file):
        yield Finding(
            trouble="inode_exhausted",
            key="write",
            severity=Severity.CRITICAL,
            fatal=event.fatal,
            summary=f"a file could not be created: {event.text.strip()[:160]}",
            evidence=(Evidence("log", event.text, event.at),),
            file=event.file,
            line=event.line,
            details=dict(event.details),
        )


def _mount(
    view: View, limits: Limits, mount: str, now: DiskSample, free: int, total: int
) -> Finding | None:
    proof = Evidence(
        "disk", f"{mount}: {free} of {total} inodes free, {now.free_bytes} bytes free", now.at
    )
    details = {"path": mount, "free_inodes": free}
    if free <= min(limits.full_inodes, total // 100):
        return Finding(
            trouble="inode_exhausted",
            key=mount,
            severity=Severity.CRITICAL,
            summary=f"{mount} has no inodes left: {free} of {total} free; new files fail "
            "although there is room",
            evidence=(proof,),
            details=details,
        )
    saves = saves_on(view, mount)
    if saves is None or view.ending is not None or free >= saves.files:
        return None
    due = ""
    if saves.every_s is not None:
        due = f", due in {span(max(0.0, saves.newest_at + saves.every_s - view.now))}"
    return Finding(
        trouble="inode_exhausted",
        key=mount,
        severity=Severity.CRITICAL,
        summary=f"the next checkpoint ({saves.files} files{due}) will not fit on {mount}: "
        f"{free} inodes free",
        evidence=(proof,),
        details=details,
    )


SENTINEL = Sentinel(check, Limits(), on=(DiskSample, LogEvent, CheckpointSeen))
