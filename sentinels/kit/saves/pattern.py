"""Size, number and interval of a run's saves, for the rules about disk space."""

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
"""Newest saves from which the next one is estimated (the rule that was measured uses five)."""
LOOKED_AT = 12
"""Newest checkpoints examined: if each save writes three ("best", "last", numbered), that is four
saves."""
ONE_SAVE = 0.1
"""Files written closer together than this part of the longest interval are one save."""
SETTLE_S = 30.0
"""Seconds after a save within which temporary files are removed."""
PRUNE_S = 300.0
"""Seconds within which a trainer deletes what a save replaces; long, for a slow volume."""
SEEN_LATE_S = 2.0
"""Growth seen up to this many seconds after the time of a save is still of that save, as files are
examined once a second."""
LATE = 1.5
"""Of the longest interval between saves: one that has not come by then is late (our choice)."""
FULL_INODES = 64
"""Free inodes at which a file system counts as full; on a small one, 1 % of its inodes."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Saves:
    """What to expect of the next save, by the newest ones."""

    bytes: int
    """Size of the largest of the newest five."""
    files: int
    """Most files of the newest five."""
    every_s: float | None
    """Median seconds between saves; ``None`` for fewer than three saves."""
    longest_s: float
    """Longest time between saves in seconds; 0 when unknown."""
    newest_at: float
    """Time of the newest save, epoch seconds."""
    kept: int
    """Checkpoints on disk now; at most :data:`LOOKED_AT` are counted."""
    numbered: bool
    """The newest has its step in its name, so the next one will not overwrite it."""

    @property
    def grows(self) -> bool:
        """True when the next save does not replace the last one, but needs space in addition."""
        return self.kept > 1 or self.numbered

    def settled(self, view: View) -> bool:
        """True when no save is being written, and what the newest replaces has had time to go.

        While the next save is written under another name, it takes space already. If saves follow
        each other quickly, half of their interval is enough time. A single save replaces none.
        """
        since = view.now - self.newest_at
        every = self.every_s or self.longest_s or None
        half = PRUNE_S if every is None else every / 2
        grew = view.saving_at
        if grew is not None and grew > self.newest_at + SEEN_LATE_S:  # the next save
            return not 0 <= view.now - grew < min(SETTLE_S, half)
        return since >= min(SETTLE_S if self.kept == 1 else PRUNE_S, half)

    def being_written(self, view: View, now: DiskSample) -> bool:
        """True when it is the next save that takes what is gone, whatever its unfinished file is called.

        Only for a trainer that deletes older saves: there was room for the next one, no more than one save
        has gone since, and the next one is not late.
        """
        if not prunes(view) or self.late(view.now):
            return False
        log = view.accumulator(SaveLog)
        most = None if log is None else log.levels.get(now.mount)
        if most is None:
            return False
        space = 0 <= most[0] - now.free_bytes <= self.bytes <= most[0]
        if not now.total_inodes or now.free_inodes is None or most[1] is None:
            return space
        return space and most[1] - now.free_inodes <= self.files <= most[1]

    def late(self, now: float) -> bool:
        """True when the next save is later than any was; also while the interval is unknown."""
        every = max(self.every_s or 0.0, self.longest_s)
        return now > self.newest_at + LATE * every

    def due_in_s(self, now: float) -> float | None:
        """Seconds until the next save is expected; ``None`` while the interval is unknown."""
        return None if self.every_s is None else max(0.0, self.newest_at + self.every_s - now)


def saves_on(view: View, mount: str) -> Saves | None:
    """What to expect of the saves on ``mount``; ``None`` before the first whole one."""
    known = _holding(view)
    if mount not in known:
        return None
    here = (c for c in reversed(view.checkpoints) if _above(c.path, known) == mount)
    return _expect(here, view.claimed_saves, _seen_at(view))


def expected(view: View) -> Saves | None:
    """What to expect of the saves of the run, on any mount; ``None`` before the first whole one."""
    return _expect(reversed(view.checkpoints), view.claimed_saves, _seen_at(view))


def pruned(view: View) -> int:
    """How many saves of this run were seen and have been deleted since."""
    log = view.accumulator(SaveLog)
    if log is None:
        return 0
    here = {c.path for c in view.checkpoints}
    return sum(s.path not in here for s in log.saves if s.at >= view.run.started_at)


def prunes(view: View) -> bool:
    """True when the run deletes older checkpoints: one has been deleted, or the command line limits
    the number that is kept."""
    keep = view.run.keep_saves
    return (keep is not None and len(view.checkpoints) >= keep) or pruned(view) > 0


def expect(
    checkpoints: Sequence[CheckpointSeen], claims: Sequence[CheckpointSaved] = ()
) -> Saves | None:
    """What to expect of the next save, by the checkpoints on disk, oldest first.

    If there are too few of them for an interval, that is taken from the saves that the log claims.
    """
    return _expect(reversed(checkpoints), claims)


def _seen_at(view: View) -> list[float]:
    """Times of the saves of this run that were seen, newest first; also of deleted ones."""
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
    """True when one of the numbers in the last part of the path is the step."""
    name = path.rstrip("/").rpartition("/")[2]
    return number(step) in [digits.lstrip("0") or "0" for digits in _DIGITS.findall(name)]


def intervals(newest_first: Iterable[float]) -> list[float]:
    """Seconds between saves, newest first. Files written close together are one save.

    "Close" is measured by the 90 % quantile if there are eight intervals, so that one long pause
    does not make all others look close.
    """
    gaps = [newer - older for newer, older in pairwise(newest_first)]
    long = quantile(gaps, 0.9) if len(gaps) >= 8 else max(gaps, default=0.0)
    return [gap for gap in gaps if gap > ONE_SAVE * long] if long > 0 else []


def _holding(view: View) -> list[str]:
    """The mounts that are known to have checkpoints; if there is none, all mounts."""
    mounts = {s[-1].mount: "checkpoints" in s[-1].holds for s in view.disks.values() if s}
    return [mount for mount, holds in mounts.items() if holds] or list(mounts)


def _above(path: str, known: Sequence[str]) -> str:
    """The mount on which checkpoints at ``path`` take space; empty when unknown.

    If only one is known, that one, as a symbolic link in the path may lead to another mount than
    the path shows. Else the longest mount point above the path.
    """
    if len(known) == 1:
        return known[0]
    above = (m for m in known if path == m or path.startswith(m.rstrip("/") + "/"))
    return max(above, key=len, default="")


def no_inodes(sample: DiskSample, full_inodes: int = FULL_INODES) -> bool:
    """True when there are too few inodes to create files; False if inodes are not counted."""
    if not sample.total_inodes or sample.free_inodes is None:
        return False
    return sample.free_inodes <= min(full_inodes, sample.total_inodes // 100)
