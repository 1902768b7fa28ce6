"""Space and inodes of every file system that a run touches.

Each place of a run (its checkpoint directory, its log, …) is resolved to the mount it lies
on without touching anything that may hang: links are followed by hand, and the walk stops at
the first directory of a network or FUSE file system. Those are asked through one child each,
so that a dead server stalls nobody but itself. All others are asked directly, at 2 µs a call.

A confined service sees every mount read-only, and some under names that only it knows. So a
mount is taken as the first process of the box has it, where that one has the same file system
at the same place.

``statvfs`` is asked of the place itself rather than of its mount point: below a directory
with a project quota (XFS, ext4) the numbers are those of the quota.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from middlewatch.sentinels.kit import DiskSample, Observation

from ..system import mounts as mounted
from ..system.clock import Clock, SystemClock
from ..system.mounts import Mount, Mounts, is_remote
from ..system.source import Source
from ..system.worker import JsonWorker

DEADLINE_S = 10.0
"""A busy NFS server may take seconds; after ten nobody can write a checkpoint there either."""
REMOTE_EVERY = 5
"""Reads between two questions to a network file system: each is a call over the network."""
SETTLE_EVERY = 60
"""Reads after which the mounts are looked at anew: something may be mounted over a place."""
GIVE_UP_S = 300.0
"""Overdue for so long, a child is replaced: its question may hang on a mount that has been
taken away and mounted again meanwhile, and would never be answered."""
MOST_CHILDREN = 8
"""Network mounts watched at most: a child is 8 MB of memory."""
_PROJECT_QUOTAS = frozenset({"ext4", "f2fs", "xfs"})
"""Where ``statvfs`` of a directory may tell the size of its quota."""
_CHILD = Path(__file__).with_name("programs") / "disk.py"


class Space(NamedTuple):
    """What ``statvfs`` tells, in its own units."""

    frsize: int
    blocks: int
    bavail: int
    files: int
    favail: int
    flag: int


class _Place(NamedTuple):
    """A path of the run, as far as it exists, and the mount it lies on."""

    path: str
    mount: Mount
    holds: str
    read_only_here: bool


class _Volume:
    """What is sampled as one: the places with the same file system and the same quota."""

    def __init__(self, place: _Place, mount: str) -> None:
        self.path = place.path
        self._place = place
        self.mount = mount
        self.fstype = place.mount.fstype
        self.holds: tuple[str, ...] = (place.holds,)
        self.error = ""

    def add(self, place: _Place) -> None:
        if place.holds not in self.holds:
            self.holds = (*self.holds, place.holds)

    def sample(self, space: Space, now: float) -> DiskSample | None:
        """``None`` when the file system tells no size at all."""
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
        """As everybody else finds it. ``flag`` tells only that when our own mount is writable."""
        if self._place.read_only_here and not self._place.mount.read_only:
            return "ro" in self._place.mount.options
        return bool(flag & os.ST_RDONLY)


class _Remote:
    """A volume that is asked through a child."""

    def __init__(self, volume: _Volume) -> None:
        self.volume = volume
        self.child = JsonWorker((sys.executable, "-I", "-S", str(_CHILD)), DEADLINE_S)
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

    ``places`` maps what lies there (``checkpoints``, ``log``, ``cwd``, ``state``, ``tmp``,
    ``shm``) to absolute paths, which need not exist. ``root`` stands before every path that
    is looked at. Two bind mounts of one file system are one volume.
    """

    name = "disk"
    every_s = 1.0

    def __init__(
        self,
        places: Mapping[str, Iterable[str]],
        clock: Clock | None = None,
        root: str = "/",
    ) -> None:
        self._unwatched: tuple[str, ...] = ()
        self._places = [(holds, path) for holds, paths in places.items() for path in paths]
        self._clock = clock or SystemClock()
        self._root = root.rstrip("/")
        self._volumes: list[_Volume] = []
        self._remotes: dict[str, _Remote] = {}
        self._reads = 0
        self._stale = True

    def fds(self) -> Iterable[int]:
        """The answers of the children."""
        return [fd for r in self._remotes.values() if (fd := r.child.fileno()) is not None]

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """A child has answered, or is gone."""
        for remote in list(self._remotes.values()):
            if remote.child.fileno() == fd:
                return list(remote.take(now))
        return []

    def read(self, now: float) -> Iterable[Observation]:
        """Sample what answers at once, and ask the rest."""
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
        """The network mounts beyond ``MOST_CHILDREN``, which nobody watches."""
        if not self._unwatched:
            return ""
        others = ", ".join(self._unwatched)
        return f"not watched, being beyond {MOST_CHILDREN} network mounts: {others}"

    def close(self) -> None:
        """End the children."""
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
        """Find out anew where the places lie."""
        self._stale = False
        mounts = Mounts(mounted.table(f"{self._root}{mounted.TABLE}"), self._root)
        of_all = Mounts(mounted.table_of_first(self._root), self._root)
        local: dict[tuple[str, int], _Volume] = {}
        remote: dict[str, _Volume] = {}
        for holds, path in self._places:
            mount, found = mounts.resolve(path)
            if mount is None:
                continue
            theirs = of_all.of(found.removeprefix(self._root) or "/")
            same = theirs if theirs is not None and theirs.device == mount.device else mount
            place = _Place(found, same, holds, mount.read_only)
            mount = same
            if is_remote(mount.fstype):
                _merge(remote, mount.device, place, mount.point)
            else:
                self._settle_local(local, place)
        self._volumes = list(local.values())
        self._settle_remotes(remote)

    def _settle_local(self, local: dict[tuple[str, int], _Volume], place: _Place) -> None:
        """Bind mounts of one device are one volume, directories under a quota are another."""
        name, blocks = place.mount.point, 0
        if place.mount.fstype in _PROJECT_QUOTAS:
            try:
                blocks = os.statvfs(place.path).f_blocks
                if blocks != os.statvfs(self._root + name).f_blocks:
                    name = place.path.removeprefix(self._root)
            except OSError:  # the next look says what is wrong with it
                blocks = -1
        _merge(local, (place.mount.device, blocks), place, name)

    def _settle_remotes(self, wanted: dict[str, _Volume]) -> None:
        """Keep the children of mounts that are still there."""
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
