"""Small readers of /proc: bytes in, plain values out.

``root`` is where the proc file system is mounted. A process is known by its pid and its
start time in clock ticks since boot; the pid alone may belong to somebody else tomorrow.
A reader returns ``None`` for a process that is gone and for what may not be read; only
:func:`stat` tells the two apart.
"""

from __future__ import annotations

import os
from typing import NamedTuple

PROC = "/proc"
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_LARGEST = 1 << 20
"""Bytes of the largest file read here: an environment or command line may have 2 MiB by
``ARG_MAX``, but what we look for stands in the first half or nowhere."""
_SMALL = 4096
_RANK_NAMES = (b"RANK", b"LOCAL_RANK", b"WORLD_SIZE")
_CAP_SYS_PTRACE = 19

ENDED_STATES = frozenset("ZXx")


class Stat(NamedTuple):
    """What /proc/PID/stat tells."""

    pid: int
    name: str
    """``comm``: at most 15 bytes, may hold anything, also spaces and parentheses."""
    state: str
    ppid: int
    cpu_s: float
    """User and system seconds of all threads, living and dead."""
    threads: int
    start_ticks: int
    rss_bytes: int
    wait_status: int | None
    """As ``waitpid`` would give it; 0 also where we may not know. Older than 3.5: ``None``."""

    @property
    def ended(self) -> bool:
        """Nothing of it runs any more.

        A first thread that has left is shown as a zombie while others go on, for instance
        when one hangs in a driver call: such a process has not ended.
        """
        return self.state in ENDED_STATES and self.threads <= 1


class Io(NamedTuple):
    """What /proc/PID/io tells, in bytes."""

    rchar: int
    wchar: int
    read_bytes: int
    write_bytes: int


class Ranks(NamedTuple):
    """Place of a process in a distributed run, as its environment had it at its start."""

    rank: int | None
    local_rank: int | None
    world_size: int | None


class Mount(NamedTuple):
    """One line of /proc/PID/mountinfo."""

    device: str
    """``major:minor`` of the file system; equal for all its bind mounts."""
    root: str
    """The directory inside the file system that is mounted."""
    point: str
    fstype: str
    options: frozenset[str]
    """Of the file system itself, such as the controllers of a version 1 cgroup."""
    read_only: bool
    """This mount of it only; the file system says so in ``options``."""


class KeptFile:
    """A small file read again and again through one descriptor.

    In /proc the descriptor stays with the process: once that is gone, reading raises
    ProcessLookupError, even when the pid has been given to another one.
    """

    __slots__ = ("_fd", "_limit")

    def __init__(self, path: str, limit: int = _SMALL) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._limit = limit

    def read(self) -> bytes:
        """The whole file as it is now, up to ``limit`` bytes; raises OSError."""
        return os.pread(self._fd, self._limit, 0)

    def close(self) -> None:
        """Safe to call twice."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def read_file(path: str, limit: int = _SMALL) -> bytes:
    """The first ``limit`` bytes of a file; raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        data = os.read(fd, limit)
        # The kernel hands out long files page by page, and short ones whole.
        while limit > _SMALL and len(data) < limit and (more := os.read(fd, limit - len(data))):
            data += more
        return data
    finally:
        os.close(fd)


def parse_stat(data: bytes) -> Stat | None:
    """Read the one line of /proc/PID/stat; ``None`` when it is not such a line."""
    try:
        opening, closing = data.index(b"("), data.rindex(b")")
        rest = data[closing + 2 :].split()
        return Stat(
            pid=int(data[:opening]),
            name=data[opening + 1 : closing].decode("utf-8", "replace"),
            state=chr(rest[0][0]),
            ppid=int(rest[1]),
            cpu_s=(int(rest[11]) + int(rest[12])) * _TICK_S,
            threads=int(rest[17]),
            start_ticks=int(rest[19]),
            rss_bytes=int(rest[21]) * _PAGE_BYTES,
            wait_status=int(rest[49]) if len(rest) > 49 else None,
        )
    except (ValueError, IndexError):
        return None


def stat(pid: int, root: str = PROC) -> Stat | None:
    """/proc/PID/stat, ``None`` when there is no such process; raises PermissionError."""
    try:
        return parse_stat(read_file(f"{root}/{pid}/stat"))
    except (FileNotFoundError, ProcessLookupError):
        return None


def exit_status(seen: Stat, root: str = PROC) -> int | None:
    """Wait status of an ended process that nobody has reaped; ``None`` when it is hidden.

    The kernel shows 0 to readers who may not trace the process, so 0 is believed only when
    the process is ours or we hold CAP_SYS_PTRACE.
    """
    if seen.wait_status != 0:
        return seen.wait_status
    try:
        ours = os.stat(f"{root}/{seen.pid}").st_uid == os.geteuid()
    except OSError:
        return None
    return 0 if ours or _may_trace(root) else None


def io(pid: int, root: str = PROC) -> Io | None:
    """/proc/PID/io; ``None`` when we may not trace the process."""
    data = _try(f"{root}/{pid}/io")
    names = (b"rchar:", b"wchar:", b"read_bytes:", b"write_bytes:")
    values = [number(data, name) for name in names] if data else []
    known = [v for v in values if v is not None]
    return Io(*known) if len(known) == len(names) else None


def voluntary_switches(pid: int, root: str = PROC) -> int | None:
    """Voluntary context switches of the first thread since its start."""
    data = _try(f"{root}/{pid}/status")
    return number(data, b"voluntary_ctxt_switches:") if data else None


def wchan(pid: int, root: str = PROC) -> str | None:
    """The kernel function the first thread sleeps in; ``None`` when it runs or is hidden."""
    data = _try(f"{root}/{pid}/wchan", 128)
    return data.decode("ascii", "replace").strip() if data and data.strip(b"0\n") else None


def ranks(pid: int, root: str = PROC) -> Ranks:
    """RANK, LOCAL_RANK and WORLD_SIZE; nothing else of the environment is looked at."""
    data = _try(f"{root}/{pid}/environ", _LARGEST) or b""
    found: dict[bytes, int] = {}
    for entry in data.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name in _RANK_NAMES and value.isdigit() and len(value) < 10:
            found.setdefault(name, int(value))
    return Ranks(*(found.get(name) for name in _RANK_NAMES))


def cmdline(pid: int, root: str = PROC) -> tuple[str, ...]:
    """The arguments of a process, undecodable bytes escaped; empty for a kernel thread."""
    data = _try(f"{root}/{pid}/cmdline", _LARGEST) or b""
    words = data[:-1] if data.endswith(b"\0") else data
    return tuple(os.fsdecode(word) for word in words.split(b"\0")) if words else ()


def children(pid: int, root: str = PROC, all_threads: bool = True) -> tuple[int, ...] | None:
    """Pids of the living and unreaped children; ``None`` when the kernel cannot list them.

    Every thread has its own list. With ``all_threads`` off only the first thread is asked,
    which is where launchers and data loaders fork, and is as cheap as one small file.
    """
    tasks = [str(pid)]
    if all_threads:
        try:
            tasks = os.listdir(f"{root}/{pid}/task")
        except OSError:
            return None
    found: list[int] = []
    readable = False
    for task in tasks:
        data = _try(f"{root}/{pid}/task/{task}/children", _LARGEST)
        if data is not None:
            readable = True
            found += (int(word) for word in data.split() if word.isdigit())
    return tuple(found) if readable else None


def pids(root: str = PROC) -> list[int]:
    """All processes that we may see; raises OSError."""
    return [int(name) for name in os.listdir(root) if name.isdecimal()]


def number(data: bytes, name: bytes) -> int | None:
    """The number after ``name`` at the beginning of a line (``name`` with its colon, if any)."""
    start = 0 if data.startswith(name) else data.find(b"\n" + name) + 1
    if start == 0 and not data.startswith(name):
        return None
    words = data[start + len(name) : start + len(name) + 40].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else None


def mounts(path: str = "/proc/self/mountinfo") -> list[Mount]:
    """Everything that is mounted, in the order of mounting; raises OSError."""
    found = []
    for line in read_file(path, 4 * _LARGEST).splitlines():
        before, separator, after = line.partition(b" - ")
        left, right = before.split(b" "), after.split(b" ")
        if separator and len(left) >= 6 and len(right) >= 2:
            found.append(
                Mount(
                    device=left[2].decode("ascii", "replace"),
                    root=_plain(left[3]),
                    point=_plain(left[4]),
                    fstype=right[0].decode("ascii", "replace"),
                    options=frozenset(right[2].decode("ascii", "replace").split(","))
                    if len(right) > 2
                    else frozenset(),
                    read_only=b"ro" in left[5].split(b","),
                )
            )
    return found


def _plain(field: bytes) -> str:
    r"""Undo the escapes of mountinfo: ``\040`` is a space."""
    head, *escaped = field.split(b"\\")
    out = bytearray(head)
    for piece in escaped:
        code = piece[:3]
        if len(code) == 3 and all(b"0"[0] <= digit <= b"7"[0] for digit in code):
            out.append(int(code, 8) & 0xFF)
            out += piece[3:]
        else:
            out += b"\\" + piece
    return os.fsdecode(bytes(out))


def _may_trace(root: str) -> bool:
    words = (_try(f"{root}/self/status") or b"").split(b"CapEff:", 1)
    try:
        return bool(int(words[1].split(None, 1)[0], 16) >> _CAP_SYS_PTRACE & 1)
    except (IndexError, ValueError):
        return False


def _try(path: str, limit: int = _SMALL) -> bytes | None:
    try:
        return read_file(path, limit)
    except OSError:
        return None
