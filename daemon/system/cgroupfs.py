"""Control groups that account memory: their files, and which of them a process lives in.

Version 2, version 1 and both at once are read, also from inside a container, where the
groups further up cannot be seen.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import NamedTuple

from . import procfs

UNLIMITED = 1 << 60
"""Version 1 writes "no limit" as the largest page-aligned number of 63 bits."""
_PROCS = 1 << 18


class Layout(NamedTuple):
    """File and field names of one version."""

    current: str
    limit: str
    events: str
    kills: bytes
    inactive: bytes
    active: bytes = b""


class Use(NamedTuple):
    """What a :class:`Gauge` reads, in bytes."""

    current: int
    working_set: int
    available: int | None
    """Of the whole box."""
    active_file: int | None
    """Page cache within the working set; ``None`` where it is not part of it."""


V2 = Layout(
    "memory.current",
    "memory.max",
    "memory.events",
    b"oom_kill ",
    b"inactive_file ",
    b"active_file ",
)
V1 = Layout(
    "memory.usage_in_bytes",
    "memory.limit_in_bytes",
    "memory.oom_control",
    b"oom_kill ",
    b"total_inactive_file ",
    b"total_active_file ",
)


class Group:
    """One control group on the way up, with its kill counter open."""

    def __init__(self, directory: str, name: str, layout: Layout) -> None:
        self.directory = directory
        self.name = name
        self.layout = layout
        self.inode = os.stat(directory).st_ino
        self.events: procfs.KeptFile | None = None
        with contextlib.suppress(OSError):
            self.events = procfs.KeptFile(f"{directory}/{layout.events}")

    def limit(self) -> int | None:
        """Bytes, or ``None`` without one; raises OSError."""
        data = procfs.read_file(f"{self.directory}/{self.layout.limit}", 64).strip()
        value = int(data) if data.isdigit() else UNLIMITED
        return value if value < UNLIMITED else None

    def kills(self) -> int | None:
        """``None`` before Linux 4.13, where version 1 did not count; raises OSError."""
        return procfs.number(self.events.read(), self.layout.kills) if self.events else None

    def close(self) -> None:
        """Let go of the counter."""
        if self.events:
            self.events.close()


class Gauge:
    """Use of memory of one control group, or of the whole box."""

    def __init__(self, group: Group | None, meminfo: procfs.KeptFile) -> None:
        self._meminfo = meminfo
        self._layout = group.layout if group else V2
        self._files: tuple[procfs.KeptFile, ...] = ()
        if group:
            current = procfs.KeptFile(f"{group.directory}/{group.layout.current}", 64)
            try:
                self._files = (current, procfs.KeptFile(f"{group.directory}/memory.stat", 16384))
            except OSError:
                current.close()
                raise

    def read(self) -> Use:
        """Look once; raises OSError."""
        box = self._meminfo.read()
        free = kibibytes(box, b"MemAvailable:")
        if not self._files:
            total = kibibytes(box, b"MemTotal:") or 0
            unused = kibibytes(box, b"MemFree:") or 0
            return Use(total - unused, total - (unused if free is None else free), free, None)
        current = procfs.number(self._files[0].read(), b"") or 0
        parts = self._files[1].read()
        inactive = procfs.number(parts, self._layout.inactive) or 0
        active = procfs.number(parts, self._layout.active)
        return Use(current, max(0, current - inactive), free, active)

    def close(self) -> None:
        """Let go of the files (the box's own is the caller's)."""
        for file in self._files:
            file.close()


def layout_of(mount: procfs.Mount) -> Layout | None:
    """The version whose memory a mount shows; ``None`` for any other mount."""
    if mount.fstype == "cgroup2":
        return V2
    return V1 if mount.fstype == "cgroup" and "memory" in mount.options else None


def memberships(
    pid: int, root: str, mounts: list[procfs.Mount]
) -> Iterable[tuple[str, procfs.Mount, Layout]]:
    """Path of the process in each tree that may account memory: version 1 before version 2."""
    try:
        lines = procfs.read_file(f"{root}/proc/{pid}/cgroup", 65536).splitlines()
    except OSError:
        return
    paths: dict[Layout, str] = {}
    for line in lines:
        number, _, rest = line.partition(b":")
        controllers, _, path = rest.partition(b":")
        if b"memory" in controllers.split(b","):
            paths[V1] = os.fsdecode(path)
        elif number == b"0" and not controllers:
            paths[V2] = os.fsdecode(path)
    for layout in (V1, V2):
        for mount in mounts:
            if layout in paths and layout_of(mount) is layout:
                yield paths[layout], mount, layout


def directory_of(path: str, mounted: str, top: str, pid: int, layout: Layout) -> str | None:
    """Where the group ``path`` shows below ``top``, at which the group ``mounted`` is mounted.

    From inside a container either name may be told as the box or as the container sees it,
    and a path with ``..`` lies outside of what we can see. So every reading is tried, and
    the one that lists the process wins; else the first that exists.
    """
    inside = "/" + "/".join(part for part in path.split("/") if part not in ("", ".", ".."))
    base = "" if mounted == "/" else mounted
    readings = [f"{top}{inside}", top]
    if f"{inside}/".startswith(f"{base}/"):
        readings.insert(0, f"{top}{inside[len(base) :]}")
    existing = []
    for reading in readings:
        directory = reading.rstrip("/")
        # The group itself may have no memory controller: the next one above accounts for it.
        while len(directory) > len(top) and not os.path.exists(f"{directory}/{layout.current}"):
            directory = directory.rpartition("/")[0]
        if os.path.exists(f"{directory}/{layout.current}") and directory not in existing:
            existing.append(directory)
    for directory in existing:
        with contextlib.suppress(OSError):
            if str(pid).encode() in procfs.read_file(f"{directory}/cgroup.procs", _PROCS).split():
                return directory
    return existing[0] if existing else None


def chain_up(directory: str, top: str, layout: Layout) -> list[Group]:
    """The groups that exist from ``directory`` up to ``top``, those with memory figures."""
    found = []
    while directory.startswith(top):
        if os.path.exists(f"{directory}/{layout.current}"):
            with contextlib.suppress(OSError):
                found.append(Group(directory, directory[len(top) :] or "/", layout))
        directory = directory.rpartition("/")[0]
    return found


def kibibytes(data: bytes, name: bytes) -> int | None:
    """Bytes of a line such as ``MemTotal:  24684084 kB``."""
    value = procfs.number(data, name)
    return None if value is None else value * 1024
