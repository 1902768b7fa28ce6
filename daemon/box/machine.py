"""What the machine under us is: cores, memory, disks, since when it runs, who is logged in.

By psutil, so only for commands: the resident process reads what it watches by itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import psutil

from ..system.mounts import is_remote

_NO_PLACE = ("squashfs", "erofs", "iso9660", "vfat")
"""Images of packages and what a machine boots from: on a disk, but nowhere to save to."""
MOST_USERS = 20


class Disk(NamedTuple):
    """A local file system with room on it; sizes in bytes."""

    mount: str
    device: str
    fstype: str
    total: int
    free: int
    """For us, without what is kept for root."""


def look(seen: Collection[str] = ()) -> dict[str, Any]:
    """Plain values for ``audit --json``; times in epoch seconds, sizes in bytes.

    ``seen``: mount points that are looked at elsewhere; their file systems are left out of
    ``other_disks``. ``cores`` is ``None`` where the machine does not tell (some containers, ARM).
    """
    memory = psutil.virtual_memory()
    return {
        "booted_at": psutil.boot_time(),
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(),
        "memory_bytes": memory.total,
        "swap_bytes": psutil.swap_memory().total,
        "users": sorted({user.name for user in psutil.users()})[:MOST_USERS],
        "other_disks": [disk._asdict() for disk in other_disks(seen)],
    }


def other_disks(seen: Collection[str] = ()) -> Iterator[Disk]:
    """Each local file system once that none of the mount points ``seen`` lies on.

    Network file systems are left out: asking one that is dead how full it is never returns.
    """
    devices = {device for path in seen if (device := _device(path)) is not None}
    for part in psutil.disk_partitions(all=False):
        if is_remote(part.fstype) or part.fstype in _NO_PLACE:
            continue
        device = _device(part.mountpoint)
        # A container has single files of the host mounted, such as /etc/hosts.
        if device is None or device in devices or not os.path.isdir(part.mountpoint):
            continue
        devices.add(device)
        with contextlib.suppress(OSError):
            use = psutil.disk_usage(part.mountpoint)
            yield Disk(part.mountpoint, part.device, part.fstype, use.total, use.free)


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None
