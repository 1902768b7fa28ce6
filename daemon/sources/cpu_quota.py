"""CPU time that a run may use: the quota of its control groups, and how often it ran out.

The quota may be set on the group of the process or on any group above it. The lowest one limits the
run, and that group counts the periods in which it was used up. Version 1 (``cpu.stat`` and
``cpu.cfs_quota_us``) and version 2 (``cpu.stat`` and ``cpu.max``) are read, both at once and
from inside a container as well.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from middlewatch.sentinels.kit import CpuQuotaSample

from ..system import procfs
from ..system.cgroupfs import CPU_V2, cpu_groups, tightest
from ..system.errors import Unsupported
from ..system.kept_file import KeptFile
from ..system.source import Source

SETTLE_EVERY = 3
"""Reads after which the groups are looked up again: a quota may be set during a run."""


class CpuQuota(Source):
    """One :class:`CpuQuotaSample` per read, of the group of ``pid`` with the lowest quota.

    ``root`` is put before /proc and before every path from mountinfo. ``read`` raises Unsupported
    where no control group accounts CPU time; for a process that is gone it returns nothing.
    """

    name = "cpu_quota"
    every_s = 10.0

    def __init__(self, pid: int, root: str = "/") -> None:
        self._pid = pid
        self._root = root.rstrip("/")
        self._reads = 0
        self._stat: KeptFile | None = None
        self._layout = CPU_V2
        self._name = ""
        self._cores: float | None = None

    def read(self, now: float) -> Iterable[CpuQuotaSample]:
        """Read the counters; the quota itself is looked up at every third read."""
        if self._reads % SETTLE_EVERY == 0 or self._stat is None:
            self._settle()
        self._reads += 1
        if self._stat is None:
            return ()
        try:
            data = self._stat.read()
        except OSError:
            self._let_go()  # the group was removed: look it up again at the next read
            return ()
        layout = self._layout
        throttled_s = (procfs.number(data, layout.throttled) or 0) / layout.per_s
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
        group = tightest(cpu_groups(self._pid, self._root))
        if group is None:
            if procfs.exists(self._pid, f"{self._root}/proc"):
                raise Unsupported("no control group here accounts CPU time")
            return
        self._name, self._layout, self._cores = group.name, group.layout, group.cores
        with contextlib.suppress(OSError):
            self._stat = KeptFile(f"{group.directory}/{group.layout.current}")
