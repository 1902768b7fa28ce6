"""What a run saved and what that left of its disks, also of checkpoints that are gone again."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from typing import Any, ClassVar

from ..forecast import Trend
from ..ledger import Ledger
from ..observations import CheckpointSeen, DiskSample, Observation
from .damage import written

SAVES = 48
"""Saves remembered: eight files a save still give six of them."""
MOUNTS = 8
"""Mounts remembered: a run touches three or four."""
QUIET = 0.5
"""While so much of a mount is free no forecast is made: a first save that takes less than
that leaves room for a second, and the rule of the full disk looks at the next one anyway."""

Level = tuple[int, "int | None"]
"""Free bytes and free inodes."""


class Save:
    """One checkpoint that was written, whether it is still there or not."""

    __slots__ = ("at", "began", "bytes", "files", "levels", "open", "path")

    def __init__(self, path: str, at: float, size: int, files: int) -> None:
        self.path = path
        self.at = at
        self.bytes = size
        self.files = files
        self.open = True
        """It may still be growing."""
        self.began: float | None = None
        """When it was first seen to grow; ``None`` where it was not watched."""
        self.levels: dict[str, Level] = {}
        """By mount, the most that was free between this save and the next: what the trainer
        prunes has gone by then, and temporary files have as well."""

    def __lt__(self, other: Save) -> bool:
        return self.at < other.at


class SaveLog(Ledger):
    """The newest saves by time, and minute values of the mounts that fill."""

    takes: ClassVar[tuple[type, ...]] = (CheckpointSeen, DiskSample)

    def __init__(self) -> None:
        self.saves: list[Save] = []
        self.levels: dict[str, Level] = {}
        """Since the newest save: what will be free when the next one comes."""
        self.space: dict[str, Trend] = {}
        self.inodes: dict[str, Trend] = {}
        self._low: set[str] = set()

    @property
    def quiet(self) -> bool:
        """True while half of every mount is free."""
        return not self._low

    def add(self, seen: Observation) -> None:
        """Write down a save, or what is free."""
        if isinstance(seen, DiskSample):
            self._look(seen)
        elif isinstance(seen, CheckpointSeen) and written(seen):
            self._save(seen)

    def is_low(self, mount: str) -> bool:
        """Less than half is free: a forecast is worth its while."""
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
                self.levels = {}  # it was still being written: what was free then is no level
            return
        save = Save(seen.path, seen.saved_at, seen.bytes, seen.files)
        save.open = seen.state == "pending"
        save.began = seen.at if save.open else None
        if not self.saves:
            self.levels = {}
        elif save.at >= self.saves[-1].at:
            self.saves[-1].levels, self.levels = self.levels, {}
        insort(self.saves, save)
        del self.saves[:-SAVES]

    def save(self) -> dict[str, Any]:
        """The saves, and the hour of the mounts that fill."""
        low = self._low
        return {
            "saves": [
                [s.path, s.at, s.bytes, s.files, s.open, s.levels, s.began] for s in self.saves
            ],
            "levels": self.levels,
            "space": {m: t.save() for m, t in self.space.items() if m in low},
            "inodes": {m: t.save() for m, t in self.inodes.items() if m in low},
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on; the next look at a mount says whether it is low."""
        try:
            saves = [_restored(*one) for one in saved["saves"]]
            levels = _levels(saved["levels"])
            trends = [_trends(saved[name]) for name in ("space", "inodes")]
        except (AttributeError, KeyError, TypeError, ValueError):
            return
        self.saves, self.levels = sorted(saves)[-SAVES:], levels
        self.space, self.inodes = trends


def _restored(
    path: str, at: float, size: int, files: int, open_: bool, levels: Any, began: Any = None
) -> Save:
    save = Save(str(path), float(at), int(size), int(files))
    save.open, save.levels = bool(open_), _levels(levels)
    save.began = None if began is None else float(began)
    return save


def _levels(saved: Any) -> dict[str, Level]:
    return {
        str(mount): (int(free), None if inodes is None else int(inodes))
        for mount, (free, inodes) in saved.items()
    }


def _trends(saved: Any) -> dict[str, Trend]:
    found = {}
    for mount, values in saved.items():
        trend = found[str(mount)] = Trend()
        trend.restore(values)
    return found
