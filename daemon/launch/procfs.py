"""One look at /proc, for commands that find runs. Never raises for a process that goes away.

Everything is read at most once per process and only when asked for: on a box with a thousand
processes most of them are ruled out by their command line alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ARGV_BYTES = 128 * 1024
ENVIRON_BYTES = 512 * 1024
MAPS_BYTES = 4 << 20
"""Bounds on what one process can make us read. A torch process maps about 300 KiB of text."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file descriptor. ``target`` is what /proc says: a path, ``pipe:[123]``, ``/dev/null``."""

    fd: int
    target: str
    via: str
    """``/proc/PID/fd/N``: opens the very file, whatever became of its name."""
    writable: bool

    @property
    def regular(self) -> bool:
        """A file on a disk (or one that was there before somebody deleted it)."""
        return self.target.startswith("/") and not self.target.startswith(("/dev/", "/proc/"))


class Process:
    """One process as it was when first looked at."""

    def __init__(self, proc: str, pid: int) -> None:
        self.pid = pid
        self.folder = f"{proc}/{pid}"
        head, _, tail = _read(f"{self.folder}/stat", 4096).partition(b"(")
        comm, _, rest = tail.rpartition(b")")
        state, *fields = rest.split() or [b"X"]
        self.alive = bool(head) and len(fields) > 18 and state not in (b"Z", b"X")
        self.comm = comm.decode(errors="replace")
        numbers = [_number(field) for field in fields[:19]] if self.alive else [0] * 19
        self.ppid = numbers[0]
        self.cpu_ticks = numbers[10] + numbers[11]
        self.start_ticks = numbers[18]

    @cached_property
    def argv(self) -> tuple[str, ...]:
        """The command line; empty for a kernel thread."""
        text = _read(f"{self.folder}/cmdline", ARGV_BYTES)
        # A process that renamed itself ends in many NULs.
        return tuple(os.fsdecode(arg) for arg in text.rstrip(b"\0").split(b"\0")) if text else ()

    @cached_property
    def environ(self) -> Mapping[str, str]:
        """What it was started with. Empty when it belongs to somebody else."""
        text = os.fsdecode(_read(f"{self.folder}/environ", ENVIRON_BYTES))
        pairs = (entry.partition("=") for entry in text.split("\0"))
        return {key: value for key, equals, value in pairs if key and equals}

    @cached_property
    def exe(self) -> str:
        """The program file, or an empty string."""
        return _link(f"{self.folder}/exe").removesuffix(" (deleted)")

    @cached_property
    def cwd(self) -> str:
        """The working directory as the process itself calls it, or an empty string."""
        return _link(f"{self.folder}/cwd")

    @cached_property
    def maps(self) -> bytes:
        """The text of its memory map."""
        return _read(f"{self.folder}/maps", MAPS_BYTES)

    @cached_property
    def cgroup(self) -> str:
        """The text of /proc/PID/cgroup: one ``id:controllers:path`` per line."""
        return _read(f"{self.folder}/cgroup", 65536).decode(errors="replace")

    @cached_property
    def ignores_hangup(self) -> bool:
        """SIGHUP (signal 1, the lowest bit of SigIgn) is ignored, as under ``nohup``."""
        for line in _read(f"{self.folder}/status", 8192).splitlines():
            if line.startswith(b"SigIgn:"):
                return bool(_number(line[7:], 16) & 1)
        return False

    @cached_property
    def files(self) -> tuple[OpenFile, ...]:
        """Its open files in the order of their numbers; empty when they may not be seen."""
        folder = f"{self.folder}/fd"
        try:
            numbers = sorted(int(name) for name in os.listdir(folder))
        except (OSError, ValueError):
            return ()
        opened = []
        for fd in numbers:
            target = _link(f"{folder}/{fd}")
            if target:
                writable = _writable(f"{self.folder}/fdinfo/{fd}")
                opened.append(OpenFile(fd, target, f"{folder}/{fd}", writable))
        return tuple(opened)

    def file(self, fd: int) -> OpenFile | None:
        """The file behind one number."""
        return next((file for file in self.files if file.fd == fd), None)

    def outside(self, path: str) -> str:
        """``path`` of this process as we can open it: through its root, if that is not ours."""
        if self._foreign_root:
            return f"{self.folder}/root{path}"
        return path

    @cached_property
    def _foreign_root(self) -> bool:
        try:
            theirs, ours = os.stat(f"{self.folder}/root"), Path("/").stat()
        except OSError:
            return False
        return (theirs.st_dev, theirs.st_ino) != (ours.st_dev, ours.st_ino)


class Processes(Mapping[int, Process]):
    """All processes of one instant."""

    def __init__(self, proc: str = "/proc") -> None:
        self.proc = proc
        try:
            names = os.listdir(proc)
        except OSError:
            names = []
        seen = (Process(proc, int(name)) for name in names if name.isdigit())
        self._by_pid = {process.pid: process for process in seen if process.alive}

    def __getitem__(self, pid: int) -> Process:
        return self._by_pid[pid]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_pid)

    def __len__(self) -> int:
        return len(self._by_pid)

    def ancestors(self, process: Process) -> Iterator[Process]:
        """Parent, grandparent, … up to the first one that is not there."""
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
        for line in _read(f"{self.proc}/stat", 1 << 20).splitlines():
            if line.startswith(b"btime "):
                return float(_number(line[6:]))
        return 0.0

    def started_at(self, process: Process) -> float:
        """Epoch seconds, right to about a second (``btime`` has no more)."""
        return self.boot_time + process.start_ticks / TICKS_PER_S if self.boot_time else 0.0

    @cached_property
    def _ends(self) -> dict[str, list[tuple[Process, OpenFile]]]:
        """Every pipe of the box and who holds which end."""
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


def _read(path: str, limit: int) -> bytes:
    """Up to ``limit`` bytes of a file of /proc; empty when it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            chunks = []
            while limit > 0 and (chunk := file.read(min(limit, 1 << 16))):
                chunks.append(chunk)
                limit -= len(chunk)
    except OSError:
        return b""
    return b"".join(chunks)


def _number(text: bytes, base: int = 10) -> int:
    """A number of /proc; 0 for anything else."""
    try:
        return int(text, base)
    except ValueError:
        return 0


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _writable(fdinfo: str) -> bool:
    """Opened for writing, by the ``flags:`` line (octal, access mode in the low bits)."""
    for line in _read(fdinfo, 1024).splitlines():
        if line.startswith(b"flags:"):
            return _number(line[6:], 8) & os.O_ACCMODE != os.O_RDONLY
    return False
