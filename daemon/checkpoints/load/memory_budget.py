"""How much memory may be taken without harm to the training: of the box and of the container."""

from __future__ import annotations

import os

from ...system import cgroupfs

SHARE = 0.5
"""Of what is free. Our choice: the other half is for what the training takes next."""
MOST_BYTES = 8 << 30
LEAST_BYTES = 512 << 20
"""Less does not load a single large tensor; the kernel has the last word anyway."""


def memory(pid: int | None = None, root: str = "/") -> int:
    """Bytes a heavy child may use: half of what is free, between 512 MiB and 8 GiB.

    Page cache that the kernel gives back at once is free, in the box and under a limit. ``pid``
    (default: our own): whose limits count. ``root`` stands before /proc and the mount points.
    """
    root = root.rstrip("/")
    of_box = cgroupfs.box_memory_left(root)
    of_group = cgroupfs.memory_left(os.getpid() if pid is None else pid, root)
    free = min((left for left in (of_box, of_group) if left is not None), default=MOST_BYTES)
    return max(LEAST_BYTES, min(MOST_BYTES, int(SHARE * free)))
