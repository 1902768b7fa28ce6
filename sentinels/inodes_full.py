"""A file system that the run writes to has no inodes left for new files.

Decides: The free inodes of every mount that the run uses are compared with zero, and with the
    number of files of the run's own saves; else a line of the log that reports it counts.
Classes: inode_exhausted
Sources: btrfs and some overlays report 0 inodes in total, which means unknown and not full. Full
    means 64 free inodes, or 1 % if there are few in total (our choice). The next save is estimated
    as in `disk_full`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import CheckpointSeen, DiskSample, Evidence, Finding, LogEvent, Sentinel, Severity, View
from .kit.numbers import size, span
from .kit.recovery import OpenIncident, saved_since
from .kit.saves.pattern import FULL_INODES, no_inodes, saves_on


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.inodes_full]`."""

    full_inodes: int = FULL_INODES
    """Free inodes at which a file system counts as full (for a small one: 1 % of its inodes)."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about file systems without enough inodes, now or for the next save."""
    spoken = False
    for now in view.mounts:
        if not set(now.holds) - {"state"} or not now.total_inodes or now.free_inodes is None:
            continue
        finding = _mount(view, limits, now, now.free_inodes)
        if finding:
            spoken = True
            yield finding
    event = next((e for e in reversed(view.events) if e.trouble == "inode_exhausted"), None)
    if event is None or spoken:
        return
    overcame = view.went_on_after(event)
    if overcame and view.live:
        return
    yield Finding(
        trouble="inode_exhausted",
        key="write",
        severity=Severity.INFO if overcame else Severity.CRITICAL,
        fatal=event.fatal and not overcame,
        summary=f"a file could not be created: {event.text.strip()[:160]}",
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        details=dict(event.details),
    )


def _mount(view: View, limits: Limits, now: DiskSample, free: int) -> Finding | None:
    proof = Evidence(
        "disk",
        f"{now.mount}: {free} of {now.total_inodes} inodes free,"
        f" {size(now.free_bytes)} of space free",
        now.at,
    )
    details = {"path": now.mount, "free_inodes": free}
    if no_inodes(now, limits.full_inodes):
        return Finding(
            trouble="inode_exhausted",
            key=now.mount,
            severity=Severity.CRITICAL,
            summary=f"{now.mount} has no inodes left: {free} of {now.total_inodes} free; new"
            " files fail although there may be free space",
            evidence=(proof,),
            details=details,
            place=now.place,
        )
    if view.ending is not None:
        return None
    saves = saves_on(view, now.mount)
    if saves is None or free >= saves.files or not saves.settled(view):
        return None
    if saves.being_written(view, now):
        return None
    due_in_s = saves.due_in_s(view.now)
    due = "" if due_in_s is None else f", due in {span(due_in_s)}"
    # A save that replaces the last one may reuse the inodes of its files.
    return Finding(
        trouble="inode_exhausted",
        key=now.mount,
        severity=Severity.CRITICAL if saves.grows else Severity.WARNING,
        summary=f"the next checkpoint ({saves.files} files{due}) will not fit on {now.mount}: "
        f"{free} inodes free",
        evidence=(proof,),
        details={**details, "next_files": saves.files},
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the mount has inodes again, or a save was written after a failed one."""
    if case.key != "write":
        now = next((m for m in view.mounts if m.mount == case.key), None)
        if now is None or now.at <= case.quiet_since or no_inodes(now, limits.full_inodes):
            return ""
        return f"{now.mount} has {now.free_inodes} of {now.total_inodes} inodes free again"
    return saved_since(view, case)


SENTINEL = Sentinel(check, Limits(), on=(DiskSample, LogEvent, CheckpointSeen), recovered=recovered)
