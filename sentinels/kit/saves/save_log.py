"""The saves of a run, also deleted ones, and how much space each left free on the disks."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any, ClassVar, Union

from ..accumulator import Accumulator
from ..forecast import Trend
from ..observations import CheckpointSeen, DiskSample, Observation
from .damage import written

SAVES = 48
"""Checkpoints remembered: if each save writes eight, that is six saves."""
MOUNTS = 8
"""Mounts remembered: a run uses three or four."""
QUIET = 0.5
"""While at least this part of a mount is free, no forecast is made. A first save that takes less
leaves space for a second one, and the rule ``disk_full`` checks the next save in any case."""

Level = tuple[int, Union[int, None]]
"""Free bytes and free inodes."""


@dataclass(slots=True, eq=False)
class Save:
    """One checkpoint that was written, whether it still exists or not."""

    path: str
    at: float
    bytes: int
    files: int
    open: bool
    """True while it may still be growing."""
    levels: dict[str, Level] = field(default_factory=dict)
    """Mount -> the most that was free between this save and the next, so after pruned checkpoints
    and temporary files were deleted."""
    began: float | None = None
    """When it was first seen growing; ``None`` if it was first seen complete."""
    SAVED: ClassVar[Any] = ("path", "at", "bytes", "files", "open", "levels", "began")

    def __lt__(self, other: Save) -> bool:
        return self.at < other.at


@dataclass(eq=False)
class SaveLog(Accumulator):
    """The newest saves by time, and trends of free space and inodes of the mounts."""

    takes: ClassVar[tuple[type, ...]] = (CheckpointSeen, DiskSample)
    SAVED: ClassVar[Any] = {
        "saves": "saves",
        "levels": "levels",
        "space": "low_space",
        "inodes": "low_inodes",
    }
    saves: list[Save] = field(default_factory=list)
    levels: dict[str, Level] = field(default_factory=dict)
    """Mount -> the most that was free since the newest save: what the next one will find."""
    space: dict[str, Trend] = field(default_factory=dict)
    inodes: dict[str, Trend] = field(default_factory=dict)
    _low: set[str] = field(default_factory=set)

    @property
    def quiet(self) -> bool:
        """True while at least half of every mount is free."""
        return not self._low

    def add(self, seen: Observation) -> None:
        """Take in a save, or the free space of a mount."""
        if isinstance(seen, DiskSample):
            self._look(seen)
        elif isinstance(seen, CheckpointSeen) and written(seen):
            self._save(seen)

    def is_low(self, mount: str) -> bool:
        """True when less than half is free, so that a forecast is useful."""
        return mount in self._low

    def _look(self, seen: DiskSample) -> None:
        mount, inodes = seen.mount, seen.free_inodes
        trend = self.space.get(mount)
        if trend is None:
            if len(self.space) >= MOUNTS or seen.read_only or seen.holds == ("state",):
                return
            trend = self.space[mount] = Trend()
        if trend.add(seen.at, seen.free_bytes) and inodes is not None:
            self.inodes.setdefault(mount, Trend()).add(seen.at, inodes)
        best = self.levels.get(mount)
        if best is None or seen.free_bytes > best[0] or (inodes or 0) > (best[1] or 0):
            free = seen.free_bytes if best is None else max(best[0], seen.free_bytes)
            if best is not None and inodes is not None:
                inodes = max(inodes, best[1] or 0)
            self.levels[mount] = (free, inodes)
        few = seen.total_inodes and seen.free_inodes is not None
        if seen.free_bytes < QUIET * seen.total_bytes or (
            few and (seen.free_inodes or 0) < QUIET * (seen.total_inodes or 0)
        ):
            self._low.add(mount)
        else:
            self._low.discard(mount)

    def _save(self, seen: CheckpointSeen) -> None:
        known = next((s for s in reversed(self.saves) if s.path == seen.path), None)
        if known is not None and (known.open or seen.saved_at <= known.at):
            later = seen.saved_at > known.at
            known.at, known.open = max(known.at, seen.saved_at), seen.state == "pending"
            known.bytes, known.files = seen.bytes, seen.files
            if later:
                self.saves.sort()
            if known is self.saves[-1]:
                self.levels = {}  # it was still growing: measure what is free again
            return
        growing = seen.state == "pending"
        save = Save(seen.path, seen.saved_at, seen.bytes, seen.files, growing)
        save.began = seen.at if growing else None
        if not self.saves:
            self.levels = {}
        elif save.at >= self.saves[-1].at:
            self.saves[-1].levels, self.levels = self.levels, {}
        insort(self.saves, save)
        del self.saves[:-SAVES]

    @property
    def low_space(self) -> dict[str, Trend]:
        """Trends of the mounts that are low on space; only these are stored over a restart."""
        return {mount: trend for mount, trend in self.space.items() if mount in self._low}

    @low_space.setter
    def low_space(self, trends: dict[str, Trend]) -> None:
        self.space = trends

    @property
    def low_inodes(self) -> dict[str, Trend]:
        """The trends of the inodes of these mounts."""
        return {mount: trend for mount, trend in self.inodes.items() if mount in self._low}

    @low_inodes.setter
    def low_inodes(self, trends: dict[str, Trend]) -> None:
        self.inodes = trends
