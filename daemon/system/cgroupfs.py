"""Control groups: those of a process, with their memory, kills and CPU quota.

The only reader of their files. Version 2, version 1 and both at once are read, also from inside
a container, where the groups further up cannot be seen.

Memory in use is counted without the page cache that the kernel can drop at once
(``inactive_file``), as Kubernetes and ``docker stats`` do. What a process may still take is the
limit less this *working set*: a checkpoint that was just read fills the group with page cache, but
leaves as much memory to take as before.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from . import mounts, procfs
from .kept_file import KeptFile
from .mounts import Mount

UNLIMITED = 1 << 60
"""Version 1 writes "no limit" as the largest page-aligned number of 63 bits."""
_PROCS = 1 << 18
_STAT, _STAT_BYTES = "memory.stat", 16384


class CgroupLayout(NamedTuple):
    """File and field names of one version, for memory."""

    controller: bytes
    """Name of the version 1 tree; empty for version 2, which has one tree for all."""
    current: str
    """File of the memory in use; a group without it does not account for memory."""
    limit: str
    events: str
    kills: bytes
    inactive: bytes
    active: bytes


class CpuLayout(NamedTuple):
    """File and field names of one version, for CPU time."""

    controller: bytes
    current: str
    quota: str
    """File with quota and period (version 2), or with the quota only (version 1)."""
    period: str
    throttled: bytes
    per_s: float
    """Units of the field ``throttled`` per second."""


AnyLayout = TypeVar("AnyLayout", CgroupLayout, CpuLayout)


class Use(NamedTuple):
    """What a :class:`Gauge` reads, in bytes."""

    current: int
    working_set: int
    available: int | None
    """Memory that is available on the whole box; ``None`` when unknown."""
    active_file: int | None
    """Active page cache, which is part of ``working_set``; ``None`` when it is not."""


V2 = CgroupLayout(
    b"",
    "memory.current",
    "memory.max",
    "memory.events",
    b"oom_kill ",
    b"inactive_file ",
    b"active_file ",
)
V1 = CgroupLayout(
    b"memory",
    "memory.usage_in_bytes",
    "memory.limit_in_bytes",
    "memory.oom_control",
    b"oom_kill ",
    b"total_inactive_file ",
    b"total_active_file ",
)
CPU_V2 = CpuLayout(b"", "cpu.stat", "cpu.max", "", b"throttled_usec ", 1e6)
CPU_V1 = CpuLayout(
    b"cpu", "cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us", b"throttled_time ", 1e9
)


class Cgroup:
    """A control group of a process, or one above it, with its file of kill counters open."""

    def __init__(self, directory: str, name: str, layout: CgroupLayout) -> None:
        self.directory = directory
        self.name = name
        self.layout = layout
        self.inode = os.stat(directory).st_ino
        self.events: KeptFile | None = None
        with contextlib.suppress(OSError):
            self.events = KeptFile(f"{directory}/{layout.events}")

    def limit(self) -> int | None:
        """Memory limit in bytes, ``None`` without one. Raises OSError."""
        data = procfs.read_file(f"{self.directory}/{self.layout.limit}", 64).strip()
        value = int(data) if data.isdigit() else UNLIMITED
        return value if value < UNLIMITED else None

    def hidden_limit(self) -> int | None:
        """The lowest limit in bytes of this group and all above it, also of those that a container
        cannot see. Only version 1 has it. ``None`` without a limit, and in version 2. Raises
        OSError."""
        if self.layout is not V1:
            return None
        data = procfs.read_file(f"{self.directory}/{_STAT}", _STAT_BYTES)
        value = procfs.number(data, b"hierarchical_memory_limit ")
        return value if value is not None and value < UNLIMITED else None

    def working_set(self) -> int:
        """Bytes in use without inactive page cache; raises OSError."""
        data = procfs.read_file(f"{self.directory}/{self.layout.current}", 64)
        parts = procfs.read_file(f"{self.directory}/{_STAT}", _STAT_BYTES)
        return _without_cache(data, parts, self.layout)[1]

    def kills(self) -> int | None:
        """Processes that were killed for lack of memory; ``None`` if not counted (version 1 before
        Linux 4.13). Raises OSError."""
        return procfs.number(self.events.read(), self.layout.kills) if self.events else None

    def close(self) -> None:
        """Close the file of kill counters."""
        if self.events:
            self.events.close()


class Gauge:
    """Reads the memory use of one control group, or of the whole box (``group`` is ``None``)."""

    def __init__(self, group: Cgroup | None, meminfo: KeptFile) -> None:
        self._meminfo = meminfo
        self._layout = group.layout if group else V2
        self._files: tuple[KeptFile, ...] = ()
        if group:
            current = KeptFile(f"{group.directory}/{group.layout.current}", 64)
            try:
                self._files = (current, KeptFile(f"{group.directory}/{_STAT}", _STAT_BYTES))
            except OSError:
                current.close()
                raise

    def read(self) -> Use:
        """Read the values once. Raises OSError."""
        box = self._meminfo.read()
        free = kibibytes(box, b"MemAvailable:")
        if not self._files:
            total = kibibytes(box, b"MemTotal:") or 0
            unused = kibibytes(box, b"MemFree:") or 0
            return Use(total - unused, total - (unused if free is None else free), free, None)
        parts = self._files[1].read()
        current, used = _without_cache(self._files[0].read(), parts, self._layout)
        return Use(current, used, free, procfs.number(parts, self._layout.active))

    def close(self) -> None:
        """Close the files of the group; ``meminfo`` belongs to the caller."""
        for file in self._files:
            file.close()


def _without_cache(current: bytes, parts: bytes, layout: CgroupLayout) -> tuple[int, int]:
    """(bytes in use, bytes in use without inactive page cache)."""
    used = procfs.number(current, b"") or 0
    inactive = procfs.number(parts, layout.inactive) or 0
    return used, max(0, used - inactive)


# ------------------------------------------------------------------------ where a process lives


def layout_of(mount: Mount, v1: AnyLayout, v2: AnyLayout) -> AnyLayout | None:
    """The layout of a cgroup mount; ``None`` if it is none with the wanted controller."""
    if mount.fstype == "cgroup2":
        return v2
    named = v1.controller.decode() in mount.options
    return v1 if mount.fstype == "cgroup" and named else None


def memberships(
    pid: int, root: str, table: list[Mount], v1: AnyLayout, v2: AnyLayout
) -> Iterable[tuple[str, Mount, AnyLayout]]:
    """(path of the process's group, mount, layout) for each tree that may account for it: version
    1 before version 2."""
    paths: dict[AnyLayout, str] = {}
    for line in procfs.cgroup(pid, f"{root}/proc").splitlines():
        number, _, rest = line.partition(b":")
        controllers, _, path = rest.partition(b":")
        if v1.controller in controllers.split(b","):
            paths[v1] = os.fsdecode(path)
        elif number == b"0" and not controllers:
            paths[v2] = os.fsdecode(path)
    for layout in (v1, v2):
        for mount in table:
            if layout in paths and layout_of(mount, v1, v2) is layout:
                yield paths[layout], mount, layout


def directory_of(
    path: str, mounted: str, top: str, pid: int, layout: CgroupLayout | CpuLayout
) -> str | None:
    """The directory of the group ``path``, if the group ``mounted`` is mounted at ``top``.

    In a container, each of the two names may be as the box or as the container sees it, and a path
    with ``..`` is outside of what we can see. So every combination is tried. The one whose group
    lists the process ``pid`` is taken, else the first that exists; ``None`` if none does.
    """
    inside = "/" + "/".join(part for part in path.split("/") if part not in ("", ".", ".."))
    base = "" if mounted == "/" else mounted
    readings = [f"{top}{inside}", top]
    if f"{inside}/".startswith(f"{base}/"):
        readings.insert(0, f"{top}{inside[len(base) :]}")
    existing = []
    for reading in readings:
        directory = reading.rstrip("/")
        # A group without this controller is accounted for by the next one above that has it.
        while len(directory) > len(top) and not os.path.exists(f"{directory}/{layout.current}"):
            directory = directory.rpartition("/")[0]
        if os.path.exists(f"{directory}/{layout.current}") and directory not in existing:
            existing.append(directory)
    # The list of processes may be all of the box, and is needed only to choose.
    for directory in existing if len(existing) > 1 else ():
        with contextlib.suppress(OSError):
            if str(pid).encode() in procfs.read_file(f"{directory}/cgroup.procs", _PROCS).split():
                return directory
    return existing[0] if existing else None


def chain_up(directory: str, top: str, layout: CgroupLayout) -> list[Cgroup]:
    """The groups from ``directory`` up to ``top`` that have memory figures."""
    found = []
    while directory.startswith(top):
        if os.path.exists(f"{directory}/{layout.current}"):
            with contextlib.suppress(OSError):
                found.append(Cgroup(directory, directory[len(top) :] or "/", layout))
        directory = directory.rpartition("/")[0]
    return found


def kibibytes(data: bytes, name: bytes) -> int | None:
    """The value in bytes of a line such as ``MemTotal:  24684084 kB``; ``None`` without it."""
    value = procfs.number(data, name)
    return None if value is None else value * 1024


def memory_groups(pid: int, root: str = "") -> list[Cgroup]:
    """The groups that account for the memory of a process, its own first. Close each of them.

    Empty when none can be seen. ``root`` is put before /proc and the mount points.
    """
    table = mounts.readable_table(f"{root}{mounts.TABLE}")
    for path, mount, layout in memberships(pid, root, table, V1, V2):
        top = root + mount.point
        directory = directory_of(path, mount.root, top, pid, layout)
        if directory:
            return chain_up(directory, top, layout)
    return []


def memory_left(pid: int, root: str = "") -> int | None:
    """Bytes that a process may take before it reaches the limit of its group or of one above.

    For each group that is the limit less the working set; the smallest counts. ``None`` when no
    limit can be seen.
    """
    left: list[int] = []
    groups = memory_groups(pid, root)
    for group in groups:
        with contextlib.suppress(OSError):
            limits = [group.limit(), group.hidden_limit() if group is groups[-1] else None]
            lowest = min((limit for limit in limits if limit is not None), default=None)
            if lowest is not None:
                left.append(max(0, lowest - group.working_set()))
        group.close()
    return min(left, default=None)


def box_memory_left(root: str = "") -> int | None:
    """Memory available on the whole box in bytes; ``None`` when unknown."""
    try:
        return kibibytes(procfs.read_file(f"{root}/proc/meminfo"), b"MemAvailable:")
    except OSError:
        return None


# ------------------------------------------------------------------------ CPU time


class CpuGroup(NamedTuple):
    """A control group of a process, or one above it, with its CPU quota."""

    directory: str
    name: str
    layout: CpuLayout
    cores: float | None
    """The quota in CPU cores; ``None`` without one."""


def cpu_groups(pid: int, root: str = "") -> Iterator[CpuGroup]:
    """The groups that account for the CPU time of a process, its own first."""
    table = mounts.readable_table(f"{root}{mounts.TABLE}")
    tree: CpuLayout | None = None
    for path, mount, layout in memberships(pid, root, table, CPU_V1, CPU_V2):
        if layout is tree:
            continue  # the same tree, mounted once more
        tree = layout
        top = root + mount.point
        directory = directory_of(path, mount.root, top, pid, layout)
        while directory and f"{directory}/".startswith(f"{top}/"):
            if os.path.exists(f"{directory}/{layout.current}"):
                cores = _quota(directory, layout)
                yield CpuGroup(directory, directory[len(top) :] or "/", layout, cores)
            directory = directory.rpartition("/")[0]


def tightest(groups: Iterable[CpuGroup]) -> CpuGroup | None:
    """The group with the lowest quota; if none has a quota, the first; ``None`` for no groups."""
    chain = list(groups)
    limited = [group for group in chain if group.cores is not None]
    return min(limited or chain[:1], key=lambda group: group.cores or 0.0, default=None)


def _quota(directory: str, layout: CpuLayout) -> float | None:
    """Cores that the group may use; ``None`` without a quota."""
    try:
        words = procfs.read_file(f"{directory}/{layout.quota}", 64).split()
        if layout.period:
            words.append(procfs.read_file(f"{directory}/{layout.period}", 64).strip())
    except OSError:
        return None
    if len(words) < 2 or not (words[0].isdigit() and words[1].isdigit()):
        return None  # "max", or -1
    quota, period = int(words[0]), int(words[1])
    return quota / period if quota and period else None
