"""All processes of the box at one instant, for commands that find runs.

A process that ends meanwhile raises nothing. Each value is read at most once per process, and only
when it is used: on a box with a thousand processes, the command line rules out most of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from . import procfs
from .outside import outside

_NO_FILES = ("/dev/", "/proc/", "/sys/")
MAPS_BYTES = 4 << 20
"""Bytes read of the memory map of a process, which is searched for frameworks."""


class OpenFile(NamedTuple):
    """A file descriptor of a process."""

    fd: int
    target: str
    """The target of the link in /proc: a path, ``pipe:[123]``, ``/dev/null``."""
    via: str
    """``/proc/PID/fd/N``: opens this file even when it was renamed or deleted."""

    @property
    def regular(self) -> bool:
        """True for a file or folder on a disk, also for a deleted one."""
        return self.target.startswith("/") and not self.target.startswith(_NO_FILES)

    @property
    def writable(self) -> bool:
        """True when it was opened for writing; read from /proc at every use."""
        return self._info("flags", 8) & os.O_ACCMODE != os.O_RDONLY

    @property
    def only_named(self) -> bool:
        """True when its process has the file not open, but named (``O_PATH``).

        That can be had of a file that the process may not read.
        """
        return bool(self._info("flags", 8) & os.O_PATH)

    @property
    def appends(self) -> bool:
        """True when every write goes to its end (``>>``); read from /proc at every use."""
        return bool(self._info("flags", 8) & os.O_APPEND)

    @property
    def position(self) -> int:
        """The offset behind what was read or written last; read from /proc at every use."""
        return self._info("pos", 10)

    def _info(self, name: str, base: int) -> int:
        head, _, fd = self.via.rpartition("/fd/")
        data = procfs.read_or_none(f"{head}/fdinfo/{fd}") or b""
        for line in data.splitlines():
            if line.startswith(f"{name}:".encode()):
                return procfs.parse_number(line[len(name) + 1 :], base)
        return 0


class Mapped(NamedTuple):
    """A file that a process has mapped into its memory."""

    device: int
    inode: int
    path: str


def open_files(pid: int, root: str = procfs.PROC) -> Iterator[OpenFile]:
    """The open files of a process, by number; none when they may not be read."""
    folder = f"{root}/{pid}/fd"
    try:
        numbers = sorted(int(name) for name in os.listdir(folder))
    except (OSError, ValueError):
        return
    for fd in numbers:
        target = procfs.link(f"{folder}/{fd}")
        if target:
            yield OpenFile(fd, target, f"{folder}/{fd}")


def mapped_files(pid: int, root: str = procfs.PROC) -> Iterator[Mapped]:
    """The files that a process has mapped. (safetensors closes a file, but keeps it mapped.)"""
    for line in procfs.maps(pid, root).splitlines():
        fields = line.split(None, 5)
        if len(fields) < 6 or not fields[5].startswith(b"/"):
            continue
        major, _, minor = fields[3].partition(b":")
        device = os.makedev(procfs.parse_number(major, 16), procfs.parse_number(minor, 16))
        yield Mapped(device, procfs.parse_number(fields[4]), os.fsdecode(fields[5].strip()))


class Process:
    """One process, with its values as they were when first read."""

    def __init__(self, proc: str, pid: int) -> None:
        self.pid = pid
        self._proc = proc
        try:
            seen = procfs.stat(pid, proc)
        except OSError:
            seen = None
        self.alive = seen is not None and seen.state not in procfs.ENDED_STATES
        self.comm = seen.name if seen else ""
        self.ppid = seen.ppid if seen else 0
        self.cpu_s = seen.cpu_s if seen else 0.0
        self.start_ticks = seen.start_ticks if seen else 0

    @cached_property
    def started_at(self) -> float:
        """Start time in epoch seconds, right to about a second; 0: unknown."""
        booted = procfs.boot_time(self._proc)
        return booted + self.start_ticks * procfs.TICK_S if booted else 0.0

    @cached_property
    def argv(self) -> tuple[str, ...]:
        """The command line; empty for a kernel thread."""
        return procfs.cmdline(self.pid, self._proc)

    @cached_property
    def environ(self) -> Mapping[str, str]:
        """The environment it was started with; empty when it may not be read."""
        return procfs.environ(self.pid, self._proc)

    @cached_property
    def exe(self) -> str:
        """Path of the program file; empty when unknown."""
        return procfs.exe(self.pid, self._proc).removesuffix(" (deleted)")

    @cached_property
    def cwd(self) -> str:
        """The working directory, as the process itself sees it; empty when unknown."""
        return procfs.cwd(self.pid, self._proc)

    @property
    def cwd_via(self) -> str:
        """``/proc/PID/cwd``: a path to the working directory that also works from another
        container."""
        return f"{self._proc}/{self.pid}/cwd"

    def maps(self) -> bytes:
        """The text of /proc/PID/maps, at most :data:`MAPS_BYTES`; read at every call, and not kept:
        300 KiB of each of 5,000 workers would be 1.5 GB."""
        return procfs.maps(self.pid, self._proc, MAPS_BYTES)

    @cached_property
    def cgroup(self) -> str:
        """The text of /proc/PID/cgroup: one ``id:controllers:path`` per line."""
        return procfs.cgroup(self.pid, self._proc).decode(errors="replace")

    @cached_property
    def ignores_hangup(self) -> bool:
        """True when SIGHUP is ignored, as under ``nohup``."""
        return procfs.ignores_hangup(self.pid, self._proc)

    @cached_property
    def files(self) -> tuple[OpenFile, ...]:
        """Its open files, by number; empty when they may not be read."""
        return tuple(open_files(self.pid, self._proc))

    @property
    def written_bytes(self) -> int | None:
        """Bytes that it has given to write calls so far; ``None`` when that may not be read."""
        io = procfs.io(self.pid, self._proc)
        return None if io is None else io.wchar

    def forget(self) -> None:
        """Drop what is large and is read again when it is asked for: environment and open files."""
        for name in ("environ", "files"):
            self.__dict__.pop(name, None)

    def file(self, fd: int) -> OpenFile | None:
        """The open file with this number; ``None`` without one."""
        return next((file for file in self.files if file.fd == fd), None)

    def outside(self, path: str) -> str:
        """A path under which we can open ``path`` of this process: through ``/proc/PID/root`` if
        it has another root directory than we."""
        if self._shares_root is False:
            return f"{self._proc}/{self.pid}/root{path}"
        return path

    @property
    def is_elsewhere(self) -> bool:
        """True when it has another root directory than we: it is in another container."""
        return self._shares_root is False

    def lasting(self, path: str) -> str:
        """Like :meth:`outside`, but a path that is still right after the process, and its
        container, are gone, where there is one."""
        return outside(self.pid, path, self._proc)

    @cached_property
    def _shares_root(self) -> bool | None:
        return procfs.shares_root(self.pid, self._proc)


class Processes(Mapping[int, Process]):
    """All processes of one instant."""

    def __init__(self, proc: str = procfs.PROC) -> None:
        self.proc = proc
        try:
            pids = procfs.pids(proc)
        except OSError:
            pids = []
        seen = (Process(proc, pid) for pid in pids)
        self._by_pid = {process.pid: process for process in seen if process.alive}

    def __getitem__(self, pid: int) -> Process:
        return self._by_pid[pid]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_pid)

    def __len__(self) -> int:
        return len(self._by_pid)

    def ancestors(self, process: Process) -> Iterator[Process]:
        """Parent, grandparent, … as far as they exist."""
        seen = {process.pid}
        parent = self._by_pid.get(process.ppid)
        while parent is not None and parent.pid not in seen:
            seen.add(parent.pid)
            yield parent
            parent = self._by_pid.get(parent.ppid)

    def descendants(self, root: int) -> list[Process]:
        """Everything below ``root``, nearest first."""
        children: dict[int, list[Process]] = {}
        for process in self._by_pid.values():
            children.setdefault(process.ppid, []).append(process)
        found = children.pop(root, [])
        for process in found:  # grows while we walk
            found += children.pop(process.pid, [])
        return found

    @cached_property
    def boot_time(self) -> float:
        """Epoch seconds at which the kernel started to count ticks; 0 when unknown."""
        return procfs.boot_time(self.proc)

    def started_at(self, process: Process) -> float:
        """Start time in epoch seconds, right to about a second, as ``btime`` is; 0: unknown."""
        return self.boot_time + process.start_ticks * procfs.TICK_S if self.boot_time else 0.0

    @cached_property
    def _ends(self) -> dict[str, list[tuple[Process, OpenFile]]]:
        """Every pipe of the box -> the processes that have it open, and their descriptors."""
        ends: dict[str, list[tuple[Process, OpenFile]]] = {}
        for process in self._by_pid.values():
            for file in process.files:
                if file.target.startswith("pipe:["):
                    ends.setdefault(file.target, []).append((process, file))
        return ends

    def pipe_readers(self, target: str) -> list[Process]:
        """The processes that read the pipe ``pipe:[INODE]`` and do not write to it as well."""
        held = self._ends.get(target, [])
        writers = {process.pid for process, file in held if file.writable}
        return list({p.pid: p for p, file in held if p.pid not in writers}.values())
