"""Memory of the control group that a run lives in, and the kills it has suffered.

The limit that ends a run may sit in the group of its process or in any group above it; what
is measured is the group with the lowest one, because everything below shares it. Version 2,
version 1 and both at once are read, also from inside a container, where the groups further
up cannot be seen. Without any memory group the figures are those of the whole box.

``oom_kill`` counters only ever grow. Kills are counted as differences, and what was counted
is kept over restarts of the watch together with the identity of each counter.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from middlewatch.sentinels.kit import MemorySample, Observation

from ..errors import Unsupported
from . import proc
from .base import Source

MEASURE_EVERY = 5
"""Reads between two measurements: the kernel adds up memory.stat anew for each, which costs
more than all counters; a validation that takes memory for some seconds is still seen."""
SETTLE_EVERY = 60
"""Reads after which the groups are looked up anew: limits are changed, processes moved."""
YOUNG_READS = 30
"""Reads in which every second one looks them up: a launcher may put itself into its group
only after the watch has begun."""
_UNLIMITED = 1 << 60
"""Version 1 writes "no limit" as the largest page-aligned number of 63 bits."""
_FIRST_NAMESPACE = "cgroup:[4026531835]"
"""Inode that the kernel gives to the control group namespace of the box itself."""
_PROCS = 1 << 18


class _Layout(NamedTuple):
    """File and field names of one version."""

    current: str
    limit: str
    events: str
    kills: bytes
    inactive: bytes


_V2 = _Layout("memory.current", "memory.max", "memory.events", b"oom_kill ", b"inactive_file ")
_V1 = _Layout(
    "memory.usage_in_bytes",
    "memory.limit_in_bytes",
    "memory.oom_control",
    b"oom_kill ",
    b"total_inactive_file ",
)


class _Group:
    """One control group on the way up, with its kill counter open."""

    def __init__(self, directory: str, name: str, layout: _Layout) -> None:
        self.directory = directory
        self.name = name
        self.layout = layout
        self.inode = os.stat(directory).st_ino
        self.events: proc.KeptFile | None = None
        with contextlib.suppress(OSError):
            self.events = proc.KeptFile(f"{directory}/{layout.events}")

    def limit(self) -> int | None:
        data = proc.read_file(f"{self.directory}/{self.layout.limit}", 64).strip()
        value = int(data) if data.isdigit() else _UNLIMITED
        return value if value < _UNLIMITED else None

    def kills(self) -> int | None:
        """``None`` before Linux 4.13, where version 1 did not count; raises OSError."""
        return proc.number(self.events.read(), self.layout.kills) if self.events else None

    def close(self) -> None:
        if self.events:
            self.events.close()


class _Gauge:
    """Use of memory of one control group, or of the whole box."""

    def __init__(self, group: _Group | None, meminfo: proc.KeptFile) -> None:
        self._meminfo = meminfo
        self._inactive = group.layout.inactive if group else b""
        self._files: tuple[proc.KeptFile, ...] = ()
        if group:
            current = proc.KeptFile(f"{group.directory}/{group.layout.current}", 64)
            try:
                self._files = (current, proc.KeptFile(f"{group.directory}/memory.stat", 16384))
            except OSError:
                current.close()
                raise

    def read(self) -> tuple[int, int, int | None]:
        """Used bytes, working set, and what the box has available; raises OSError."""
        box = self._meminfo.read()
        free = _kibibytes(box, b"MemAvailable:")
        if not self._files:
            total = _kibibytes(box, b"MemTotal:") or 0
            unused = _kibibytes(box, b"MemFree:") or 0
            return total - unused, total - (unused if free is None else free), free
        current = proc.number(self._files[0].read(), b"") or 0
        inactive = proc.number(self._files[1].read(), self._inactive) or 0
        return current, max(0, current - inactive), free

    def close(self) -> None:
        for file in self._files:
            file.close()


class CgroupMemory(Source):
    """One :class:`MemorySample` of the group of ``pid`` per read.

    ``resume`` is what :meth:`state` gave before a restart of the watch. ``root`` stands
    before /proc and before every path that mountinfo tells. ``read`` raises Unsupported when
    the process is gone and nothing is known of where it lived.
    """

    name = "cgroup"
    every_s = 1.0

    def __init__(self, pid: int, root: str = "/", resume: Mapping[str, object] | None = None):
        self._pid = pid
        self._root = root.rstrip("/")
        self._ticks: int | None = None
        self._lives = False
        self._meminfo: proc.KeptFile | None = None
        self._pressure: proc.KeptFile | None = None
        self._gauge: _Gauge | None = None
        self._groups: list[_Group] = []
        self._above: _Group | None = None
        """The group above those counted: its recursive counter outlives ours (version 2)."""
        self._name = ""
        self._limit: int | None = None
        self._reads = 0
        self._said: int | None = None
        self._measured: tuple[int, int, int | None] | None = None
        self._directory = ""
        self._seen: dict[str, tuple[int, int]] = {}
        """Directory -> (inode, raw counter) as last read."""
        self._counted: set[str] = set()
        """Directories whose kills concern the run, as found while its process lived."""
        self._total: int | None = None
        self._boot = _text(f"{self._root}/proc/sys/kernel/random/boot_id")
        if resume:
            self._resume(resume)

    def state(self) -> dict[str, object]:
        """What a restarted watch needs to go on counting; plain JSON values."""
        return {
            "boot_id": self._boot,
            "directory": self._directory,
            "kills": self._total,
            "seen": {path: list(self._seen[path]) for path in self._counted & self._seen.keys()},
        }

    def read(self, now: float) -> Iterable[Observation]:
        """Count kills at every read; measure now and then, and with every kill."""
        young = self._reads < YOUNG_READS and self._reads % 2 == 0
        due = young or self._reads % SETTLE_EVERY == 0
        self._reads += 1
        # Counted before the groups are let go: one may have vanished with its last kill.
        gone = self._count()
        if gone or due:
            self._settle()
            self._count()
        killed, self._said = self._total != self._said, self._total
        if killed or gone or due or self._measured is None or self._reads % MEASURE_EVERY == 0:
            self._measured = self._measure()
        current, working, available = self._measured
        return [
            MemorySample(
                at=now,
                cgroup=self._name,
                limit_bytes=self._limit,
                current_bytes=current,
                working_set_bytes=working,
                oom_kills=self._total,
                pressure_full_avg10=self._full_avg10(),
                host_available_bytes=available,
            )
        ]

    def close(self) -> None:
        """Close all kept descriptors."""
        self._let_go()
        if self._meminfo:
            self._meminfo.close()
            self._meminfo = None

    def _measure(self) -> tuple[int, int, int | None]:
        if self._gauge is not None:
            with contextlib.suppress(OSError):
                return self._gauge.read()
        # The group has gone this moment: go on with the nearest one above.
        self._settle()
        assert self._gauge is not None
        return self._gauge.read()

    # -- where the process lives --------------------------------------------------------

    def _settle(self) -> None:
        """Find the groups from that of the process up, and open what is read of them."""
        self._let_go()
        if self._meminfo is None:
            self._meminfo = proc.KeptFile(f"{self._root}/proc/meminfo")
        top, layout = self._locate()
        chain = _chain(self._directory, top, layout) if layout else []
        self._limit, index = self._lowest_limit(chain)
        self._groups, rest = chain[: index + 1], chain[index + 1 :]
        if rest and layout is _V2:
            self._above = rest.pop(0)
        for group in rest:
            group.close()
        measured = self._groups[-1] if self._groups else None
        self._gauge = _Gauge(measured, self._meminfo)
        self._name = measured.name if measured else "/"
        pressure = self._pressure_file(measured)
        if pressure:
            with contextlib.suppress(OSError):
                self._pressure = proc.KeptFile(pressure, 256)
        self._begin_counters()

    def _locate(self) -> tuple[str, _Layout | None]:
        """Set the directory of the process; return the top of its tree and its layout.

        A process that is ending is shown in the root group by version 1, and one that is
        gone nowhere: both are believed to be where they last were.
        """
        mounts = proc.mounts(f"{self._root}/proc/self/mountinfo")
        self._lives = self._alive()
        if self._lives:
            self._directory = ""
            for path, mount, layout in _memberships(self._pid, self._root, mounts):
                top = self._root + mount.point
                found = _directory(path, mount.root, top, self._pid, layout)
                if found:
                    self._directory = found
                    return top, layout
        elif self._ticks is None and not self._directory:
            raise Unsupported(f"process {self._pid} is gone: its control group cannot be told")
        for mount in mounts if self._directory else ():
            top, known = self._root + mount.point, _layout(mount)
            if known and f"{self._directory}/".startswith(f"{top}/"):
                return top, known
        return "", None

    def _alive(self) -> bool:
        seen = proc.stat(self._pid, f"{self._root}/proc")
        if seen is None or seen.state in proc.ENDED_STATES:
            return False
        self._ticks = self._ticks or seen.start_ticks
        return seen.start_ticks == self._ticks

    def _lowest_limit(self, chain: list[_Group]) -> tuple[int | None, int]:
        """The lowest limit, and the index of the group nearest to the process that has it.

        A limit above the memory of the box never bites and is none.
        """
        assert self._meminfo is not None
        lowest = _kibibytes(self._meminfo.read(), b"MemTotal:") or _UNLIMITED
        limit, index = None, 0
        for i, group in enumerate(chain):
            with contextlib.suppress(OSError):
                own = group.limit()
                if own is not None and (own < lowest or (own == lowest and limit is None)):
                    limit, index, lowest = own, i, own
        if chain and chain[0].layout is _V1:
            # Groups that a container cannot see are summed up here.
            with contextlib.suppress(OSError):
                data = proc.read_file(f"{chain[-1].directory}/memory.stat", 16384)
                hidden = proc.number(data, b"hierarchical_memory_limit ")
                if hidden is not None and hidden < lowest:
                    limit, index = hidden, len(chain) - 1
        return limit, index

    def _pressure_file(self, group: _Group | None) -> str | None:
        """Version 2 tells the pressure of each group; otherwise only the box has one.

        That of the box is ours only where no limit is ours and we are not in a container.
        """
        if group and group.layout is _V2:
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
        """Take the present value of a counter never seen as zero kills.

        Once the process is gone no group is added: what else dies there is not the run.
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
                # Made anew since we last looked, so all its kills happened since then.
                self._seen[group.directory] = (group.inode, 0)
        here = {group.directory for group in watched}
        self._seen = {path: seen for path, seen in self._seen.items() if path in here}

    def _count(self) -> bool:
        """Add what the counters have grown by; whether a group is gone.

        A counter of version 2 holds the kills of everything below, so the largest growth is
        all of them, and when a group takes its counter with it the one above still knows.
        Version 1 counts each kill only in the group of the victim.
        """
        growths = [(group, self._growth(group)) for group in self._groups]
        above = self._growth(self._above) if self._above else None
        gone = any(growth is None for _, growth in growths)
        ours = [growth or 0 for group, growth in growths if group.directory in self._counted]
        if ours and len(growths) == 1 and gone:
            ours.append(above or 0)
        if ours and self._total is not None:
            self._total += max(ours) if self._groups[0].layout is _V2 else sum(ours)
        return gone

    def _growth(self, group: _Group) -> int | None:
        """Kills since the last look; ``None`` when the group is gone."""
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
        kills, directory, seen = saved.get("kills"), saved.get("directory"), saved.get("seen")
        if isinstance(kills, int) and kills >= 0:
            self._total = kills
        if saved.get("boot_id") != self._boot:
            return  # other counters, and the process is another one
        if isinstance(directory, str):
            self._directory = directory
        for path, pair in seen.items() if isinstance(seen, Mapping) else ():
            if (
                isinstance(path, str)
                and isinstance(pair, list | tuple)
                and len(pair) == 2
                and all(isinstance(value, int) and value >= 0 for value in pair)
            ):
                self._seen[path] = (pair[0], pair[1])
                self._counted.add(path)

    # -- pressure -----------------------------------------------------------------------

    def _full_avg10(self) -> float | None:
        """Percent of the last ten seconds in which nothing could run for want of memory."""
        if self._pressure is None:
            return None
        try:
            _, found, rest = self._pressure.read().partition(b"full avg10=")
            return float(rest.split(None, 1)[0]) if found else None
        except (OSError, ValueError, IndexError):
            return None


def _layout(mount: proc.Mount) -> _Layout | None:
    if mount.fstype == "cgroup2":
        return _V2
    return _V1 if mount.fstype == "cgroup" and "memory" in mount.options else None


def _memberships(
    pid: int, root: str, mounts: list[proc.Mount]
) -> Iterable[tuple[str, proc.Mount, _Layout]]:
    """Path of the process in each tree that may account memory: version 1 before version 2."""
    try:
        lines = proc.read_file(f"{root}/proc/{pid}/cgroup", 65536).splitlines()
    except OSError:
        return
    paths: dict[_Layout, str] = {}
    for line in lines:
        number, _, rest = line.partition(b":")
        controllers, _, path = rest.partition(b":")
        if b"memory" in controllers.split(b","):
            paths[_V1] = os.fsdecode(path)
        elif number == b"0" and not controllers:
            paths[_V2] = os.fsdecode(path)
    for layout in (_V1, _V2):
        for mount in mounts:
            if layout in paths and _layout(mount) is layout:
                yield paths[layout], mount, layout


def _directory(path: str, mounted: str, top: str, pid: int, layout: _Layout) -> str | None:
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
            if str(pid).encode() in proc.read_file(f"{directory}/cgroup.procs", _PROCS).split():
                return directory
    return existing[0] if existing else None


def _chain(directory: str, top: str, layout: _Layout) -> list[_Group]:
    """The groups that exist from ``directory`` up to ``top``, those with memory figures."""
    found = []
    while directory.startswith(top):
        if os.path.exists(f"{directory}/{layout.current}"):
            with contextlib.suppress(OSError):
                found.append(_Group(directory, directory[len(top) :] or "/", layout))
        directory = directory.rpartition("/")[0]
    return found


def _kibibytes(data: bytes, name: bytes) -> int | None:
    value = proc.number(data, name)
    return None if value is None else value * 1024


def _text(path: str) -> str:
    try:
        return proc.read_file(path, 128).decode("ascii", "replace").strip()
    except OSError:
        return ""
