"""Are all parts of a checkpoint folder of one step?

A part tells its own step: a counter at its top, the steps of the optimizer, the turns of the scheduler. It is
compared with the same part of the saves before. A part that tells nothing is compared with itself: if it
changed from save to save, and now is what it was in the save before, perhaps nobody wrote it.

Only two things are damage: ranks that disagree on a counter, and weights that moved without the only optimizer.
All else may be meant, and is a remark: a part of the model is frozen from some epoch on, a scheduler has ended,
weights of low precision stand still at the end of the decay.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Mapping, Sequence

from ..formats import names
from ..formats.bounded_file import BoundedFile, FileTooShort
from ..formats.recognise import Part
from .roster import Beside, Save, is_state
from .verdicts import CheckFile, FileVerdict, FolderVerdict, OwnStep, check_named_file

_MOST = 64
"""Limit on the parts that are compared: ranks are alike."""
_RANK = re.compile(
    r"(?:^|[-_./])(?:rank|proc|process|worker|shard|mp|tp|pp|dp|zero|fsdp)[-_]?(?:rank)?[-_]?#",
    re.IGNORECASE,
)
"""Names of what each rank writes."""
_WEIGHTS = re.compile(r"model|net|weights|params|module|adapter", re.IGNORECASE)
"""Of the files of tensors those that say that they are the model: others may be states of something else."""
_SAMPLES = 16
_SAMPLE = 4096
_LEAST = 64
"""Bytes: a shorter file (``1.0``) may be the same by chance."""


def check(
    mine: Mapping[str, list[Part]],
    told: Mapping[str, FileVerdict],
    around: Beside,
    check_file: CheckFile,
) -> FolderVerdict:
    """``mine``: the files by pattern. ``told``: the verdicts on those that were checked, by name."""
    ranks = _ranks(mine, told)
    if ranks.state != "ok" or len(around.before) < 2:
        return ranks
    last = around.before[0]
    state = {p: parts for p, parts in sorted(mine.items()) if is_state(parts[0].base)}
    remark = ""
    for pattern, parts in [*state.items()][:_MOST]:
        part = parts[0]
        other = _same(last, part, pattern)
        if other is None or not part.bytes or part.base == "trainer_state.json":
            continue  # that one tells the step of the folder, which is compared with its name
        own_step = told[part.name].own_step if part.name in told else None
        if own_step is None and not _alike(part, other):
            continue
        if not _moved(mine, pattern, last):
            continue
        if own_step is not None and own_step == _own_step(other, check_file):
            if not _goes_on(part, pattern, around, check_file):
                continue
            said = f"{part.name} is of the step of {last.name} ({own_step.what} {own_step.at:g}): stale"
            if _only_optimizer(own_step, pattern, mine, told) and _weights_moved(mine, last):
                return FolderVerdict("corrupt", said)
            remark = remark or f"{said}, unless it is meant to stand still"
        elif own_step is None:
            older = _same(around.before[1], part, pattern)
            if older is not None and not _alike(other, older):
                said = f"{part.name} is the same as in {last.name}, and changed before"
                remark = remark or f"{said}: stale, unless it is meant to stand still"
    return FolderVerdict("ok", remark)


def _ranks(mine: Mapping[str, Sequence[Part]], told: Mapping[str, FileVerdict]) -> FolderVerdict:
    """Parts of one kind, one a rank, tell the same counter. Members of an ensemble need not."""
    for pattern, parts in mine.items():
        if not _RANK.search(pattern):
            continue
        known = [(p.name, v.own_step) for p in parts if (v := told.get(p.name)) and v.own_step]
        counters = [(name, own_step.at) for name, own_step in known if own_step.what == "counter"]
        other = next((c for c in counters if c[1] != counters[0][1]), None)
        if other is not None:
            first = counters[0]
            said = f"parts of two steps: {first[0]} is of {first[1]:g}, {other[0]} of {other[1]:g}"
            return FolderVerdict("corrupt", said)
    return FolderVerdict("ok")


def _only_optimizer(
    own_step: OwnStep,
    pattern: str,
    mine: Mapping[str, Sequence[Part]],
    told: Mapping[str, FileVerdict],
) -> bool:
    """Whether this part has the optimizer of the whole model. Where there are several, one may be frozen."""
    holders = {
        other
        for other, parts in mine.items()
        for p in parts
        if (v := told.get(p.name)) and v.own_step and v.own_step.what == "optimizer"
    }
    return own_step.what == "optimizer" and holders == {pattern} and len(mine[pattern]) == 1


def _weights_moved(mine: Mapping[str, Sequence[Part]], last: Save) -> bool:
    """Whether a file of tensors that is no companion is another one than in the save before."""
    for pattern, parts in mine.items():
        part = parts[0]
        if not names.is_weights(part.base) or names.COMPANIONS.match(part.base):
            continue
        other = _same(last, part, pattern)
        if other is not None and _WEIGHTS.search(part.base) and not _alike(part, other):
            return True
    return False


def _goes_on(part: Part, pattern: str, around: Beside, check_file: CheckFile) -> bool:
    """Whether the number of this part grew between the two saves before: a scheduler may turn once an epoch, and
    a counter may be one that its trainer never sets."""
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
    first, second = (one.path, _mark(one)), (other.path, _mark(other))
    head = _head(*first)
    return head is not None and head == _head(*second) and _equal(*first, *second)


def _mark(part: Part) -> tuple[int, ...]:
    seen = part.stat
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


@functools.lru_cache(maxsize=256)
def _head(path: str, mark: tuple[int, ...]) -> bytes | None:
    """What two of the samples say, the first and one from the middle: most files differ there already."""
    size = mark[2]
    try:
        with BoundedFile(path) as peek:
            read = peek.read_up_to(0, _SAMPLE) + peek.read_up_to(size // 2, _SAMPLE)
            return hashlib.blake2b(read, digest_size=16).digest()
    except (OSError, FileTooShort):
        return None


@functools.lru_cache(maxsize=256)
def _equal(one: str, mark: tuple[int, ...], other: str, _other_mark: tuple[int, ...]) -> bool:
    """Remembered, as the same two are asked about for every other part, and for the save after them too."""
    size = mark[2]
    try:
        with BoundedFile(one) as left, BoundedFile(other) as right:
            spots = {size * n // _SAMPLES for n in range(_SAMPLES)} | {max(0, size - _SAMPLE)}
            return all(
                left.read_up_to(s, _SAMPLE) == right.read_up_to(s, _SAMPLE) for s in sorted(spots)
            )
    except (OSError, FileTooShort):
        return False
