"""Memory of the control group (cgroup) of a run, and the OOM kills in it.

The limit that ends a run may be set on the group of its process or on any group above it; a start
script may put its training into a group of its own, so the process that uses most memory counts. The
group with the lowest limit is measured, because everything below it shares that limit. Version 2,
version 1 and both at once are read, also from inside a container, where the groups further up
cannot be seen. Without any memory group the figures are those of the whole box.

``oom_kill`` counters never decrease. Kills are counted as differences between reads; the counts
and the identity of each counter are kept over restarts of the daemon.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from middlewatch.sentinels.kit import MemorySample, Observation, codec

from ..system import mounts, procfs
from ..system.cgroupfs import (
    UNLIMITED,
    V1,
    V2,
    Cgroup,
    CgroupLayout,
    Gauge,
    Use,
    chain_up,
    directory_of,
    kibibytes,
    layout_of,
    memberships,
)
from ..system.errors import Unsupported
from ..system.kept_file import KeptFile
from ..system.source import Source

MEASURE_EVERY = 5
"""Reads between two measurements: the kernel computes memory.stat for each of them, which costs
more than reading all counters. A validation that uses memory for some seconds is still seen."""
NEAR = 0.6
"""Part of the limit from which every read measures: what comes next may be the kill."""
SETTLE_EVERY = 60
"""Reads after which the groups are looked up again: limits may change, processes may be moved."""
YOUNG_READS = 10
"""During the first reads every second one looks the groups up: a launcher may put itself into its
group only after the daemon began to watch it."""
LARGER = 2.0
"""A process takes the place of the followed one when it uses so many times its memory."""
LOST_READS = 10
"""Reads for which the group of a process that ended is still the one that counts: what killed it is
in its counter, perhaps a second later."""
_FIRST_NAMESPACE = "cgroup:[4026531835]"
"""Inode that the kernel gives to the control group namespace of the box itself."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a restarted daemon needs to go on counting."""

    boot_id: str = ""
    directory: str = ""
    kills: int | None = None
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Directory -> (inode, raw counter) as last read."""


class CgroupMemory(Source):
    """One :class:`MemorySample` of the group of ``pid`` per read.

    ``memory`` gives the memory of every process of the run, in bytes: the largest is followed
    instead. ``resume`` is what :meth:`state` gave before a restart of the daemon. ``root`` is put before
    /proc and before every path from mountinfo. ``read`` raises Unsupported when the process is
    gone and its group was never found.
    """

    name = "cgroup"
    every_s = 1.0
    urgent = True

    def __init__(
        self,
        pid: int,
        root: str = "/",
        resume: Mapping[str, object] | None = None,
        memory: Callable[[], Mapping[int, int]] = dict,
    ):
        self._pid = pid
        self._memory = memory
        self._lost = 0
        self._root = root.rstrip("/")
        self._ticks: int | None = None
        self._lives = False
        self._meminfo: KeptFile | None = None
        self._pressure: KeptFile | None = None
        self._gauge: Gauge | None = None
        self._groups: list[Cgroup] = []
        self._above: Cgroup | None = None
        """The group above those counted. In version 2 its counter includes the groups below, and
        remains when they are removed."""
        self._name = ""
        self._limit: int | None = None
        self._reads = 0
        self._said: int | None = None
        self._measured: Use | None = None
        self._directory = ""
        self._seen: dict[str, tuple[int, int]] = {}
        """Directory -> (inode, raw counter) as last read."""
        self._counted: set[str] = set()
        """Directories whose kills concern the run, as found while its process lived."""
        self._total: int | None = None
        self._boot = procfs.boot_id(f"{self._root}/proc")
        if resume:
            self._resume(resume)

    def state(self) -> dict[str, object]:
        """What a restarted daemon needs to go on counting; plain JSON values."""
        seen = {path: self._seen[path] for path in self._counted & self._seen.keys()}
        counted = Counted(self._boot, self._directory, self._total, seen)
        saved: dict[str, object] = codec.dump(counted)
        return saved

    def read(self, now: float) -> Iterable[Observation]:
        """Count kills at every read; measure now and then, and with every kill."""
        young = self._reads < YOUNG_READS and self._reads % 2 == 0
        due = young or self._reads % SETTLE_EVERY == 0
        self._reads += 1
        # Count before closing the groups: one of them may have been removed after its last kill.
        gone = self._count()
        if self._another() or gone or due:
            self._settle()
            self._count()
        killed, self._said = self._total != self._said, self._total
        near = self._measured is not None and self._measured.working_set >= NEAR * (
            self._limit or UNLIMITED
        )
        if killed or gone or due or near or not self._measured or self._reads % MEASURE_EVERY == 0:
            self._measured = self._measure()
        use = self._measured
        some, full = self._avg10()
        return [
            MemorySample(
                at=now,
                cgroup=self._name,
                limit_bytes=self._limit,
                current_bytes=use.current,
                working_set_bytes=use.working_set,
                oom_kills=self._total,
                pressure_full_avg10=full,
                host_available_bytes=use.available,
                active_file_bytes=use.active_file,
                pressure_some_avg10=some,
            )
        ]

    def close(self) -> None:
        """Close all kept descriptors."""
        self._let_go()
        if self._meminfo:
            self._meminfo.close()
            self._meminfo = None

    def _measure(self) -> Use:
        if self._gauge is not None:
            with contextlib.suppress(OSError):
                return self._gauge.read()
        # The group was removed just now: go on with the nearest one above.
        self._settle()
        assert self._gauge is not None
        return self._gauge.read()

    def _another(self) -> bool:
        """Whether another process of the run is followed from now on."""
        used = self._memory()
        if not used:
            return False
        pid = max(used, key=lambda one: used[one])
        self._lost = 0 if self._pid in used else self._lost + 1
        if pid == self._pid or (self._pid not in used and self._lost < LOST_READS):
            return False
        if used[pid] < LARGER * used.get(self._pid, 0):
            return False
        self._pid, self._ticks, self._lost = pid, None, 0
        return True

    # -- where the process lives --------------------------------------------------------

    def _settle(self) -> None:
        """Find the groups, from that of the process upwards, and open the files that are read."""
        self._let_go()
        if self._meminfo is None:
            self._meminfo = KeptFile(f"{self._root}/proc/meminfo")
        top, layout = self._locate()
        chain = chain_up(self._directory, top, layout) if layout else []
        self._limit, index = self._lowest_limit(chain)
        self._groups, rest = chain[: index + 1], chain[index + 1 :]
        if rest and layout is V2:
            self._above = rest.pop(0)
        for group in rest:
            group.close()
        measured = self._groups[-1] if self._groups else None
        self._gauge = Gauge(measured, self._meminfo)
        self._name = measured.name if measured else "/"
        pressure = self._pressure_file(measured)
        if pressure:
            with contextlib.suppress(OSError):
                self._pressure = KeptFile(pressure, 256)
        self._begin_counters()

    def _locate(self) -> tuple[str, CgroupLayout | None]:
        """Set the directory of the process; return the top of its tree and its layout.

        Version 1 shows a process that is ending in the root group; a process that is gone is shown
        nowhere. For both, the last known directory is kept.
        """
        table = mounts.table(f"{self._root}{mounts.TABLE}")
        self._lives = self._alive()
        if self._lives:
            self._directory = ""
            for path, mount, layout in memberships(self._pid, self._root, table, V1, V2):
                top = self._root + mount.point
                found = directory_of(path, mount.root, top, self._pid, layout)
                if found:
                    self._directory = found
                    return top, layout
        elif self._ticks is None and not self._directory:
            raise Unsupported(f"process {self._pid} is gone: its control group is not known")
        for mount in table if self._directory else ():
            top, known = self._root + mount.point, layout_of(mount, V1, V2)
            if known and f"{self._directory}/".startswith(f"{top}/"):
                return top, known
        return "", None

    def _alive(self) -> bool:
        seen = procfs.stat(self._pid, f"{self._root}/proc")
        if seen is None or seen.state in procfs.ENDED_STATES:
            return False
        self._ticks = self._ticks or seen.start_ticks
        return seen.start_ticks == self._ticks

    def _lowest_limit(self, chain: list[Cgroup]) -> tuple[int | None, int]:
        """The lowest limit, and the index of the group nearest to the process that has it.

        A limit above the memory of the box is never reached and does not count.
        """
        assert self._meminfo is not None
        lowest = kibibytes(self._meminfo.read(), b"MemTotal:") or UNLIMITED
        limit, index = None, 0
        for i, group in enumerate(chain):
            with contextlib.suppress(OSError):
                own = group.limit()
                if own is not None and (own < lowest or (own == lowest and limit is None)):
                    limit, index, lowest = own, i, own
        if chain:
            with contextlib.suppress(OSError):
                hidden = chain[-1].hidden_limit()
                if hidden is not None and hidden < lowest:
                    limit, index = hidden, len(chain) - 1
        return limit, index

    def _pressure_file(self, group: Cgroup | None) -> str | None:
        """Path of the memory pressure file; version 2 has one per group, else only the box has one.

        That of the box is used only if the run has no limit and we are not in a container.
        """
        if group and group.layout is V2:
            return f"{group.directory}/memory.pressure"
        if self._limit is None and self._name == "/" and self._first_namespace():
            return f"{self._root}/proc/pressure/memory"
        return None

    def _first_namespace(self) -> bool:
        with contextlib.suppress(OSError):
            return os.readlink(f"{self._root}/proc/self/ns/cgroup") == _FIRST_NAMESPACE
        return False

    def _let_go(self) -> None:
        for group in (*self._groups, *((self._above,) if self._above else ())):
            group.close()
        self._groups, self._above = [], None
        if self._gauge:
            self._gauge.close()
            self._gauge = None
        if self._pressure:
            self._pressure.close()
            self._pressure = None

    # -- kills --------------------------------------------------------------------------

    def _begin_counters(self) -> None:
        """Start to count: the present value of a counter that is new to us means zero kills.

        After the process is gone no group is added, because kills in it do not concern the run.
        """
        if self._lives:
            self._counted = {group.directory for group in self._groups}
        watched = [*self._groups, *((self._above,) if self._above else ())]
        for group in watched:
            try:
                raw = group.kills()
            except OSError:
                continue
            if raw is None:
                continue
            self._total = self._total or 0
            inode, _ = self._seen.setdefault(group.directory, (group.inode, raw))
            if inode != group.inode:
                # The group was created again since the last read: all its kills are new.
                self._seen[group.directory] = (group.inode, 0)
        here = {group.directory for group in watched}
        self._seen = {path: seen for path, seen in self._seen.items() if path in here}

    def _count(self) -> bool:
        """Add the growth of the counters to the total; ``True`` if a group was removed.

        A counter of version 2 includes all groups below, so the largest growth is the total; when
        a group was removed, the counter of the group above is used. Version 1 counts each kill
        only in the group of the killed process, so the growths are added.
        """
        growths = [(group, self._growth(group)) for group in self._groups]
        above = self._growth(self._above) if self._above else None
        gone = any(growth is None for _, growth in growths)
        ours = [growth or 0 for group, growth in growths if group.directory in self._counted]
        if ours and len(growths) == 1 and gone:
            ours.append(above or 0)
        if ours and self._total is not None:
            self._total += max(ours) if self._groups[0].layout is V2 else sum(ours)
        return gone

    def _growth(self, group: Cgroup) -> int | None:
        """Kills since the last read; ``None`` when the group was removed."""
        try:
            raw = group.kills()
        except OSError:
            return None
        if raw is None:
            return None if group.directory in self._seen else 0
        _, before = self._seen.get(group.directory, (0, raw))
        self._seen[group.directory] = (group.inode, raw)
        return raw - before if raw >= before else raw

    def _resume(self, saved: Mapping[str, object]) -> None:
        """Take over what :meth:`state` gave; anything else is ignored."""
        known = codec.load_or_new(Counted, saved)
        self._total = known.kills
        if known.boot_id != self._boot:
            return  # after a reboot both the counters and the process are different ones
        self._directory = known.directory
        self._seen = known.seen
        self._counted = set(known.seen)

    # -- pressure -----------------------------------------------------------------------

    def _avg10(self) -> tuple[float | None, float | None]:
        """Percent of the last 10 s in which some, and in which all, tasks waited for memory."""
        if self._pressure is None:
            return None, None
        try:
            text = self._pressure.read()
        except OSError:
            return None, None
        return _percent(text, b"some avg10="), _percent(text, b"full avg10=")


def _percent(text: bytes, name: bytes) -> float | None:
    _, found, rest = text.partition(name)
    try:
        return float(rest.split(None, 1)[0]) if found else None
    except (ValueError, IndexError):
        return None
