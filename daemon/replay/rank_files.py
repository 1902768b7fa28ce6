"""By the names of log files: the rank of each, and which are parts of one rotated log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

_PACKED = re.compile(r"\.(?:gz|xz|zst|zstd|bz2)$")
_NUMBER = re.compile(r"^(?P<base>.+)\.(?P<age>\d{1,3})$")
_DATED = re.compile(
    r"^(?P<base>.+?)[.-](?P<date>(?:19|20)\d\d-?[01]\d-?[0-3]\d(?:[-_T.]?\d\d(?:[-:_]?\d\d){0,2})?)(?P<ext>\.\w+)?$"
)
_RANK = re.compile(
    r"(?<![A-Za-z])(?:(?:global|world|log|train|trainer|stdout|stderr|out|err)[_.-]?)?"
    r"(?:rank|worker|proc|process|gpu|device|card|npu|tpu|dp_?rank)[_.=-]?(\d{1,5})(?!\d)",
    re.IGNORECASE,
)
_STREAM = re.compile(r"^(?:stdout|stderr|std|output|out|err|train|log)(?:\.(?:log|txt|out|err))?$")
_NODE = re.compile(
    r"(?<![A-Za-z])(?:node|host|machine|pod)[_.-]?(?:rank[_.-]?)?(\d{1,5})(?!\d)", re.IGNORECASE
)
_ATTEMPT = re.compile(
    r"(?<![A-Za-z])(?:attempt|restart|retry|try)[_.-]?(\d{1,4})(?!\d)", re.IGNORECASE
)
_NOT_A_RANK = re.compile(
    r"(?:attempt|restart|retry|try|part|run|trial|job|jobid|seed|fold|epoch|step|exp|experiment|version"
    r"|v|array|task|id|slurm-?(?:\d+_)?|node|host|machine|pod|iter|stage|phase)[_.-]?$",
    re.IGNORECASE,
)
"""Words before a number that is not a rank."""


@dataclass(frozen=True, slots=True)
class RankFiles:
    """One stream of lines: a file, or the parts of a rotated one, oldest first."""

    parts: tuple[str, ...]
    rank: int | None = None
    order: int = 0
    """Place among the streams of a run: the rank, else the node. The lowest has the metrics."""
    attempt: int = 0
    """Number of the attempt, where the launcher has a folder for each (torchrun ``attempt_1``)."""

    @property
    def name(self) -> str:
        """Path of the newest part."""
        return self.parts[-1]


def group_by_rank(names: Sequence[str]) -> list[RankFiles]:
    """The streams of the files of one run, ordered by attempt and rank."""
    streams = _streams(names)
    counted = _counted([parts[-1] for parts in streams])
    found = []
    for place, parts in enumerate(streams):
        name = parts[-1]
        rank = rank_of(name)
        if rank is None:
            rank = counted.get(name)
        node = _last(_NODE, name)
        order = rank if rank is not None else node if node is not None else 0
        found.append((place, RankFiles(parts, rank, order, _last(_ATTEMPT, name) or 0)))
    found.sort(key=lambda each: (each[1].attempt, each[1].order, each[0]))
    return [files for _, files in found]


def rank_of(name: str) -> int | None:
    """The rank that a path names: ``rank0.log``, ``worker-2.out``, ``attempt_0/3/stderr.log``.

    ``None`` if it names none: ``slurm-123_4.out`` is a task of a job array, a run of its own.
    """
    rank = _last(_RANK, name)
    if rank is not None:
        return rank
    path = PurePath(_without_rotation(name))
    if path.parent.name.isdecimal() and len(path.parent.name) <= 5 and _STREAM.match(path.name):
        return int(path.parent.name)
    return None


def _last(pattern: re.Pattern[str], name: str) -> int | None:
    """The number that ``pattern`` finds in the last folder (or the file) that has one."""
    for piece in reversed(PurePath(name).parts):
        found = pattern.findall(piece)
        if found:
            return int(found[-1])
    return None


def _counted(names: Sequence[str]) -> dict[str, int]:
    """Ranks of files whose names differ only in one number that counts 0, 1, 2, …"""
    split = [re.split(r"(\d+)", name) for name in names]
    if len(names) < 2 or len({len(pieces) for pieces in split}) != 1:
        return {}
    differing = [i for i, pieces in enumerate(zip(*split, strict=True)) if len(set(pieces)) > 1]
    if len(differing) != 1 or not differing[0] % 2:
        return {}
    (place,) = differing
    before = "".join(split[0][:place])
    numbers = [int(pieces[place]) for pieces in split]
    if sorted(numbers) != list(range(len(names))) or _NOT_A_RANK.search(before):
        return {}
    return dict(zip(names, numbers, strict=True))


# ------------------------------------------------------------------------ rotation


def _streams(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Group the parts of each rotated log, the oldest part first."""
    groups: dict[str, list[tuple[tuple[int, float, str], str]]] = {}
    for name in dict.fromkeys(names):
        base, age = _rotation(name)
        groups.setdefault(base, []).append((age, name))
    known = {_PACKED.sub("", name) for name in names}
    found = []
    for base, members in groups.items():
        # A number alone proves nothing: `out.0` and `out.1` are ranks, unless `out` is there too.
        zero = any(name.endswith(".0") for _, name in members)
        if len(members) > 1 and (base in known or (_is_log(base) and not zero)):
            found.append(tuple(name for _, name in sorted(members)))
        else:
            found += [(name,) for _, name in members]
    return found


def _is_log(base: str) -> bool:
    return base.endswith((".log", ".txt", ".out", ".err", ".jsonl"))


def _rotation(name: str) -> tuple[str, tuple[int, float, str]]:
    """(name of the log that is written now, key that sorts its parts by age)."""
    bare = _PACKED.sub("", name)
    match = _NUMBER.match(bare)
    if match:
        return match["base"], (0, -int(match["age"]), "")  # app.log.2 is older than app.log.1
    match = _DATED.match(bare)
    if match:
        digits = re.sub(r"\D", "", match["date"])
        return match["base"] + (match["ext"] or ""), (0, 0.0, digits)
    return bare, (1, 0.0, "")


def _without_rotation(name: str) -> str:
    return _rotation(name)[0]
