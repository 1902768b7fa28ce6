"""What this process and its children take from the box, and how its own disk is. Reads, never judges."""

from __future__ import annotations

import os
import resource
import stat
from dataclasses import dataclass
from pathlib import Path

from . import cgroupfs, descriptors, procfs
from .descriptors import Figures

_INOTIFY = "/proc/sys/fs/inotify"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Sizes in bytes, times in seconds; ``None`` is unknown."""

    rss_bytes: int | None
    pss_bytes: int | None
    """Resident memory, of which what is shared is counted by its share."""
    children_rss_bytes: int
    """Of the children that live."""
    left_bytes: int | None
    """Until the memory limit of the control group, or one above it, is reached."""
    cpu_s: float
    children_cpu_s: float
    """Of those that live and those that have ended."""
    descriptors: Figures
    threads: int | None
    inotify_limit: int | None
    """Watches that the user may have (fs.inotify.max_user_watches)."""


def look() -> Footprint:
    """Measure this process. It takes about a millisecond, most of it for ``pss_bytes``."""
    pid = os.getpid()
    own = procfs.stat(pid)
    children = [seen for child in procfs.children(pid) or () if (seen := procfs.stat(child))]
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    rollup = procfs.read_or_none(f"{procfs.PROC}/self/smaps_rollup") or b""
    watches = procfs.read_or_none(f"{_INOTIFY}/max_user_watches", 32) or b""
    return Footprint(
        rss_bytes=own.rss_bytes if own else None,
        pss_bytes=cgroupfs.kibibytes(rollup, b"Pss:"),
        children_rss_bytes=sum(seen.rss_bytes for seen in children),
        left_bytes=memory_left(),
        cpu_s=own.cpu_s if own else 0.0,
        children_cpu_s=ended.ru_utime + ended.ru_stime + sum(seen.cpu_s for seen in children),
        descriptors=descriptors.own.figures(),
        threads=own.threads if own else None,
        inotify_limit=procfs.number(watches, b""),
    )


def memory_left() -> int | None:
    """Bytes until the limit of our control group, or of the box; ``None`` when unknown."""
    known = (cgroupfs.memory_left(os.getpid()), cgroupfs.box_memory_left())
    return min((left for left in known if left is not None), default=None)


@dataclass(frozen=True, slots=True)
class StateDisk:
    """The state directory, and the file system that it is on."""

    path: str
    trouble: str = ""
    """Why it cannot be looked at; the rest is then unknown."""
    replaced: bool = False
    """It is another directory than the one that the daemon has locked: unmounted, moved, deleted."""
    free_bytes: int = 0
    total_bytes: int = 0
    free_inodes: int = 0
    total_inodes: int = 0
    """0 where the file system does not count them (btrfs)."""
    read_only: bool = False
    writable: bool = True
    """Whether we may write there, by its owner and mode."""
    uid: int = 0
    mode: int = 0


def state_disk(root: Path, lock: Path, held: int | None) -> StateDisk:
    """Look at a state directory. ``held``: descriptor of the lock file, of the daemon that has it."""
    try:
        info, room = os.stat(root), os.statvfs(root)
    except OSError as error:
        return StateDisk(str(root), trouble=error.strerror or str(error), replaced=held is not None)
    return StateDisk(
        path=str(root),
        replaced=held is not None and not _same(lock, held),
        free_bytes=room.f_bavail * room.f_frsize,
        total_bytes=room.f_blocks * room.f_frsize,
        free_inodes=room.f_favail,
        total_inodes=room.f_files,
        read_only=bool(room.f_flag & os.ST_RDONLY),
        writable=os.access(root, os.W_OK | os.X_OK) or bool(room.f_flag & os.ST_RDONLY),
        uid=info.st_uid,
        mode=stat.S_IMODE(info.st_mode),
    )


def _same(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except OSError:
        return False
