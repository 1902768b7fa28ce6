"""Are all parts of a checkpoint folder of one step?

A part tells its own step: a counter at its top, the steps of the optimizer, the turns of the scheduler. It is
compared with the same part of the saves before. A part that tells nothing is compared with itself: if it
changed from save to save, and now is what it was in the save before, nobody wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..formats.bounded_file import BoundedFile, FileTooShort
from ..formats.recognise import Part
from .roster import Beside, Save, by_pattern, is_state
from .verdicts import CheckFile, FileVerdict, FolderVerdict, OwnStep, check_named_file

_MOST = 64
"""Limit on the parts that are compared: ranks are alike."""
_SAMPLES = 16
_SAMPLE = 4096
_LEAST = 64
"""Bytes: a shorter file (``1.0``) may be the same by chance."""


def check(
    files: Sequence[Part], told: Mapping[str, FileVerdict], around: Beside, check_file: CheckFile
) -> FolderVerdict:
    """``told``: the verdicts on the files that were checked, by name."""
    ranks = _ranks(files, told)
    if ranks.state != "ok":
        return ranks
    mine = by_pattern(files)
    looked = 0
    for pattern, parts in sorted(mine.items()):
        part = parts[0]
        if looked >= _MOST or not is_state(part.base) or not part.bytes:
            continue
        looked += 1
        own_step = told[part.name].own_step if part.name in told else None
        for save in around.before:
            other = _same(save, part, pattern)
            if other is None:
                continue
            if (
                own_step is not None
                and own_step == _own_step(other, check_file)
                and _goes_on(own_step, part, pattern, around, check_file)
                and _moved(mine, pattern, save)
            ):
                said = f"{part.name} is of the step of {save.name} ({own_step.what} {own_step.at:g}): stale"
                return FolderVerdict("corrupt", said)
        if own_step is None and len(around.before) > 1:
            pair = [_same(save, part, pattern) for save in around.before]
            changed = pair[0] and pair[1] and not _alike(pair[0], pair[1])
            if (
                changed
                and pair[0]
                and _alike(part, pair[0])
                and _moved(mine, pattern, around.before[0])
            ):
                said = f"{part.name} is the same as in {around.before[0].name}, and changed before: stale"
                return FolderVerdict("corrupt", said)
    return FolderVerdict("ok")


def _ranks(files: Sequence[Part], told: Mapping[str, FileVerdict]) -> FolderVerdict:
    """Parts of one kind, one a rank, tell the same counter."""
    for parts in by_pattern(files).values():
        known = [(p.name, v.own_step) for p in parts if (v := told.get(p.name)) and v.own_step]
        counters = [(name, own_step) for name, own_step in known if own_step.what == "counter"]
        if counters and any(own_step.at != counters[0][1].at for _, own_step in counters):
            name, own_step = next(c for c in counters if c[1].at != counters[0][1].at)
            said = f"parts of two steps: {counters[0][0]} is of {counters[0][1].at:g}, {name} of {own_step.at:g}"
            return FolderVerdict("corrupt", said)
    return FolderVerdict("ok")


def _goes_on(
    own_step: OwnStep, part: Part, pattern: str, around: Beside, check_file: CheckFile
) -> bool:
    """Whether this number grows from save to save. That of an optimizer does. A scheduler may turn once an epoch,
    and a counter may be one that its trainer never sets, so these have to have moved between the two before."""
    if own_step.what == "optimizer" and len(around.before) < 2:
        return own_step.at > 0
    known = [_same(save, part, pattern) for save in around.before]
    known_steps = [_own_step(p, check_file) for p in known if p is not None]
    return len(known_steps) > 1 and known_steps[0] != known_steps[1]


def _moved(mine: Mapping[str, list[Part]], but: str, save: Save) -> bool:
    """Whether another part has changed since that save. In a copy of a whole save nothing has."""
    for pattern, parts in mine.items():
        other = _same(save, parts[0], pattern) if pattern != but else None
        if other is None or not is_state(parts[0].base) or parts[0].base.endswith(".json"):
            continue
        if parts[0].bytes >= _LEAST and not _alike(parts[0], other):
            return True
    return False


def _same(save: Save, part: Part, pattern: str) -> Part | None:
    """The same part of another save: of the same rank."""
    there = save.by_pattern.get(pattern, [])
    return next((p for p in there if p.name == part.name), there[0] if len(there) == 1 else None)


def _own_step(part: Part, check_file: CheckFile) -> OwnStep | None:
    return check_named_file(part.path, part.name, check_file).own_step


def _alike(one: Part, other: Part) -> bool:
    """Whether two files are equal, judged by their sizes and by samples over all of them."""
    if one.bytes != other.bytes or one.bytes < _LEAST or os.path.samestat(one.stat, other.stat):
        return False
    try:
        with BoundedFile(one.path) as left, BoundedFile(other.path) as right:
            spots = {one.bytes * n // _SAMPLES for n in range(_SAMPLES)} | {
                max(0, one.bytes - _SAMPLE)
            }
            return all(
                left.read_up_to(s, _SAMPLE) == right.read_up_to(s, _SAMPLE) for s in sorted(spots)
            )
    except (OSError, FileTooShort):
        return False
