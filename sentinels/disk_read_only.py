"""A file system that the run writes to has become read-only.

Decides: A mount with the saves, logs, working folder or open files of the run could be written to
    while it was watched, and cannot any more.
Classes: disk_read_only
Sources: A kernel that meets errors on a disk takes the right to write away
    (`errors=remount-ro` of ext4, the default of most distributions); a disk that was attached a
    second time, a full quota of a network volume and a person do the same. That the mount is seen
    to be read-only in two looks is our choice: while it is mounted anew, one may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .kit import DiskSample, Evidence, Finding, Sentinel, Severity, View
from .kit.recovery import OpenIncident

WRITTEN = frozenset(("checkpoints", "log", "cwd", "files"))
"""What the run has on a mount that it writes to (``DiskSample.holds``)."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.disk_read_only]`."""

    looks: int = 2
    """Newest looks in which the mount must be read-only."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding for each mount that turned read-only while it was watched."""
    if view.ending is not None:
        return
    for samples in view.disks.values():
        first = _turned(samples)
        if first is None or sum(s.at >= first.at for s in samples) < limits.looks:
            continue
        now = samples[-1]
        holds = ", ".join(sorted(WRITTEN.intersection(now.holds)))
        yield Finding(
            trouble="disk_read_only",
            key=now.mount,
            severity=Severity.CRITICAL,
            summary=f"{now.mount} has become read-only: nothing can be saved there any more",
            evidence=(
                Evidence("disk", f"{now.mount} ({now.fstype}, holds {holds}) is read-only", now.at),
            ),
            details={"path": now.mount},
            place=now.place,
            since=first.at,
        )


def _turned(samples: Sequence[DiskSample]) -> DiskSample | None:
    """The first read-only sample since the mount was writable; ``None`` if it is or never was."""
    first = None
    for sample in reversed(samples):
        if not sample.read_only:
            break
        first = sample
    else:
        return None  # read-only as long as it is known: data that is only read
    if first is None or not WRITTEN.intersection(first.holds):
        return None
    return first


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the mount can be written to again."""
    samples = view.disks.get(case.key)
    if not samples or samples[-1].at <= case.quiet_since or samples[-1].read_only:
        return ""
    return f"{case.key} can be written to again"


SENTINEL = Sentinel(check, Limits(), on=(DiskSample,), recovered=recovered)
