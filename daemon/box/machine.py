"""Facts about this machine: cores, memory, disks, boot time, users who are logged in.

It uses psutil, so it is only for commands: the resident process must not load that.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import psutil

from ..system.mounts import is_remote

_NO_PLACE = ("squashfs", "erofs", "iso9660", "vfat")
"""File systems of package images and boot partitions: nothing can be saved there."""
MOST_USERS = 20


class Disk(NamedTuple):
    """A local file system with room on it; sizes in bytes."""

    mount: str
    device: str
    fstype: str
    total: int
    free: int
    """Without what is reserved for root."""


def look(seen: Collection[str] = ()) -> dict[str, Any]:
    """Facts for ``audit --json``; times in epoch seconds, sizes in bytes.

    ``seen``: mount points that are looked at elsewhere; their file systems are left out of
    ``other_disks``. ``cores`` is ``None`` where it is not known (some containers, ARM).
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
    """Every local file system once, except those of the mount points ``seen``.

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
