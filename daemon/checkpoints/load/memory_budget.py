"""How much memory can be used without harm to the training, in the box and the container."""

from __future__ import annotations

import os

from ...system import cgroupfs

SHARE = 0.5
"""Fraction of the free memory. Our choice: the other half is left for the training."""
MOST_BYTES = 8 << 30
LEAST_BYTES = 512 << 20
"""With less not even one large tensor can be loaded; the limits of the kernel hold anyway."""


def memory(pid: int | None = None, root: str = "/") -> int:
    """Bytes a heavy child may use: half of what is free, between 512 MiB and 8 GiB.

    Page cache that the kernel can reclaim at once counts as free, in the box and in a cgroup.
    ``pid`` (default: our own): the process whose cgroup limits count. ``root``: prefix of /proc
    and of the mount points.
    """
    root = root.rstrip("/")
    of_box = cgroupfs.box_memory_left(root)
    of_group = cgroupfs.memory_left(os.getpid() if pid is None else pid, root)
    free = min((left for left in (of_box, of_group) if left is not None), default=MOST_BYTES)
    return max(LEAST_BYTES, min(MOST_BYTES, int(SHARE * free)))
