"""What a checkpoint folder should hold, learned from the saves before it.

The saves before it are the folders beside it whose names differ only in smaller numbers. What they had and
this one has not is missing, whatever trainer wrote it. A save after it that lacks the same shows that the
trainer leaves it out from then on; until there is one, the verdict is ``learned``: while the run goes on
nobody is told yet, as it may have been resumed to save less. Fewer files of the kind of which each rank writes
one are no loss where the first ranks are all there.
"""

from __future__ import annotations

import bisect
import contextlib
import contextvars
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..formats import names, recognise
from ..formats.recognise import Part
from .verdicts import FolderVerdict

_NUMBER = re.compile(r"\d+")
_NOTES = re.compile(
    r"\.(?:md|txt|log|lock|png|csv|out|py|ya?ml)$|tfevents|^\.git|^README", re.IGNORECASE
)
"""Files that a save may have or not have: they hold no state of the training."""
_STATE = (names.TENSORFLOW, ".bin", ".pkl", ".pickle", ".json", ".npz", ".h5", ".msgpack")
_MOST_FOLDERS = 20_000
_BEFORE = 2
"""Saves before this one that are looked at: what only one of two has does not count."""
_KEPT = 8
"""Saves of which :func:`together` remembers the files: the one that is checked, and those around it."""


@dataclass(frozen=True, slots=True)
class Save:
    """One save beside this one."""

    path: str
    files: tuple[Part, ...]
    by_pattern: Mapping[str, list[Part]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Beside:
    """The saves around this one: at most two before it, the nearest first, and one after it."""

    before: tuple[Save, ...] = ()
    after: Save | None = None


def beside(path: str) -> Beside:
    """The saves of the same kind as the folder ``path``. Raises nothing."""
    parent, _, name = path.rstrip("/").rpartition("/")
    numbers = _numbers(name)
    if not numbers or not parent:
        return Beside()
    try:
        there = _folders(parent, os.stat(parent).st_mtime_ns).get(_shape(name), ())
    except OSError:
        return Beside()
    place = bisect.bisect_left(there, (numbers, ""))
    earlier = there[max(0, place - _BEFORE) : place]
    after_place = bisect.bisect_right(there, numbers, key=lambda n: n[0])
    later = there[after_place] if after_place < len(there) else None
    before = [found for _, n in reversed(earlier) if (found := _save(f"{parent}/{n}")).files]
    after = _save(f"{parent}/{later[1]}") if later else None
    return Beside(tuple(before), after if after and after.files else None)


@functools.lru_cache(maxsize=8)
def _folders(parent: str, _mtime_ns: int) -> Mapping[str, Sequence[tuple[tuple[int, ...], str]]]:
    """Shape of a name -> (its numbers, name), ordered. Kept while the parent is as it was, so that a folder
    of ten thousand saves is listed once and not ten thousand times."""
    found: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    with os.scandir(parent) as entries:
        for count, entry in enumerate(entries):
            if count >= _MOST_FOLDERS:
                break
            numbers = _numbers(entry.name)
            if numbers and entry.is_dir() and not names.is_leftover(entry.name):
                found.setdefault(_shape(entry.name), []).append((numbers, entry.name))
    for several in found.values():
        several.sort()
    return found


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(digits[:18]) for digits in _NUMBER.findall(name))


def _shape(name: str) -> str:
    return _NUMBER.sub("#", name)


_listed: contextvars.ContextVar[dict[str, Save] | None] = contextvars.ContextVar(
    "_listed", default=None
)


@contextlib.contextmanager
def together() -> Iterator[None]:
    """While many saves are checked one after the other each is listed once, though it is the neighbour of three
    others. For a command, which judges all of them as they are now."""
    token = _listed.set({})
    try:
        yield
    finally:
        _listed.reset(token)


def files_of(path: str) -> list[Part]:
    """The files of the save that is checked. Raises OSError where its folder cannot be read."""
    kept = _listed.get()
    known = kept.get(path) if kept is not None else None
    return list(known.files if known is not None and known.files else recognise.parts(path))


def _save(path: str) -> Save:
    kept = _listed.get()
    if kept is None:
        return _list(path)
    if path not in kept:
        while len(kept) >= _KEPT:
            del kept[next(iter(kept))]
        kept[path] = _list(path)
    return kept[path]


def _list(path: str) -> Save:
    try:
        files = tuple(recognise.parts(path))
    except OSError:
        files = ()
    return Save(path, files, by_pattern(files))


def by_pattern(files: Iterable[Part]) -> dict[str, list[Part]]:
    """The files by their names with ``#`` for numbers; without temporary ones."""
    found: dict[str, list[Part]] = {}
    for part in files:
        pattern = _pattern(part.name)
        if pattern:
            found.setdefault(pattern, []).append(part)
    return found


@functools.lru_cache(maxsize=1024)
def _pattern(name: str) -> str:
    """Empty for a temporary one. The saves of one trainer have the same few names."""
    return "" if any(map(names.is_leftover, name.split("/"))) else _shape(name)


@functools.lru_cache(maxsize=1024)
def is_state(base: str) -> bool:
    """Whether a file holds state of the training by its name."""
    if _NOTES.search(base):
        return False
    return bool(names.is_weights(base) or names.COMPANIONS.match(base) or base.endswith(_STATE))


def missing(mine: Mapping[str, Sequence[Part]], around: Beside) -> FolderVerdict:
    """Whether a part is missing, or empty, that the saves before had. ``mine``: :func:`by_pattern` of this one.

    An empty part where others are missing is where the save was cut off; where all are there, it is damaged.
    """
    if not around.before or not mine:
        return FolderVerdict("ok")
    remark = missed = empty = ""
    last, older = around.before[0], around.before[1:]
    for pattern, parts in sorted(last.by_pattern.items()):
        base = pattern.rpartition("/")[2]
        here = mine.get(pattern, [])
        if _NOTES.search(base):
            continue
        emptied = next((p for p in here if p.bytes == 0), None)
        if emptied is not None and all(p.bytes for p in parts):
            empty = empty or f"{emptied.name} is empty, and is not in {last.name}"
            continue
        if len(here) >= len(parts) or not _required(
            pattern, len(parts), older, state=is_state(base)
        ):
            continue
        if here and (names.shard(base) or base.endswith(".distcp") or not is_state(base)):
            continue  # of how many there are, the save itself says
        if around.after is not None and len(around.after.by_pattern.get(pattern, ())) <= len(here):
            continue
        gone = _first_gone(parts, here)
        if here and _fewer_ranks(mine, last):
            remark = remark or f"{gone} is not in it, which {last.name} has: fewer ranks?"
            continue
        missed = missed or f"{gone} is missing, which {last.name} has"
    if missed:
        said = "; ".join(filter(None, (missed, empty)))
        learned = around.after is None and not empty
        return FolderVerdict("incomplete", said, ended=not empty, learned=learned)
    return FolderVerdict("corrupt", empty) if empty else FolderVerdict("ok", remark)


def _fewer_ranks(mine: Mapping[str, Sequence[Part]], last: Save) -> bool:
    """Whether a save looks like one of a run that was resumed with fewer ranks: of everything that there was one
    of for each rank, the first ones are there, and equally many of each."""
    counts = set()
    for pattern, parts in last.by_pattern.items():
        here = mine.get(pattern, ())
        if len(parts) < 2 or not here or not is_state(parts[0].base):
            continue
        by_numbers = {_numbers(p.name): p for p in parts}
        first = sorted(by_numbers)[: len(here)]
        if sorted(_numbers(p.name) for p in here) != first:
            return False  # a gap: one of them was lost
        counts.add((len(parts), len(here)))
    return len(counts) == 1


def _required(pattern: str, count: int, older: Sequence[Save], *, state: bool) -> bool:
    """Whether all saves before have as many; of a single one, only its state counts."""
    if not older:
        return state
    return all(len(save.by_pattern.get(pattern, ())) == count for save in older)


def _first_gone(parts: Sequence[Part], here: Sequence[Part]) -> str:
    there = {p.name for p in here}
    return next(
        (p.name for p in sorted(parts, key=lambda p: p.name) if p.name not in there), parts[0].name
    )
