"""Free space and inodes of every file system that a run uses.

Each path of a run (its checkpoint directory, its log, …) is resolved to its mount without calls
that may hang: links are followed by our own code, which stops at the first directory of a network
or FUSE file system. Each of those is queried by a child process of its own, so that a dead server
blocks only that child. All other file systems are queried directly, at 2 µs a call.

A systemd service with file system protection sees every mount read-only, and some under other
names. Therefore a mount is taken as process 1 sees it, if that has the same file system at the
same path.

``statvfs`` is called for the path itself and not for its mount point: below a directory with a
project quota (XFS, ext4) the numbers are those of the quota.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from middlewatch.sentinels.kit import DiskSample, Observation

from ..system import mounts as mounted
from ..system.clock import Clock, SystemClock
from ..system.mounts import Mount, Mounts, is_local
from ..system.source import Source
from ..system.worker import JsonWorker

DEADLINE_S = 10.0
"""Seconds for an answer. A busy NFS server may need some; if it needs more than ten, no checkpoint
can be written to it either (our choice)."""
REMOTE_EVERY = 5
"""Reads between two queries of a network file system: each is a call over the network."""
SETTLE_EVERY = 60
"""Reads after which the mounts are resolved again: a link may lead elsewhere now. When something is
mounted or unmounted, that is done at once."""
GIVE_UP_S = 300.0
"""Seconds overdue after which a child is replaced: it may hang on a mount that was unmounted and
mounted again, and would never answer."""
HOME_DEPTH = 2
"""Parts that the path of a working directory has at least, if what is mounted below it is of the run:
below ``/mnt`` are the disks of everybody."""
MOST_BELOW = 8
"""Such mounts watched at most: a sandbox may have dozens."""
MOST_CHILDREN = 8
"""Network mounts watched at most: each child uses 8 MB of memory."""
_PROJECT_QUOTAS = frozenset({"ext4", "f2fs", "xfs"})
"""File systems on which ``statvfs`` of a directory may give the size of its quota."""
_CHILD = Path(__file__).with_name("programs") / "disk.py"


class Space(NamedTuple):
    """The result of ``statvfs``, in its own units (blocks of ``frsize`` bytes, inodes)."""

    frsize: int
    blocks: int
    bavail: int
    files: int
    favail: int
    flag: int


class _Place(NamedTuple):
    """A path of a run, as far as it exists, and its mount."""

    path: str
    mount: Mount
    holds: str
    read_only_here: bool
    run: str = ""


class PlacesOfRun(NamedTuple):
    """Where a run has its files."""

    places: Mapping[str, Iterable[str]]
    """What is stored there -> paths, as of :class:`Disks`."""
    devices: frozenset[str] = frozenset()
    """File systems (``major:minor``) on which it has files open."""


class _Volume:
    """All places with the same file system and the same quota; they give one sample."""

    def __init__(self, place: _Place, mount: str) -> None:
        self.path = place.path
        self._place = place
        self.mount = mount
        self.fstype = place.mount.fstype
        self.holds: tuple[str, ...] = ()
        self.users: dict[str, tuple[str, ...]] = {}
        """Run -> what it has there."""
        self.error = ""
        self.add(place)

    def add(self, place: _Place) -> None:
        if place.holds not in self.holds:
            self.holds = (*self.holds, place.holds)
        known = self.users.setdefault(place.run, ())
        if place.holds not in known:
            self.users[place.run] = (*known, place.holds)

    def sample(self, space: Space, now: float) -> DiskSample | None:
        """A sample; ``None`` when the file system reports no size."""
        if space.blocks <= 0 or space.frsize <= 0:
            return None
        counted = 0 < space.files < 1 << 63 and space.favail <= space.files
        return DiskSample(
            at=now,
            mount=self.mount,
            fstype=self.fstype,
            total_bytes=space.blocks * space.frsize,
            free_bytes=min(space.bavail, space.blocks) * space.frsize,
            total_inodes=space.files if counted else None,
            free_inodes=space.favail if counted else None,
            read_only=self._read_only(space.flag),
            holds=self.holds,
        )

    def _read_only(self, flag: int) -> bool:
        """Whether the mount is read-only for other processes.

        ``flag`` is that of our own mount, so it says nothing if only ours is read-only.
        """
        if self._place.read_only_here and not self._place.mount.read_only:
            return "ro" in self._place.mount.options
        return bool(flag & os.ST_RDONLY)


class _Remote:
    """A volume that is queried by a child process."""

    def __init__(self, volume: _Volume) -> None:
        self.volume = volume
        argv = (sys.executable, "-I", "-S", str(_CHILD))
        self.child = JsonWorker(argv, DEADLINE_S, walls="disk")
        self.asked: float | None = None

    def ask(self, mono: float) -> None:
        if self.child.overdue(mono) > GIVE_UP_S:
            self.child.restart()
        self.asked = mono if self.asked is None else self.asked
        self.child.ask({"path": self.volume.path}, mono)

    def take(self, now: float) -> Iterable[DiskSample]:
        for answer in self.child.answers():
            self.asked = None
            self.volume.error = str(answer.get("error") or "")
            space = _space(answer)
            sample = self.volume.sample(space, now) if space else None
            if sample:
                yield sample

    def trouble(self, mono: float) -> str:
        if self.child.overdue(mono) > 0 or (self.child.stuck_pid and self.asked is not None):
            return f"has not answered for {mono - (self.asked or mono):.0f} s"
        if not self.child.alive and self.asked is not None:
            return f"cannot be asked: {self.child.last_words or 'its child ended'}"
        return self.volume.error


class Disks(Source):
    """One :class:`DiskSample` per volume and read.

    ``places`` maps what is stored there (``checkpoints``, ``log``, ``cwd``, ``files``, ``state``,
    ``tmp``, ``shm``) to absolute paths, which need not exist; ``runs`` are the places of each run,
    by its id. ``root`` is put before every path. Two bind mounts of one file system are one volume.
    """

    name = "disk"
    every_s = 1.0

    def __init__(
        self,
        places: Mapping[str, Iterable[str]],
        clock: Clock | None = None,
        root: str = "/",
        runs: Mapping[str, PlacesOfRun] | None = None,
    ) -> None:
        self.before_read: Callable[[], None] = lambda: None
        """Called before every read: the time to :meth:`arrange` what has changed since."""
        self._unwatched: tuple[str, ...] = ()
        self._places: list[tuple[str, str, str]] = []
        self._devices: list[tuple[str, str]] = []
        self.arrange(places, runs or {})
        self._clock = clock or SystemClock()
        self._root = root.rstrip("/")
        self._volumes: list[_Volume] = []
        self._remotes: dict[str, _Remote] = {}
        self._reads = 0
        self._stale = True
        self._watch = mounted.TableWatch(f"{self._root}{mounted.TABLE}")

    def arrange(self, places: Mapping[str, Iterable[str]], runs: Mapping[str, PlacesOfRun]) -> None:
        """Watch these places from the next read on; see the class."""
        owned = {"": PlacesOfRun(places), **runs}
        self._places = [
            (run, holds, path)
            for run, of in owned.items()
            for holds, paths in of.places.items()
            for path in paths
        ]
        self._devices = [(run, device) for run, of in runs.items() for device in of.devices]
        self._stale = True

    def users(self, mount: str) -> Mapping[str, tuple[str, ...]]:
        """The runs that have files on a mount of a sample, and what; empty for any other mount."""
        volumes = (*self._volumes, *(remote.volume for remote in self._remotes.values()))
        return next((v.users for v in volumes if v.mount == mount), {})

    def fds(self) -> Iterable[int]:
        """The pipes through which the children answer."""
        return [fd for r in self._remotes.values() if (fd := r.child.fileno()) is not None]

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the answers of the child behind ``fd``; it may also have ended."""
        for remote in list(self._remotes.values()):
            if remote.child.fileno() == fd:
                return list(remote.take(now))
        return []

    def read(self, now: float) -> Iterable[Observation]:
        """Sample local volumes, and ask the children about the network ones."""
        self.before_read()
        # Something may be mounted over a local path: then that must not be asked directly.
        self._stale = self._watch.changed() or self._stale
        if self._stale or self._reads % SETTLE_EVERY == 0:
            self._settle()
        out = []
        for volume in self._volumes:
            sample = self._look(volume, now)
            if sample:
                out.append(sample)
        if self._remotes and self._reads % REMOTE_EVERY == 0:
            mono = self._clock.monotonic()
            for remote in self._remotes.values():
                remote.ask(mono)
        self._reads += 1
        return out

    def stalled(self, now: float) -> str | None:
        """Which mounts do not answer, or answer with an error."""
        mono = self._clock.monotonic()
        troubles = [(v, v.error) for v in self._volumes if v.error]
        for remote in self._remotes.values():
            trouble = remote.trouble(mono)
            if trouble:
                troubles.append((remote.volume, trouble))
        return "; ".join(f"{v.mount} ({v.fstype}): {text}" for v, text in troubles) or None

    @property
    def impaired(self) -> str:
        """A sentence about the network mounts that are not watched because there are too many."""
        if not self._unwatched:
            return ""
        others = ", ".join(self._unwatched)
        return f"not watched, because only {MOST_CHILDREN} network mounts are: {others}"

    def close(self) -> None:
        """End the children, and close the table of mounts."""
        self._watch.close()
        for remote in self._remotes.values():
            remote.child.close()
        self._remotes.clear()

    def _look(self, volume: _Volume, now: float) -> DiskSample | None:
        try:
            seen = os.statvfs(volume.path)
        except OSError as error:
            volume.error = error.strerror or str(error)
            self._stale = self._stale or error.errno in (errno.ENOENT, errno.ENOTDIR)
            return None
        volume.error = ""
        space = Space(
            seen.f_frsize, seen.f_blocks, seen.f_bavail, seen.f_files, seen.f_favail, seen.f_flag
        )
        return volume.sample(space, now)

    def _settle(self) -> None:
        """Resolve all places to their mounts again."""
        self._stale = False
        mounts = Mounts(mounted.table(f"{self._root}{mounted.TABLE}"), self._root)
        of_all = Mounts(mounted.table_of_first(self._root), self._root)
        local: dict[tuple[str, int], _Volume] = {}
        remote: dict[str, _Volume] = {}
        resolved = {path: mounts.resolve(path) for _, _, path in self._places}
        wanted = [(run, holds, *resolved[path]) for run, holds, path in self._places]
        wanted += [
            (run, "files", mount, self._root + mount.point)
            for run, device in self._devices
            if (mount := mounts.of_device(device)) is not None
        ]
        ours = {m.device for _, holds, m, _ in wanted if holds == "state" and m is not None}
        below = self._below(mounts, [(r, found) for r, h, _, found in wanted if h == "cwd"])
        wanted += [one for one in below if one[2].device not in ours]
        for run, holds, mount, found in wanted:
            if mount is None:
                continue
            theirs = of_all.of(found.removeprefix(self._root) or "/")
            same = theirs if theirs is not None and theirs.device == mount.device else mount
            place = _Place(found, same, holds, mount.read_only, run)
            mount = same
            if not is_local(mount.fstype):
                _merge(remote, mount.device, place, mount.point)
            else:
                self._settle_local(local, place)
        self._volumes = list(local.values())
        self._settle_remotes(remote)

    def _below(
        self, mounts: Mounts, homes: Iterable[tuple[str, str]]
    ) -> list[tuple[str, str, Mount, str]]:
        """What is mounted below the working directory of one run alone: scratch space and caches,
        whose files are often open for a moment only. (run, what it holds, mount, path)"""
        users: dict[str, list[tuple[str, Mount]]] = {}
        for run, found in homes:
            home = found.removeprefix(self._root)
            for mount in mounts.below(home) if home.count("/") >= HOME_DEPTH else ():
                if is_local(mount.fstype):
                    users.setdefault(mount.point, []).append((run, mount))
        alone = [of[0] for of in users.values() if len({run for run, _ in of}) == 1]
        return [(run, "cwd", m, self._root + m.point) for run, m in alone[:MOST_BELOW]]

    def _settle_local(self, local: dict[tuple[str, int], _Volume], place: _Place) -> None:
        """Add a place to its volume: one per device, and one more per directory with a quota."""
        name, blocks = place.mount.point, 0
        if place.mount.fstype in _PROJECT_QUOTAS:
            try:
                blocks = os.statvfs(place.path).f_blocks
                if blocks != os.statvfs(self._root + name).f_blocks:
                    name = place.path.removeprefix(self._root)
            except OSError:  # the next read reports what is wrong with it
                blocks = -1
        _merge(local, (place.mount.device, blocks), place, name)

    def _settle_remotes(self, wanted: dict[str, _Volume]) -> None:
        """Keep the children of mounts that still exist, end others, start new ones."""
        names = sorted(wanted)
        self._unwatched = tuple(wanted[name].mount for name in names[MOST_CHILDREN:])
        names = names[:MOST_CHILDREN]
        for name in self._remotes.keys() - set(names):
            self._remotes.pop(name).child.close()
        for name in names:
            remote = self._remotes.get(name)
            if remote is None:
                self._remotes[name] = _Remote(wanted[name])
            else:
                wanted[name].error = remote.volume.error
                remote.volume = wanted[name]


def _merge(volumes: dict[Any, _Volume], key: object, place: _Place, name: str) -> None:
    if key in volumes:
        volumes[key].add(place)
    else:
        volumes[key] = _Volume(place, name)


def _space(answer: Mapping[str, Any]) -> Space | None:
    values = [answer.get(field) for field in Space._fields]
    numbers = [value for value in values if isinstance(value, int) and value >= 0]
    return Space(*numbers) if len(numbers) == len(values) else None
