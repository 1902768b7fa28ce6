"""Small readers of /proc that return plain values.

``root`` is where the proc file system is mounted. A process is identified by its pid and its start
time in clock ticks since boot, because a pid is used again. A reader returns ``None`` or something
empty both for a process that is gone and for what may not be read; only :func:`stat` distinguishes
the two. Mounts are read by :mod:`.mounts`, control groups by :mod:`.cgroupfs`, all processes at one
instant by :mod:`.processes`, files and connections that processes hold by :mod:`.held`. No other module of the daemon reads /proc, except the supervisor and
the loader of checkpoints, which run without this package.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from .descriptors import own

PROC = "/proc"
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_LARGEST = 1 << 20
"""Bytes read of an environment or a command line. ``ARG_MAX`` allows 2 MiB, but we expect what is
searched in the first half."""
_SMALL = 4096
_CHUNK = 1 << 16
_SIGHUP_BIT = 1
_RANK_NAMES = (b"RANK", b"LOCAL_RANK", b"WORLD_SIZE")
_CAP_SYS_PTRACE = 19
_MOST_ANCESTORS = 32

ENDED_STATES = frozenset("ZXx")


class Stat(NamedTuple):
    """Fields of /proc/PID/stat."""

    pid: int
    name: str
    """``comm``: at most 15 bytes of any kind, also spaces and parentheses."""
    state: str
    ppid: int
    cpu_s: float
    """User and system seconds of all threads, living and dead."""
    threads: int
    start_ticks: int
    rss_bytes: int
    wait_status: int | None
    """As of ``waitpid``; also 0 when we are not permitted to see it. ``None`` before Linux 3.5."""

    @property
    def ended(self) -> bool:
        """True when no thread of it runs any more.

        When only the first thread has ended, the process is shown as a zombie while its other
        threads go on (one may hang in a driver call): that process has not ended.
        """
        return self.state in ENDED_STATES and self.threads <= 1


class Io(NamedTuple):
    """Fields of /proc/PID/io, in bytes."""

    rchar: int
    wchar: int
    read_bytes: int
    write_bytes: int


class Ranks(NamedTuple):
    """Ranks of a process in a distributed run, from the environment that it was started with."""

    rank: int | None
    local_rank: int | None
    world_size: int | None


def read_file(path: str, limit: int = _SMALL) -> bytes:
    """The first ``limit`` bytes of a file; raises OSError."""
    fd = own.open_file(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        data = os.read(fd, min(limit, _CHUNK))
        if limit <= _SMALL or not data:
            return data
        # The kernel returns long files of /proc in pieces of a page, short ones at once.
        pieces, left = [data], limit - len(data)
        while left > 0 and (data := os.read(fd, min(left, _CHUNK))):
            pieces.append(data)
            left -= len(data)
        return b"".join(pieces)
    finally:
        os.close(fd)


def read_or_none(path: str, limit: int = _SMALL) -> bytes | None:
    """Like :func:`read_file`, but ``None`` when the file cannot be read."""
    try:
        return read_file(path, limit)
    except OSError:
        return None


def link(path: str) -> str:
    """The target of a symbolic link; empty when it cannot be read."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def parse_number(text: bytes, base: int = 10) -> int:
    """The whole number that ``text`` is; 0 if it is none."""
    try:
        return int(text, base)
    except ValueError:
        return 0


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
            cpu_s=(int(rest[11]) + int(rest[12])) * TICK_S,
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


def start_ticks(pid: int, root: str = PROC) -> int | None:
    """Start time of a process in ticks since boot, which identifies it together with its pid.
    ``None`` when it is gone or has ended."""
    try:
        seen = stat(pid, root)
    except OSError:
        return None
    return None if seen is None or seen.ended else seen.start_ticks


def terminal(pid: int, root: str = PROC) -> tuple[int, int] | None:
    """(pid of the leader of its session, device number of its terminal or 0); ``None``: gone."""
    fields = (read_or_none(f"{root}/{pid}/stat") or b"").rpartition(b") ")[2].split()
    try:
        return int(fields[3]), int(fields[4])
    except (ValueError, IndexError):
        return None


def ignores_hangup(pid: int, root: str = PROC) -> bool:
    """True when SIGHUP (signal 1, the lowest bit of SigIgn) is ignored, as under ``nohup``."""
    data = read_or_none(f"{root}/{pid}/status", 2 * _SMALL) or b""
    mask = data.partition(b"SigIgn:")[2].split(None, 1)
    return bool(mask) and bool(parse_number(mask[0], 16) & _SIGHUP_BIT)


def exit_status(seen: Stat, root: str = PROC) -> int | None:
    """Wait status of a process that has ended but was not reaped; ``None`` when it is hidden.

    The kernel shows 0 to readers that may not trace the process. So 0 is believed only if the
    process has our user id or we have CAP_SYS_PTRACE.
    """
    if seen.wait_status != 0:
        return seen.wait_status
    uid = owner(seen.pid, root)
    if uid is None:
        return None
    return 0 if uid == os.geteuid() or _may_trace(root) else None


def exists(pid: int, root: str = PROC) -> bool:
    """True when the process runs, or has ended and was not reaped yet."""
    return os.path.exists(f"{root}/{pid}")


def owner(pid: int, root: str = PROC) -> int | None:
    """Id of the user that it runs as; ``None`` when it is gone."""
    try:
        return os.stat(f"{root}/{pid}").st_uid
    except OSError:
        return None


def namespace_pids(pid: int, root: str = PROC) -> frozenset[int]:
    """The numbers of a process in all its pid namespaces; a container's is the last of them."""
    data = read_or_none(f"{root}/{pid}/status") or b""
    line = next((one for one in data.splitlines() if one.startswith(b"NSpid:")), b"")
    return frozenset({pid, *(int(word) for word in line.split()[1:] if word.isdigit())})


def io(pid: int, root: str = PROC) -> Io | None:
    """/proc/PID/io; ``None`` when we may not trace the process."""
    data = read_or_none(f"{root}/{pid}/io")
    names = (b"rchar:", b"wchar:", b"read_bytes:", b"write_bytes:")
    values = [number(data, name) for name in names] if data else []
    known = [v for v in values if v is not None]
    return Io(*known) if len(known) == len(names) else None


def peak_bytes(pid: int, root: str = PROC) -> int | None:
    """Largest resident memory of the program so far, in bytes; ``None`` when unknown. (The value
    ``ru_maxrss`` is not used: after fork and exec it starts with that of the parent.)"""
    kib = number(read_or_none(f"{root}/{pid}/status") or b"", b"VmHWM:")
    return None if kib is None else kib << 10


def wchan(pid: int, root: str = PROC) -> str | None:
    """The kernel function in which the first thread sleeps; ``None`` when it runs or that is
    hidden."""
    data = read_or_none(f"{root}/{pid}/wchan", 128)
    return data.decode("ascii", "replace").strip() if data and data.strip(b"0\n") else None


def ranks(pid: int, root: str = PROC) -> Ranks:
    """RANK, LOCAL_RANK and WORLD_SIZE of its environment; no other variable is kept."""
    found: dict[bytes, int] = {}
    for name, value in _variables(pid, root):
        if name in _RANK_NAMES and value.isdigit() and len(value) < 10:
            found.setdefault(name, int(value))
    return Ranks(*(found.get(name) for name in _RANK_NAMES))


def environ(pid: int, root: str = PROC) -> dict[str, str]:
    """The environment it was started with; of several values of a name the first, as for
    ``getenv``. Empty when it may not be read."""
    found: dict[str, str] = {}
    for name, value in _variables(pid, root):
        found.setdefault(os.fsdecode(name), os.fsdecode(value))
    return found


def _variables(pid: int, root: str) -> Iterator[tuple[bytes, bytes]]:
    for entry in (read_or_none(f"{root}/{pid}/environ", _LARGEST) or b"").split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if name and equals:
            yield name, value


def cmdline(pid: int, root: str = PROC) -> tuple[str, ...]:
    """The arguments of a process, undecodable bytes escaped; empty for a kernel thread."""
    data = read_or_none(f"{root}/{pid}/cmdline", _LARGEST) or b""
    # Many zeros at the end are of a process that renamed itself, two of an empty last argument.
    words = data.rstrip(b"\0") if data.endswith(b"\0\0\0") else data.removesuffix(b"\0")
    return tuple(os.fsdecode(word) for word in words.split(b"\0")) if words else ()


def ancestors(pid: int) -> Iterator[int]:
    """The ancestors of a process, nearest first; without process 1."""
    for _ in range(_MOST_ANCESTORS):
        try:
            seen = stat(pid)
        except OSError:
            return
        if seen is None or seen.ppid <= 1:
            return
        pid = seen.ppid
        yield pid


def children(pid: int, root: str = PROC, all_threads: bool = True) -> tuple[int, ...] | None:
    """Pids of the children, also of those not reaped; ``None`` when the kernel cannot list them.

    Every thread has its own list. With ``all_threads`` off only that of the first thread is read,
    from which launchers and data loaders fork; it is one small file.
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
        data = read_or_none(f"{root}/{pid}/task/{task}/children", _LARGEST)
        if data is not None:
            readable = True
            found += (int(word) for word in data.split() if word.isdigit())
    return tuple(found) if readable else None


def exe(pid: int, root: str = PROC) -> str:
    """Path of the program file (with `` (deleted)`` if it was replaced); empty when unknown."""
    return link(f"{root}/{pid}/exe")


def cwd(pid: int, root: str = PROC) -> str:
    """The working directory, as the process itself sees it; empty when unknown."""
    return link(f"{root}/{pid}/cwd")


def cgroup(pid: int, root: str = PROC) -> bytes:
    """/proc/PID/cgroup: one ``id:controllers:path`` per line; empty when it is gone."""
    return read_or_none(f"{root}/{pid}/cgroup", 16 * _SMALL) or b""


def shares_root(pid: int, root: str = PROC) -> bool | None:
    """True when it has the same root directory as we, so is in no other container. ``None``: not
    known."""
    try:
        theirs, ours = os.stat(f"{root}/{pid}/root"), os.stat("/")
    except OSError:
        return None
    return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)


def same_mounts(pid: int, root: str = PROC) -> bool:
    """True when it has the mounts that we have, and the same root directory."""
    theirs, ours = link(f"{root}/{pid}/ns/mnt"), link(f"{root}/self/ns/mnt")
    return bool(theirs) and theirs == ours and shares_root(pid, root) is not False


def maps(pid: int, root: str = PROC, limit: int = 64 * _LARGEST) -> bytes:
    """The text of /proc/PID/maps, at most ``limit`` bytes. It has 300 KiB for a torch process;
    64 MiB are 600,000 regions."""
    return read_or_none(f"{root}/{pid}/maps", limit) or b""


def boot_id(root: str = PROC) -> str:
    """The random id of this boot; empty when unknown."""
    data = read_or_none(f"{root}/sys/kernel/random/boot_id", 128) or b""
    return data.decode("ascii", "replace").strip()


def boot_time(root: str = PROC) -> float:
    """Epoch seconds at which the kernel started to count ticks; 0 when unknown."""
    return float(number(read_or_none(f"{root}/stat", _LARGEST) or b"", b"btime ") or 0)


def uptime_s(root: str = PROC) -> float | None:
    """Seconds since boot; ``None`` when unknown."""
    try:
        return float((read_or_none(f"{root}/uptime", 64) or b"").split()[0])
    except (ValueError, IndexError):
        return None


def default_routes(root: str = PROC) -> set[str]:
    """Names of the network interfaces that have a default route, without the loopback."""
    found = set()
    # A default route has destination 0: the second word (IPv4; the interface is the first), or the
    # first word (IPv6; the interface is the last).
    for table, column in (("route", 1), ("ipv6_route", 0)):
        for line in (
            (read_or_none(f"{root}/net/{table}", _LARGEST) or b"")
            .decode("ascii", "replace")
            .splitlines()
        ):
            words = line.split()
            if len(words) > column and set(words[column]) == {"0"}:
                found.add(words[0] if column else words[-1])
    return found - {"lo"}


def sees_first_pids(root: str = PROC) -> bool:
    """True when our pids are those of the kernel log: we are in the first pid namespace, which has
    a fixed number (PROC_PID_INIT_INO in linux/proc_ns.h)."""
    return link(f"{root}/self/ns/pid") == "pid:[4026531836]"


def pids(root: str = PROC) -> list[int]:
    """Pids of all processes that we may see. Raises OSError."""
    return [int(name) for name in os.listdir(root) if name.isdecimal()]


def number(data: bytes, name: bytes) -> int | None:
    """The number after ``name`` at the beginning of a line (``name`` includes a colon, if there is
    one); ``None`` without such a line."""
    start = 0 if data.startswith(name) else data.find(b"\n" + name) + 1
    if start == 0 and not data.startswith(name):
        return None
    words = data[start + len(name) : start + len(name) + 40].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else None


def _may_trace(root: str) -> bool:
    words = (read_or_none(f"{root}/self/status") or b"").split(b"CapEff:", 1)
    try:
        return bool(int(words[1].split(None, 1)[0], 16) >> _CAP_SYS_PTRACE & 1)
    except (IndexError, ValueError):
        return False
