"""What processes hold: open files, and TCP connections that the kernel keeps alive. For commands."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Collection
from pathlib import Path

_ESTABLISHED = "01"
_TIMERS = {"02": True, "00": False}


def holders(wanted: Collection[tuple[int, int]], root: str = "/") -> dict[tuple[int, int], int]:
    """Which of these files (device, inode) a process has open, and its pid."""
    held = {}
    for name in glob.iglob(f"{glob.escape(root.rstrip('/'))}/proc/[0-9]*/fd/*"):
        with contextlib.suppress(OSError, ValueError):
            seen = os.stat(name)
            if (seen.st_dev, seen.st_ino) in wanted:
                held[seen.st_dev, seen.st_ino] = int(name.split("/")[-3])
    return held


def keepalive(peer_port: int, root: str = "/") -> bool | None:
    """Whether the kernel's keepalive timer runs for the connection from this port; ``None``: unseen.

    In /proc/net/tcp the sixth column is ``timer:when``; 02 is that of keepalive. While something is
    being sent another timer stands there (01), which says nothing.
    """
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"{root.rstrip('/')}/proc/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if len(words) < 6 or words[3] != _ESTABLISHED:
                continue
            if int(words[2].rpartition(":")[2], 16) == peer_port:
                return _TIMERS.get(words[5].partition(":")[0])
    return None
