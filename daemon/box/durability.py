"""Whether a path survives a stop of its box, and its destruction.

Decided by the configuration, else by the file system (memory is lost with a stop on every
platform), else by the storage tiers of the platform, else by the kind of mount; where none of these
decides, the answer is "not known". Nothing on a network file system is touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from middlewatch.sentinels.kit import CheckpointSeen, Durability

from ..system.mounts import TABLE, Mount, Mounts, TableWatch, is_remote, readable_table

if TYPE_CHECKING:
    from ..config.schema import Config
    from .platforms import Platform, Tier

UNKNOWN = Durability()
"""Nothing is known of the path."""
MOST_PATHS = 1024
"""Answers kept at most; then all are dropped and worked out again."""

_MEMORY = frozenset({"devtmpfs", "hugetlbfs", "ramfs", "tmpfs"})
_LAYERS = frozenset({"aufs", "fuse.fuse-overlayfs", "overlay", "overlayfs"})
_OF_THE_HOST = frozenset({"9p", "autofs", "virtiofs"})
"""A folder of the host of this virtual machine, or one that is mounted when it is used."""
# fmt: off
_STORES = (
    "blobfuse", "cosfs", "drive", "gcsfuse", "geesefs", "goofys", "google", "juicefs", "lizardfs",
    "mfs", "moosefs", "mount-s3", "mountpoint-s3", "ossfs", "rclone", "s3", "seaweedfs", "sshfs",
)
# fmt: on
"""FUSE file systems whose data lies on another machine."""
_EMPTY_DIR = "/volumes/kubernetes.io~empty-dir/"
"""Part of the source of a bind mount that Kubernetes made for an ``emptyDir`` volume."""


class PathDurability:
    """The durability of paths. Answers are kept until something is mounted or unmounted.

    ``told``: folder -> durability by the configuration. ``root``: a folder that is put before every
    path that is looked at. One file is held open: the table of mounts.
    """

    def __init__(
        self,
        platforms: Iterable[Platform] = (),
        told: Mapping[str, Durability] | None = None,
        root: str = "/",
    ) -> None:
        self.platforms = tuple(platforms)
        self._told = {_clean(folder): what for folder, what in (told or {}).items()}
        self._root = root.rstrip("/")
        self._known: dict[str, Durability] = {}
        self._mounts: Mounts | None = None
        self._turn = 0
        self._table = f"{self._root}{TABLE}"
        self._watch: TableWatch | None = None

    @classmethod
    def of_box(cls, config: Config, root: str = "/") -> PathDurability:
        """For this box: with the platforms recognised here, and what the configuration says."""
        from .platforms import recognise  # here: reads a file of facts

        return cls(recognise(root, name=config.platform.name), declared_durability(config), root)

    def of(self, path: str) -> Durability:
        """The durability of ``path``, which is absolute and need not exist. Never raises."""
        self.turn()
        known = self._known.get(path)
        if known is None:
            if len(self._known) >= MOST_PATHS:
                self._known.clear()
            known = self._known[path] = self._look(path)
        return known

    def turn(self) -> int:
        """A number that changes when mounts changed: answers from before may be out of date."""
        if self._mounts is None:
            self._watch = TableWatch(self._table)
        if self._mounts is None or (self._watch is not None and self._watch.changed()):
            self._mounts = Mounts(readable_table(self._table), self._root)
            self._known.clear()
            self._turn += 1
        return self._turn

    def close(self) -> None:
        """Close the table of mounts. Safe to call twice."""
        if self._watch is not None:
            self._watch.close()

    def _look(self, path: str) -> Durability:
        if self._mounts is None or path.startswith("/proc/"):
            return UNKNOWN  # /proc/PID/root: the mounts of another container
        mount, found, rest = self._mounts.walk(path)
        found = found.removeprefix(self._root).rstrip("/") + rest or "/"
        for one in (found, _clean(path)):
            if (folder := _nearest(one, self._told)) is not None:
                return self._told[folder]
        if mount is None:
            return UNKNOWN
        if mount.fstype in _MEMORY:
            where = f"memory ({mount.fstype} {mount.point})"
            return Durability(False, False, where, self._better())
        return self._by_tier(mount, found) or self._by_kind(mount)

    def _by_tier(self, mount: Mount, path: str) -> Durability | None:
        """By the tiers of the platforms; one that names a path before one for a kind of mount."""
        kinds = tuple(_kinds(mount))
        layer = "@layer" in kinds  # a container's: not on the root volume of a cloud machine
        best: tuple[tuple[bool, int, bool, int], Platform, Tier] | None = None
        for place, platform in enumerate(self.platforms):
            for number, tier in enumerate(platform.tiers):
                named = _covers(tier, mount, path) and not (layer and platform.role == "cloud")
                if not named and tier.path not in kinds:
                    continue
                # Of the same path: a mount before a folder, then the first platform, its last tier.
                depth = len(tier.path.rstrip("/")) if named else 0
                rank = (named, depth, not tier.folder, number - 1000 * place)
                if best is None or rank > best[0]:
                    best = (rank, platform, tier)
        if best is None:
            return None
        _, platform, tier = best
        lasting = tier.stop is True and tier.destroy is True
        where = f"{tier.where} ({platform.name}, {mount.point})"
        return Durability(tier.stop, tier.destroy, where, "" if lasting else platform.better)

    def _by_kind(self, mount: Mount) -> Durability:
        fstype, at = mount.fstype, f"{mount.fstype} {mount.point}"
        if fstype in _LAYERS:
            return Durability(None, False, f"container layer ({at})", self._better())
        if fstype in _OF_THE_HOST:
            return Durability(None, None, f"a folder of the host ({at})")
        if _is_network(fstype):
            return Durability(True, True, f"network ({at})")
        if is_remote(fstype):
            return Durability(None, None, f"unknown ({at})")
        if self._contained() and mount.point != "/":
            return Durability(None, None, f"a volume from outside the container ({at})")
        return Durability(None, None, f"local disk ({at})")

    def _contained(self) -> bool:
        return any(p.role == "container" for p in self.platforms)

    def _better(self) -> str:
        return self.platforms[0].better if self.platforms else ""


class MarkDurability:
    """Adds their durability to the checkpoints of one run."""

    def __init__(self, places: PathDurability) -> None:
        self._places = places
        self._turn = 0
        self._known: list[CheckpointSeen] = []
        self._marked: list[CheckpointSeen] = []

    def __call__(self, known: list[CheckpointSeen]) -> list[CheckpointSeen]:
        """``known`` with durabilities: the same object until ``known`` or the mounts change."""
        turn = self._places.turn()
        if turn != self._turn or known != self._known:
            before = dict(zip(map(id, self._known), self._marked, strict=True))
            if turn != self._turn:
                before.clear()
            self._turn, self._known = turn, known
            self._marked = [before.get(id(c)) or self._mark(c) for c in known]
        return self._marked

    def _mark(self, seen: CheckpointSeen) -> CheckpointSeen:
        return replace(seen, durability=self._places.of(seen.path))


def declared_durability(config: Config) -> dict[str, Durability]:
    """Folder -> its durability by ``[platform]`` in the configuration."""
    where, platform = "as configured", config.platform
    found = {folder: Durability(False, False, where) for folder in platform.dies_with_stop}
    found |= {folder: Durability(True, False, where) for folder in platform.survives_stop}
    return found | {folder: Durability(True, True, where) for folder in platform.survives_destroy}


def _covers(tier: Tier, mount: Mount, path: str) -> bool:
    """True when a tier names the place of ``path``: its mount point, or for a folder tier a folder
    above it that is not a network mount."""
    if tier.folder:
        above = path == tier.path or path.startswith(f"{tier.path}/")
        return above and not _is_network(mount.fstype)
    if mount.point == tier.path:
        return True
    return tier.below and mount.point.startswith(f"{tier.path}/")


def _kinds(mount: Mount) -> Iterator[str]:
    """The kinds of a mount as tiers write them: ``@layer``, ``@network``."""
    if mount.fstype in _LAYERS:
        yield "@layer"
    elif _EMPTY_DIR in mount.root:
        yield "@empty-dir"
    elif _is_network(mount.fstype):
        yield "@network"
    if mount.point != "/" and mount.fstype not in _LAYERS:
        yield "@mounted"


def _is_network(fstype: str) -> bool:
    """True when the data lies on another machine."""
    if fstype in _OF_THE_HOST:
        return False
    if fstype.startswith("fuse."):
        return fstype[5:].startswith(_STORES)
    return is_remote(fstype) and fstype not in ("fuse", "fuseblk", "fusectl")


def _nearest(path: str, folders: Iterable[str]) -> str | None:
    """The deepest of ``folders`` that is above ``path`` or the same, if any is."""
    above = (f for f in folders if path == f or path.startswith(f.rstrip("/") + "/"))
    return max(above, key=len, default=None)


def _clean(path: str) -> str:
    return os.path.normpath(os.path.expanduser(path))
