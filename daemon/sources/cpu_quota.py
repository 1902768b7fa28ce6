"""CPU time that a run may use: the quota of its control groups, and how often it ran out.

The quota may sit in the group of the process or in any group above it; the lowest one is what
stops the run, and that group counts the periods in which it did. Version 1 (``cpu.stat`` and
``cpu.cfs_quota_us``) and version 2 (``cpu.stat`` and ``cpu.max``) are read, both at once and
from inside a container as well.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from middlewatch.sentinels.kit import CpuQuotaSample

from ..system import procfs
from ..system.cgroupfs import Layout, directory_of
from ..system.errors import Unsupported
from ..system.source import Source

SETTLE_EVERY = 3
"""Reads after which the groups are looked up anew: a quota is set while a run lives."""
_STAT = "cpu.stat"
_V2 = Layout(_STAT, "cpu.max", "", b"throttled_usec ", b"")
_V1 = Layout(_STAT, "cpu.cfs_quota_us", "cpu.cfs_period_us", b"throttled_time ", b"")
_PER_S = {_V2: 1e6, _V1: 1e9}


class CpuQuota(Source):
    """One :class:`CpuQuotaSample` of the tightest group of ``pid`` per read.

    ``root`` stands before /proc and before every path that mountinfo tells. ``read`` raises
    Unsupported where no control group accounts CPU time; a process that is gone gives nothing.
    """

    name = "cpu_quota"
    every_s = 10.0

    def __init__(self, pid: int, root: str = "/") -> None:
        self._pid = pid
        self._root = root.rstrip("/")
        self._reads = 0
        self._stat: procfs.KeptFile | None = None
        self._layout = _V2
        self._name = ""
        self._cores: float | None = None

    def read(self, now: float) -> Iterable[CpuQuotaSample]:
        """One look; the quota itself is looked up every third time."""
        if self._reads % SETTLE_EVERY == 0 or self._stat is None:
            self._settle()
        self._reads += 1
        if self._stat is None:
            return ()
        try:
            data = self._stat.read()
        except OSError:
            self._let_go()  # the group is gone: found anew at the next look
            return ()
        throttled_s = (procfs.number(data, self._layout.kills) or 0) / _PER_S[self._layout]
        periods, throttled = (
            procfs.number(data, n) or 0 for n in (b"nr_periods ", b"nr_throttled ")
        )
        return (CpuQuotaSample(now, self._name, self._cores, periods, throttled, throttled_s),)

    def close(self) -> None:
        """Close the counter."""
        self._let_go()

    def _let_go(self) -> None:
        if self._stat is not None:
            self._stat.close()
        self._stat = None

    def _settle(self) -> None:
        """Find the group with the lowest quota; without any, that of the process."""
        self._let_go()
        chain = [*self._chain()]
        if not chain:
            if os.path.exists(f"{self._root}/proc/{self._pid}"):
                raise Unsupported("no control group here accounts CPU time")
            return
        quotas = [(cores, i) for i, (*_, cores) in enumerate(chain) if cores is not None]
        directory, name, self._layout, self._cores = chain[min(quotas)[1] if quotas else 0]
        self._name = name
        with contextlib.suppress(OSError):
            self._stat = procfs.KeptFile(f"{directory}/{_STAT}")

    def _chain(self) -> Iterator[tuple[str, str, Layout, float | None]]:
        """(directory, name, layout, quota in cores) from the group of the process upwards."""
        try:
            mounts = procfs.mounts(f"{self._root}/proc/self/mountinfo")
            lines = procfs.read_file(f"{self._root}/proc/{self._pid}/cgroup", 65536).splitlines()
        except OSError:
            return
        for path, layout in _memberships(lines):
            for mount in mounts:
                if _layout_of(mount) is not layout:
                    continue
                top = self._root + mount.point
                directory = directory_of(path, mount.root, top, self._pid, layout)
                while directory and f"{directory}/".startswith(f"{top}/"):
                    if os.path.exists(f"{directory}/{_STAT}"):
                        yield (
                            directory,
                            directory[len(top) :] or "/",
                            layout,
                            _quota(directory, layout),
                        )
                    directory = directory.rpartition("/")[0]
                break


def _memberships(lines: Iterable[bytes]) -> Iterator[tuple[str, Layout]]:
    for line in lines:
        number, _, rest = line.partition(b":")
        controllers, _, path = rest.partition(b":")
        if b"cpu" in controllers.split(b","):
            yield os.fsdecode(path), _V1
        elif number == b"0" and not controllers:
            yield os.fsdecode(path), _V2


def _layout_of(mount: procfs.Mount) -> Layout | None:
    if mount.fstype == "cgroup2":
        return _V2
    return _V1 if mount.fstype == "cgroup" and "cpu" in mount.options else None


def _quota(directory: str, layout: Layout) -> float | None:
    """Cores that the group may use; ``None`` without a quota."""
    try:
        words = procfs.read_file(f"{directory}/{layout.limit}", 64).split()
        if layout is _V1:
            words.append(procfs.read_file(f"{directory}/{layout.events}", 64).strip())
    except OSError:
        return None
    if len(words) < 2 or not (words[0].isdigit() and words[1].isdigit()):
        return None  # "max", or -1
    quota, period = int(words[0]), int(words[1])
    return quota / period if quota and period else None
