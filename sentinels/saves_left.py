"""A disk will be too full for the saves that are still to come.

Decides: How much space each save uses for good is read from the free space after the last two
    saves, which includes what the trainer deletes: a trainer that keeps two checkpoints gives no
    finding, one that deletes nothing gives one at its fourth save: before, it may be about to keep three. What goes beyond the size of the
    saves that were kept is not theirs. Reported when only two more saves fit; hours earlier if
    every save used more space; or when something else fills the disk: a trouble of the box. Bytes
    and inodes are judged in the same way; no finding while half of the disk is free.
Classes: saves_left
Sources: A save under a temporary name needs space for the old and the new one at once, so the peak
    is one save more than is kept. On 200 synthetic traces this found every second save that would
    not fit 45 minutes ahead, where a fixed 90 % rule was too late. Four hours is the range of the
    usual linear forecast in node monitoring.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from .kit import CheckpointSeen, DiskSample, Evidence, Finding, Sentinel, Severity, View
from .kit.forecast import REACH, Trend, clock
from .kit.numbers import median, size, span
from .kit.recovery import OpenIncident
from .kit.saves.pattern import Saves, intervals, pruned, prunes, saves_on
from .kit.saves.save_log import SaveLog


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.saves_left]`."""

    saves: int = 2
    """Reported when at most this many saves still fit."""
    ahead_s: float = 14400.0
    """Reported when a save will not fit within this time, if each of the last saves used space for
    good; also when something else fills the disk within this time."""
    settled_saves: int = 4
    """Saves after which a trainer that has deleted none counts as one that never deletes. Many keep three and
    delete the first one then (our choice); a next save that does not fit is told earlier, by ``disk_full``."""
    many_saves: int = 10
    """The same for a report hours ahead: hardly any trainer keeps that many."""
    short_s: float = 900.0
    """If saves come more often than this, their part of the growth is subtracted, and the rest has
    to be the larger part: it cannot be told from theirs at single moments."""


SLACK = 1.25
"""A save takes this many times its size at most: blocks of files and folders are not full."""


TREND = 0.01
"""Part of a save that each one uses for good, from which that is a trend: files of the state that is saved grow by a few
kilobytes (our choice)."""
COMPARED = 3
"""Saves from which it is measured what other files take beside them (our choice)."""


class _Used(NamedTuple):
    """What went from a save to the next, and the part of it that the saves can have used."""

    took: int
    own: int


@dataclass(frozen=True, slots=True)
class _Left:
    """How many saves fit by one measure: bytes, or inodes."""

    unit: str
    saves: int
    need: int
    free: int
    fails_at: float | None
    """When the first one that does not fit is due."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about mounts on which only few more saves fit, or that fill up within hours."""
    log = view.accumulator(SaveLog)
    if log is None or not view.live or view.ending is not None:
        return
    for now in view.mounts:
        if not log.is_low(now.mount) or not set(now.holds) - {"state"}:
            continue
        saves = saves_on(view, now.mount)
        if saves is not None and not saves.settled(view):
            continue  # the checkpoint that the save replaces may not be deleted yet
        left = _fewest(view, limits, log, now, saves)
        if left is not None and saves is not None:
            yield _few(view, now, saves, left)
            continue
        filling = _filling(view, limits, log, now, saves)
        if filling is not None:
            yield filling


# -- counted in saves ----------------------------------------------------------------------------


def _fewest(
    view: View, limits: Limits, log: SaveLog, now: DiskSample, saves: Saves | None
) -> _Left | None:
    """Bytes or inodes, whichever allow fewer saves; ``None`` if enough saves fit."""
    if saves is None or not saves.grows:
        return None
    space, inodes = _used(view, log, now, saves)
    found = [_left(view, limits, saves, "bytes", saves.bytes, now.free_bytes, space)]
    if now.total_inodes and now.free_inodes is not None:
        found.append(_left(view, limits, saves, "inodes", saves.files, now.free_inodes, inodes))
    return min((one for one in found if one is not None), key=lambda one: one.saves, default=None)


def _used(
    view: View, log: SaveLog, now: DiskSample, saves: Saves
) -> tuple[list[_Used], list[_Used]]:
    """(bytes, inodes) that each save of this run used, but for the first, oldest first.

    What a save can have used is its size, of saves that are deleted only the part that is kept.
    """
    own = [s for s in log.saves if s.at >= view.run.watched_since and s.at <= saves.newest_at]
    reach = 0.5 * min(intervals(s.at for s in reversed(own)), default=0.0)
    kept = SLACK * _kept(view, log)
    space: list[_Used] = []
    inodes: list[_Used] = []
    before: tuple[int, int | None] | None = None
    size_, files = 0, 0
    for save, after in zip_longest(own, own[1:]):
        size_, files = size_ + save.bytes, files + save.files
        if after is None:
            level: tuple[int, int | None] | None = now.free_bytes, now.free_inodes
        elif after.at - save.at > reach:
            level = save.levels.get(now.mount)
        else:
            continue  # another file of the same save comes
        if level is None:
            continue
        if before is not None:
            space.append(_part(before[0] - level[0], kept * size_))
            if before[1] is not None and level[1] is not None:
                inodes.append(_part(before[1] - level[1], kept * files + 1))
        before, size_, files = level, 0, 0
    return space, inodes


def _part(took: int, most: float) -> _Used:
    return _Used(took, min(took, int(most)))


def _kept(view: View, log: SaveLog) -> float:
    """Part of the saves of this run that is still there; one that was written over is not."""
    seen = [s.path for s in log.saves if s.at >= view.run.started_at]
    here = {c.path for c in view.checkpoints}
    return len(here.intersection(seen)) / len(seen) if seen else 1.0


def _left(
    view: View,
    limits: Limits,
    saves: Saves,
    unit: str,
    need: int,
    free: int,
    used: list[_Used],
) -> _Left | None:
    """How many saves fit; ``None`` while that is enough, or not known yet."""
    took = [one.own for one in used]
    keep = view.run.keep_saves
    # The best checkpoint may be kept besides the last ones, so one more than ``keep`` is normal.
    here = len(view.checkpoints)
    if keep is not None and here <= keep + 1:
        grows = max(0, keep - here)
        fit = free // need if need > 0 else grows + 1
        if fit > grows:
            # The trainer keeps so many checkpoints; only space used beyond them is growth.
            gone = 0 if grows else pruned(view)
            took = took[len(took) - gone :] if 0 < gone < len(took) else took * (gone > 0)
        elif fit <= limits.saves:
            return _Left(unit, fit, need, free, _due(saves, fit))
    lately = used[-limits.many_saves :]
    if sum(one.took for one in lately) > 2 * sum(one.own for one in lately):
        return None  # most of it went to other files
    each = _each(view, limits, took)
    if each is not None and each > 0:
        need = max(need, int(each)) if not prunes(view) else need
        fit = 0 if free < need else int((free - need) // each) + 1
        if fit <= limits.saves:
            return _Left(unit, fit, need, free, _due(saves, fit))
    known = 5 if pruned(view) else limits.many_saves - 1
    steady = min(took[-known:]) if len(took) >= known else 0
    if steady > TREND * need and saves.every_s is not None:
        fit = 0 if free < need else int((free - need) // steady) + 1
        fails_at = _due(saves, fit)
        if fails_at is not None and fails_at - view.now < limits.ahead_s:
            return _Left(unit, fit, need, free, fails_at)
    return None


def _each(view: View, limits: Limits, took: list[int]) -> float | None:
    """What a save uses for good, by the last two saves; ``None`` after too few saves."""
    if len(took) < limits.settled_saves - 1:
        return None
    last = took[-2:]
    return min(last) if prunes(view) else sum(last) / len(last)


def _due(saves: Saves, fit: int) -> float | None:
    return None if saves.every_s is None else saves.newest_at + (fit + 1) * saves.every_s


def _few(view: View, now: DiskSample, saves: Saves, left: _Left) -> Finding:
    next_at = None if saves.every_s is None else max(view.now, saves.newest_at + saves.every_s)
    due = "" if next_at is None else f" at {clock(next_at, view.now)}"
    needs = f"{size(saves.bytes)} and {saves.files} files"
    free = size(left.free) if left.unit == "bytes" else f"{left.free} inodes"
    fails = ""
    if left.saves > 1 and left.fails_at is not None:
        fails = f", the first that will not fit is due at {clock(left.fails_at, view.now)}"
    more = "1 more save" if left.saves == 1 else f"{left.saves} more saves"
    where = f"{now.mount} is full after {more}" if left.saves else f"{now.mount} is full"
    keep = view.run.keep_saves
    kept = "nothing has been pruned so far"
    if keep is not None:
        kept = f"the trainer is told to keep {keep}"
    elif prunes(view):
        kept = "the trainer deletes less than it saves"
    # disk_full reports a save that does not fit; then this one only stays open as a note.
    told = left.saves == 0 and (
        now.free_bytes < saves.bytes
        or (now.free_inodes is not None and now.free_inodes < saves.files)
    )
    return Finding(
        trouble="saves_left",
        key=now.mount,
        severity=Severity.INFO if told else Severity.WARNING,
        summary=f"{where}: the next needs {needs}{due}, {free} free{fails}; {kept}",
        evidence=(
            Evidence(
                "disk",
                f"{now.mount}: {size(now.free_bytes)} of {size(now.total_bytes)} and"
                f" {_inodes(now)} free; {len(view.checkpoints)} checkpoints are there",
                now.at,
            ),
        ),
        details={
            "path": now.mount,
            "saves": left.saves,
            "unit": left.unit,
            "free": left.free,
            "next_bytes": saves.bytes,
            "next_files": saves.files,
            "fails_at": left.fails_at,
        },
    )


def _inodes(now: DiskSample) -> str:
    if not now.total_inodes or now.free_inodes is None:
        return "uncounted inodes"
    return f"{now.free_inodes} of {now.total_inodes} inodes"


# -- what grows beside the saves -----------------------------------------------------------------


def _filling(
    view: View, limits: Limits, log: SaveLog, now: DiskSample, saves: Saves | None
) -> Finding | None:
    """A mount that something else fills: logs, a cache, another program."""
    if saves is not None and saves.every_s is None:
        return None
    need, few = (saves.bytes, saves.files) if saves else (0, 0)
    every_s = saves.every_s if saves else None
    if saves is not None and every_s is not None and every_s < limits.short_s:
        space, inodes = _used(view, log, now, saves)
        found = [(_beside(space, now.free_bytes, need, limits, every_s), "bytes")]
        if now.total_inodes and now.free_inodes is not None:
            found.append((_beside(inodes, now.free_inodes, few, limits, every_s), "inodes"))
    else:
        found = [(_soon(log.space.get(now.mount), now.free_bytes, need, limits), "bytes")]
        if now.total_inodes and now.free_inodes is not None:
            trend = log.inodes.get(now.mount)
            found.append((_soon(trend, now.free_inodes, few, limits), "inodes"))
    known = [(forecast, unit) for forecast, unit in found if forecast is not None]
    if not known:
        return None
    (left_s, rate), unit = min(known)
    in_bytes = unit == "bytes"
    free = now.free_bytes if in_bytes else now.free_inodes or 0
    speed = f"{size(rate * 3600)}" if in_bytes else f"{rate * 3600:.0f} inodes"
    shown = size(free) if in_bytes else f"{free} inodes"
    at = clock(view.now + left_s, view.now)
    what = "too full for the next save" if saves else "full"
    gone = now.free_bytes <= need if in_bytes else free <= few
    return Finding(
        trouble="saves_left",
        key=now.mount,
        severity=Severity.INFO if gone else Severity.WARNING,
        summary=f"{now.mount} will be {what} at {at}, in {span(left_s)}: {shown} free, and"
        f" other files grow by {speed} an hour",
        evidence=(
            Evidence(
                "disk",
                f"{now.mount}: {size(now.free_bytes)} of {size(now.total_bytes)} and"
                f" {_inodes(now)} free (holds {', '.join(now.holds)})",
                now.at,
            ),
        ),
        details={
            "path": now.mount,
            "unit": unit,
            "free": free,
            "full_at": view.now + left_s,
            "per_hour": round(rate * 3600),
        },
        place=now.place,
    )


def _beside(
    used: list[_Used], free: int, need: int, limits: Limits, every_s: float
) -> tuple[float, float] | None:
    """(seconds until a save no longer fits, rate per second of other files); ``None``: not soon.

    By the space that was left after each of the saves, which come often: at other moments a save
    under a temporary name takes some.
    """
    if len(used) < COMPARED:
        return None
    took, own = median(one.took for one in used), median(one.own for one in used)
    if took <= 2 * max(0.0, own):
        return None
    left_s = max(0, free - need) * every_s / took
    if left_s >= min(limits.ahead_s, REACH * len(used) * every_s):
        return None
    return left_s, (took - own) / every_s


def _soon(trend: Trend | None, free: int, need: int, limits: Limits) -> tuple[float, float] | None:
    """(seconds until ``need`` no longer fits, rate per second); ``None``: not soon."""
    if trend is None:
        return None
    usual, lately = trend.fall(), trend.fall(newest=16)
    if usual is None or lately is None:
        return None
    rate = min(usual, lately)
    if rate <= 0:
        return None
    left_s = max(0, free - need) / rate
    reach = min(limits.ahead_s, REACH * trend.span_s())
    return (left_s, rate) if left_s < reach else None


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once more saves fit on the mount than are reported."""
    now = next((m for m in view.mounts if m.mount == case.key), None)
    if now is None or now.at <= case.quiet_since:
        return ""
    saves = saves_on(view, now.mount)
    need = 1 + limits.saves
    short = saves is not None and (
        now.free_bytes < need * saves.bytes
        or (now.total_inodes and (now.free_inodes or 0) < need * saves.files)
    )
    if short:
        return ""
    return (
        f"{now.mount} has {size(now.free_bytes)} of {size(now.total_bytes)} and {_inodes(now)} free"
    )


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(DiskSample, CheckpointSeen),
    clears_after_s=3600.0,
    accumulators=(SaveLog,),
    recovered=recovered,
)
