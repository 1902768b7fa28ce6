"""Which paths may be touched by the resident process: those on a file system known to be local.

A call on any other file system (network, FUSE, one that nobody here knows) may block for ever,
because its server may be dead. Such a path is *far*: it is handed to a :mod:`.guard`. Whether a
path is far is found out without touching it, from the table of mounts and from links on local
file systems.
"""

from __future__ import annotations

from typing import NamedTuple

from . import procfs
from .mounts import TABLE, Mount, Mounts, TableWatch, is_local, readable_table

RESOLVE_S = 10.0
"""Seconds after which the links of a path are followed again: one may lead elsewhere now. Our
choice: the beat of a log, at 10 µs a path. A change of mounts is noticed at once."""
SLOW_S = 2.0
"""Seconds blocked. A call on a local file system takes microseconds when its data is cached, and some
tenths of a second on a busy disk; one that took this long says that the disk, or what is behind
it, may also stop (our choice)."""
DISTRUST_S = 3600.0
"""Seconds for which a file system that was slow is treated as far. Our choice: an hour of a
child process (12 MB) is cheap, and a disk that begins to fail is slow again within it."""
_MOST_PATHS = 1024


class Far(NamedTuple):
    """A file system that the resident process does not touch."""

    device: str
    """``major:minor`` of the file system."""
    point: str
    fstype: str

    def __str__(self) -> str:
        """The mount in words: ``/mnt/x (nfs4)``."""
        return f"{self.point} ({self.fstype})"


UNKNOWN = Far("?", "an unknown mount", "unknown")


class FarMounts:
    """Says which paths are far. ``root`` is put before every path that is looked at.

    One file is held open: the table of mounts.
    """

    def __init__(self, root: str = "/") -> None:
        self._root = root.rstrip("/")
        self._table = f"{self._root}{TABLE}"
        self._watch: TableWatch | None = None
        self._mounts: Mounts | None = None
        self._known: dict[str, tuple[float, Far | None]] = {}
        self._slow: dict[str, float] = {}

    def of(self, path: str, now: float) -> Far | None:
        """The far file system of ``path``, which need not exist; ``None`` for a local one.

        ``path`` is absolute. ``now``: epoch seconds. Never raises, never blocks.
        """
        mounts = self._current()
        known = self._known.get(path)
        if known is None or abs(now - known[0]) >= RESOLVE_S:
            if len(self._known) >= _MOST_PATHS:
                self._known.clear()
            known = self._known[path] = (now, self._look(path, mounts, now))
        return known[1]

    def below(self, folder: str) -> dict[str, Far]:
        """The far mounts below a folder: where they would be met going down from ``folder``."""
        mounts = self._current()
        if folder.startswith("/proc/"):
            return {}
        _, real, rest = mounts.walk(folder)
        if rest:
            return {}
        real = real.removeprefix(self._root) or "/"
        found = (mount for mount in mounts.below(real) if not is_local(mount.fstype))
        return {folder.rstrip("/") + _inside(m.point, real): _far(m) for m in found}

    def was_slow(self, path: str, now: float) -> None:
        """Treat the file system of ``path`` as far from now on: a call on it took too long."""
        mount, _ = self._current().resolve(path)
        if mount is not None and not path.startswith("/proc/"):
            self._slow[mount.device] = now
            self._known.clear()

    def close(self) -> None:
        """Close the table of mounts; safe to call twice."""
        if self._watch is not None:
            self._watch.close()

    def _current(self) -> Mounts:
        if self._mounts is None:
            self._watch = TableWatch(self._table)
        if self._mounts is None or (self._watch is not None and self._watch.changed()):
            self._mounts = Mounts(readable_table(self._table), self._root)
            self._known.clear()
        return self._mounts

    def _look(self, path: str, mounts: Mounts, now: float) -> Far | None:
        if path.startswith("/proc/"):
            return _of_process(path)
        mount = mounts.resolve(path)[0]
        if mount is None:
            return UNKNOWN
        slow_at = self._slow.get(mount.device)
        if slow_at is not None and abs(now - slow_at) >= DISTRUST_S:
            del self._slow[mount.device]
            slow_at = None
        return None if is_local(mount.fstype) and slow_at is None else _far(mount)


def _of_process(path: str) -> Far | None:
    """The same for ``/proc/PID/root/…``, ``cwd/…`` and ``fd/N``, which lead out of /proc."""
    _, _, pid, *rest = path.split("/")
    if len(rest) < 1 or rest[0] not in ("root", "cwd", "fd"):
        return None
    home = f"/proc/{pid}"
    table = readable_table(f"{home}/mountinfo")
    if not table:
        return None  # it has ended: there is nothing that could block
    mount: Mount | None
    if rest[0] == "fd":
        if len(rest) < 2:
            return None
        told = procfs.read_or_none(f"{home}/fdinfo/{rest[1]}") or b""
        numbers = [line[7:] for line in told.splitlines() if line.startswith(b"mnt_id:")]
        if not numbers:
            return None  # closed
        number = procfs.parse_number(numbers[0])
        mount = next((one for one in table if one.id == number), None)
    elif rest[0] == "cwd":
        folder = procfs.link(f"{home}/cwd") or "/"
        mount = Mounts(table, f"{home}/root").resolve("/".join((folder, *rest[1:])))[0]
    else:
        mount = Mounts(table, f"{home}/root").resolve("/" + "/".join(rest[1:]))[0]
    if mount is None:
        return UNKNOWN
    return None if is_local(mount.fstype) else _far(mount)


def _far(mount: Mount) -> Far:
    return Far(mount.device, mount.point, mount.fstype)


def _inside(path: str, folder: str) -> str:
    """``path`` relative to a folder above it, with a ``/`` in front."""
    return path[len(folder.rstrip("/")) :]
