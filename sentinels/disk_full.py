"""A disk that the run writes to is full, or will be full before the next checkpoint is saved.

Decides: The free space of every mount that the run uses is compared with zero, and with the size of
    the run's recent saves once the newest of them is finished. A write error in the log is reported
    with the mount that was full at that time, else alone. It is critical if every save uses more
    space, and a warning if one file is overwritten again and again.
Classes: disk_full quota_exceeded ckpt_write_failed
Sources: "Free space is less than the largest of the last five saves" missed no failure on 200
    synthetic traces, where a fixed 90 % rule missed every second write that did not fit. Full means
    less than 16 MiB free, or 1 % of a small disk (our choice).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from .kit import CheckpointSeen, DiskSample, Evidence, Finding, LogEvent, Sentinel, Severity, View
from .kit.numbers import size, span
from .kit.progress import completed, ended_well
from .kit.recovery import OpenIncident, saved_since
from .kit.saves.pattern import no_inodes, saves_on

CLASSES = ("disk_full", "quota_exceeded", "ckpt_write_failed")
"""The most exact class first: a checkpoint writer often does not know why it failed."""

NEAR_LINES = 60
"""Lines. Errors this close together are of one failed save: a traceback, and one raised while the
first was handled."""


BREATHES = 10
"""Times as long as usual for which a spare disk must stay full that was full before and had room again."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.disk_full]`."""

    full_bytes: int = 16777216
    """Free space below which a disk counts as full (for a small disk: 1 % of its size)."""
    event_s: float = 120.0
    """How long a write error in the log counts as new."""
    near_s: float = 10.0
    """A disk that was full this shortly before or after a write error was its cause; a trainer
    that deletes its unfinished file frees the space again at once."""
    spare_s: float = 30.0
    """How long a disk must be full on which no save, log or open file is known: a cache that fills its own disk
    makes room again by itself. A write that fails and ends the run is told at once."""
    settle_s: float = 2.0
    """Time for a new sample of the mounts after a write error: it shows which mount is full, and
    whether bytes or inodes are used up."""
    raised_s: float = 45.0
    """The same for a traceback after which no report came, which is rarely text of a model."""
    unproven_s: float = 90.0
    """The same while the run is alive and every mount has space: the line may be text that a model
    generated, and a run whose write really failed ends, stops or continues within this time."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about full mounts, mounts too small for the next save, and failed writes."""
    error = _error(view, limits)
    fresh = None if error is None or view.went_on_after(error) else error
    explained = False
    for now in view.mounts:
        if not set(now.holds) - {"state"} or now.total_bytes <= 0:
            continue
        if _is_full(now, limits):
            since = _full_since(view, limits, now.mount)
            raised = fresh is not None and "exception" in fresh.details
            if _spare(now) and not raised and not _lasting(view, since, now, limits):
                continue
            finding: Finding | None = _full(
                now, fresh if raised or not _spare(now) else None, since
            )
        else:
            finding = _too_small(view, now, fresh)
        if finding:
            explained = True
            yield finding
    if error is not None and (not explained or error.trouble == "quota_exceeded"):
        yield from _told(view, limits, error)


def _is_full(sample: DiskSample, limits: Limits) -> bool:
    return sample.free_bytes <= min(limits.full_bytes, sample.total_bytes // 100)


def _spare(sample: DiskSample) -> bool:
    """Nothing is known to lie there that a full disk would harm: no save, no log, no file that is written."""
    return not set(sample.holds) - {"state", "cwd", "tmp", "shm"}


def _lasting(view: View, since: float | None, now: DiskSample, limits: Limits) -> bool:
    """Whether a spare disk has been full for long; longer, where it has made room by itself before."""
    full = [_is_full(sample, limits) for sample in view.disks[now.mount]]
    breathes = any(a and not b for a, b in pairwise(full))
    needed = limits.spare_s * (BREATHES if breathes else 1)
    return since is not None and now.at - since >= needed


def _proof(now: DiskSample) -> Evidence:
    free = f"{size(now.free_bytes)} of {size(now.total_bytes)} free"
    return Evidence("disk", f"{now.mount}: {free} (holds {', '.join(now.holds)})", now.at)


def _said(error: LogEvent | None) -> tuple[Evidence, ...]:
    return () if error is None else (Evidence("log", error.text, error.at),)


def _full_since(view: View, limits: Limits, mount: str) -> float | None:
    """When the mount became full, as far as its samples reach."""
    since = None
    for sample in reversed(view.disks[mount]):
        if not _is_full(sample, limits):
            break
        since = sample.at
    return since


def _full(now: DiskSample, error: LogEvent | None, since: float | None) -> Finding:
    return Finding(
        trouble="disk_full",
        key=now.mount,
        severity=Severity.CRITICAL,
        fatal=error is not None and error.fatal,
        summary=f"{now.mount} is full: {size(now.free_bytes)} of {size(now.total_bytes)} left",
        evidence=(_proof(now), *_said(error)),
        file=error.file if error else "",
        line=error.line if error else 0,
        details={"path": now.mount, "free_bytes": now.free_bytes},
        place=now.place,
        since=since,
    )


def _too_small(view: View, now: DiskSample, error: LogEvent | None) -> Finding | None:
    """A finding if the next save does not fit; a new write error means that one has failed."""
    if error is None and view.ending is not None:
        return None
    saves = saves_on(view, now.mount)
    if saves is None or now.free_bytes >= saves.bytes:
        return None
    if error is None and (not saves.settled(view) or saves.being_written(view, now)):
        return None
    due_in_s = saves.due_in_s(view.now)
    due = "" if due_in_s is None else f", due in {span(due_in_s)}"
    # One file that is written over and over may be truncated first and then fit again.
    return Finding(
        trouble="disk_full",
        key=now.mount,
        severity=Severity.CRITICAL if saves.grows or error else Severity.WARNING,
        fatal=error is not None and error.fatal,
        summary=f"{'a write failed, and ' if error else ''}the next checkpoint ({size(saves.bytes)}"
        f"{due}) will not fit on {now.mount}: {size(now.free_bytes)} free",
        evidence=(_proof(now), *_said(error)),
        file=error.file if error else "",
        line=error.line if error else 0,
        details={"path": now.mount, "free_bytes": now.free_bytes, "next_bytes": saves.bytes},
    )


def _error(view: View, limits: Limits) -> LogEvent | None:
    """The write error to report: the newest of a finished log, or the most exact recent one."""
    errors = (e for e in reversed(view.events) if e.trouble in CLASSES)
    if not view.live:
        newest = next(errors, None)
        if newest is None:
            return None
        together = (
            e for e in errors if e.file == newest.file and newest.line - e.line <= NEAR_LINES
        )
        return min([newest, *together], key=lambda e: CLASSES.index(e.trouble))
    recent = [e for e in errors if view.now - e.at <= limits.event_s]
    return min(recent, key=lambda e: CLASSES.index(e.trouble), default=None)


def _told(view: View, limits: Limits, error: LogEvent) -> Iterator[Finding]:
    """A finding about a write error although every mount has space: a quota, or freed space."""
    if any(no_inodes(sample) for sample in view.mounts):
        return  # inodes_full reports it
    overcame = view.went_on_after(error)
    was_full = _was_full(view, limits, error)
    raised = "exception" in error.details
    saving = raised and error.trouble == "ckpt_write_failed"  # its frames are those of a save
    text_only = was_full is None and not raised and "[Errno " not in error.text
    if text_only and ended_well(view) and completed(view):
        return  # every mount has space, and nobody says that a call failed: text, of a model or of another log
    handled = was_full is not None and _spare(was_full) and not raised
    if handled and overcame:
        return  # a cache that was full, and went on
    unproven = (was_full is None or handled) and view.ending is None and not (overcame or saving)
    wait_s = limits.settle_s
    if unproven:
        reported = any(s.line > error.line and s.file == error.file for s in view.steps)
        wait_s = limits.raised_s if raised and not reported else limits.unproven_s
    if view.live and view.now - error.at < wait_s:
        return
    severity = Severity.WARNING if overcame else Severity.CRITICAL
    if overcame and was_full is None and error.trouble == "disk_full" and not saving:
        severity = (
            Severity.INFO
        )  # no disk was full, and the run goes on: text that it reads or writes
    what = "a write failed"
    if was_full is not None:
        what = f"{was_full.mount} was full when a write failed"
    proof = (_proof(was_full),) if was_full else ()
    yield Finding(
        trouble=error.trouble if was_full is None else "disk_full",
        key="write" if was_full is None else was_full.mount,
        severity=severity if view.live or not overcame else Severity.INFO,
        fatal=error.fatal and not overcame,
        summary=f"{what}: {error.text.strip()[:160]}",
        evidence=(*proof, *_said(error)),
        file=error.file,
        line=error.line,
        details=dict(error.details),
    )


def _was_full(view: View, limits: Limits, error: LogEvent) -> DiskSample | None:
    """The sample of a mount that was full around the error, if one was."""
    if error.trouble == "quota_exceeded":
        return None
    for samples in view.disks.values():
        for sample in reversed(samples):
            if sample.at < error.at - limits.near_s:
                break
            near = sample.at <= error.at + limits.near_s and not sample.read_only
            if near and set(sample.holds) - {"state"} and _is_full(sample, limits):
                return sample
    return None


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the mount has space again, or a save was written after a failed one."""
    if case.key != "write":
        now = next((m for m in view.mounts if m.mount == case.key), None)
        if now is None or now.at <= case.quiet_since or _is_full(now, limits):
            return ""
        return f"{now.mount} has {size(now.free_bytes)} of {size(now.total_bytes)} free again"
    return saved_since(view, case)


SENTINEL = Sentinel(check, Limits(), on=(DiskSample, LogEvent, CheckpointSeen), recovered=recovered)
