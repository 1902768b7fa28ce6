"""What the run's saves look like: sizes, counts and cadence, for the rules about space."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from ..numbers import median, number, quantile
from ..observations import CheckpointSaved, CheckpointSeen, DiskSample
from ..view import View
from .damage import written
from .save_log import SaveLog

RECENT = 5
"""Saves that tell what the next one is like (the measured rule uses the last five)."""
LOOKED_AT = 12
"""Newest checkpoints looked at: three files a save ("best", "last", numbered) still give
four saves."""
ONE_SAVE = 0.1
"""Files written closer together than this part of the longest interval are one save."""
SETTLE_S = 30.0
"""Time after a save in which temporary files go."""
PRUNE_S = 300.0
"""Time in which a trainer deletes what a save replaces; on a slow volume it takes its time."""
SEEN_LATE_S = 2.0
"""Growth seen so long after the time of a save is still that save's: looks are a second apart."""
FULL_INODES = 64
"""Free inodes at which a file system counts as full (a small one: 1 % of its own)."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Saves:
    """The next save as the last ones let expect it."""

    bytes: int
    """Largest of the last five."""
    files: int
    every_s: float | None
    """Median time between saves; ``None`` before three of them."""
    longest_s: float
    """The longest time between those."""
    newest_at: float
    kept: int
    """Checkpoints on disk now, counted to twelve."""
    numbered: bool
    """The newest carries its step in its name: the next one will not overwrite it."""

    @property
    def grows(self) -> bool:
        """True when the next save comes beside the last one, not in its place."""
        return self.kept > 1 or self.numbered

    def settled(self, view: View) -> bool:
        """True when no save is under way, and what the newest replaces had time to go.

        While the next one is written under another name it takes its room already. Where
        saves follow each other quickly, the half of their interval is time enough. A lone
        save replaces none.
        """
        since = view.now - self.newest_at
        every = self.every_s or self.longest_s or None
        half = PRUNE_S if every is None else every / 2
        grew = view.saving_at
        if grew is not None and grew > self.newest_at + SEEN_LATE_S:  # that is the next one
            return not 0 <= view.now - grew < min(SETTLE_S, half)
        return since >= min(SETTLE_S if self.kept == 1 else PRUNE_S, half)

    def due_in_s(self, now: float) -> float | None:
        """Seconds until the next save; ``None`` while the cadence is unknown."""
        return None if self.every_s is None else max(0.0, self.newest_at + self.every_s - now)


def saves_on(view: View, mount: str) -> Saves | None:
    """The saves that lie on ``mount``; ``None`` before the first whole one."""
    known = _holding(view)
    if mount not in known:
        return None
    here = (c for c in reversed(view.checkpoints) if _above(c.path, known) == mount)
    return _expect(here, view.claimed_saves, _seen_at(view))


def expected(view: View) -> Saves | None:
    """The saves of the run, wherever they lie; ``None`` before the first whole one."""
    return _expect(reversed(view.checkpoints), view.claimed_saves, _seen_at(view))


def pruned(view: View) -> int:
    """How many saves of this run are gone again, as far as they were seen."""
    log = view.accumulator(SaveLog)
    if log is None:
        return 0
    here = {c.path for c in view.checkpoints}
    return sum(s.path not in here for s in log.saves if s.at >= view.run.started_at)


def prunes(view: View) -> bool:
    """True when a checkpoint of this run is gone again, or the command line says it will be."""
    keep = view.run.keep_saves
    return (keep is not None and len(view.checkpoints) >= keep) or pruned(view) > 0


def expect(
    checkpoints: Sequence[CheckpointSeen], claims: Sequence[CheckpointSaved] = ()
) -> Saves | None:
    """What the next save needs, from those that are on disk, oldest first.

    Where the trainer keeps too few of them, the cadence is that of the log's claims.
    """
    return _expect(reversed(checkpoints), claims)


def _seen_at(view: View) -> list[float]:
    """When this run saved, newest first, as far as it was watched: pruned saves as well."""
    log = view.accumulator(SaveLog)
    saves = reversed(log.saves) if log is not None else ()
    return [save.at for save in islice(saves, LOOKED_AT) if save.at >= view.run.started_at]


def _expect(
    newest_first: Iterable[CheckpointSeen],
    claims: Sequence[CheckpointSaved],
    seen_at: Sequence[float] = (),
) -> Saves | None:
    whole = (c for c in newest_first if written(c))
    newest = sorted(islice(whole, LOOKED_AT), key=lambda c: c.saved_at, reverse=True)
    if not newest:
        return None
    between = intervals(seen_at)
    if len(between) < 2:
        between = intervals(c.saved_at for c in newest)
    if len(between) < 2:
        between = intervals(c.at for c in islice(reversed(claims), LOOKED_AT))
    last = newest[0]
    return Saves(
        bytes=max(c.bytes for c in newest[:RECENT]),
        files=max(c.files for c in newest[:RECENT]),
        every_s=median(between) if len(between) >= 2 else None,
        longest_s=max(between, default=0.0),
        newest_at=last.saved_at,
        kept=len(newest),
        numbered=last.step is not None and _names(last.path, last.step),
    )


def _names(path: str, step: float) -> bool:
    """True when the last part of a path has the step as a number of its own."""
    name = path.rstrip("/").rpartition("/")[2]
    return number(step) in [digits.lstrip("0") or "0" for digits in _DIGITS.findall(name)]


def intervals(newest_first: Iterable[float]) -> list[float]:
    """Seconds between saves, newest first; files written close together are one save.

    One long pause among many intervals must not make all others look close together.
    """
    gaps = [newer - older for newer, older in pairwise(newest_first)]
    long = quantile(gaps, 0.9) if len(gaps) >= 8 else max(gaps, default=0.0)
    return [gap for gap in gaps if gap > ONE_SAVE * long] if long > 0 else []


def _holding(view: View) -> list[str]:
    """The mounts that are known to hold checkpoints, all of them if none is."""
    mounts = {s[-1].mount: "checkpoints" in s[-1].holds for s in view.disks.values() if s}
    return [mount for mount, holds in mounts.items() if holds] or list(mounts)


def _above(path: str, known: Sequence[str]) -> str:
    """The mount that checkpoints at ``path`` take their space from.

    The only one that can be meant, else the longest one above the path: a path can lead to
    another mount by a link, which its name does not tell.
    """
    if len(known) == 1:
        return known[0]
    above = (m for m in known if path == m or path.startswith(m.rstrip("/") + "/"))
    return max(above, key=len, default="")


def no_inodes(sample: DiskSample, full_inodes: int = FULL_INODES) -> bool:
    """True when no file can be created; a file system that counts none is never so."""
    if not sample.total_inodes or sample.free_inodes is None:
        return False
    return sample.free_inodes <= min(full_inodes, sample.total_inodes // 100)
