"""The contents of a run's saves, to find one that lacks what earlier ones of its kind had.

The earlier saves of the same kind are its siblings.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

from ..accumulator import Accumulator
from ..observations import CheckpointSeen, Observation, ProcessesSeen

KINDS = 16
"""Kinds of saves remembered: a trainer writes two or three."""
KEPT = 8
"""Newest saves remembered of a kind, deleted or not."""
COMPARED = 4
"""Newest whole siblings with which a save is compared, at most; :data:`FEWEST` are enough."""
FEWEST = 2
"""Siblings needed for a comparison: a single one could itself be incomplete."""
SIZE_DROP = 0.1
"""A save is too small if it is smaller than the smallest sibling by this part of that size. Saves
of one program differ by some bytes of counters, compressed ones by a few percent; optimizer state
is a half to two thirds of a save, and a narrower numeric type halves it."""
SIZE_SPREADS = 2.0
"""It must also be smaller by so many times the size range of its siblings, for saves that vary."""

LOOKED_AT = 32
"""Newest good saves among which one of the same kind is searched."""

_NUMBER = re.compile(r"\d+")
_TIMES = "×"


def kind_of(seen: CheckpointSeen) -> str:
    """The kind of a save: its format, and its path with all numbers replaced by ``#``.

    Saves with other contents (a ``best.pt`` of weights only, an adapter, an export) have other
    names, so are of another kind.
    """
    return f"{seen.format}:{_NUMBER.sub('#', seen.path)}"


def is_newest(seen: CheckpointSeen, newest_first: Sequence[CheckpointSeen]) -> bool:
    """True when a resume would use this save.

    A later save is used instead if it is of the same kind, or not smaller. So the best weights, an
    adapter or an export that is written right after a save does not replace it.
    """
    for other in newest_first:
        if other is seen:
            return True
        if other.state != "pending" and (
            other.bytes >= seen.bytes or kind_of(other) == kind_of(seen)
        ):
            return False
    return True


def last_good(
    seen: CheckpointSeen, newest_first: Iterable[CheckpointSeen]
) -> CheckpointSeen | None:
    """The newest good save of the same kind, else of any kind; ``None`` without one."""
    good = list(islice((c for c in newest_first if c.state == "ok"), LOOKED_AT))
    kind = kind_of(seen)
    return next((c for c in good if kind_of(c) == kind), good[0] if good else None)


@dataclass(frozen=True, slots=True)
class WholeSave:
    """One save that was whole when it was verified."""

    saved_at: float
    path: str
    bytes: int
    files: int
    parts: Mapping[str, int]
    """Pattern of a part -> number of such parts."""
    ranks: int = 0
    """Number of processes of the run on this box that had a rank then; 0 when unknown."""
    SAVED: ClassVar[Any] = ("saved_at", "path", "bytes", "files", "parts", "ranks")

    def __lt__(self, other: WholeSave) -> bool:
        return (self.saved_at, self.path) < (other.saved_at, other.path)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A save that has less than its siblings."""

    made: WholeSave
    siblings: tuple[WholeSave, ...]
    """The earlier saves that it was compared with, oldest first."""
    missing: tuple[tuple[str, int, int], ...]
    """(part, number in this save, number in the siblings); those that are 0 here come first."""
    smaller: bool
    """True when the save is also much smaller."""


@dataclass(eq=False)
class Siblings(Accumulator):
    """The newest saves of every kind."""

    takes: ClassVar[tuple[type, ...]] = (CheckpointSeen, ProcessesSeen)
    SAVED: ClassVar[Any] = "_kinds"
    _kinds: dict[str, list[WholeSave]] = field(default_factory=dict)
    _shrunk: set[str] = field(default_factory=set)
    """Kinds that have a shrunk save, of this run or an earlier one."""
    _look: ProcessesSeen | None = None

    @property
    def quiet(self) -> bool:
        """True while no save lacks what its siblings have."""
        return not self._shrunk

    def add(self, seen: Observation) -> None:
        """Take in a whole save. (One that is not whole is another trouble.)"""
        if isinstance(seen, ProcessesSeen):
            self._look = seen
            return
        if not isinstance(seen, CheckpointSeen) or seen.state == "pending" or not seen.files:
            return
        kind = kind_of(seen)
        known = self._kinds.get(kind, [])
        same = [m for m in known if (m.path, m.saved_at) == (seen.path, seen.saved_at)]
        for old in same:
            known.remove(old)
        if seen.state in ("ok", "unverifiable"):
            ranks = same[0].ranks if same else self._ranks()
            parts = counted(seen.parts)
            made = WholeSave(seen.saved_at, seen.path, seen.bytes, seen.files, parts, ranks)
            if kind not in self._kinds:
                self._make_room()
                known = self._kinds[kind] = []
            insort(known, made)
            del known[:-KEPT]
        self._judge(kind)

    def shrunk(self, since: float) -> list[Shrunk]:
        """The shrunk saves among those made since a time (epoch seconds)."""
        return [
            one
            for kind in sorted(self._shrunk)
            for one in compared([m for m in self._kinds[kind] if m.saved_at >= since])
        ]

    def _ranks(self) -> int:
        look = self._look
        return 0 if look is None else sum(p.rank is not None for p in look.processes)

    def _make_room(self) -> None:
        if len(self._kinds) >= KINDS:
            stale = min(self._kinds, key=lambda kind: self._kinds[kind][-1:] or [_NEVER])
            del self._kinds[stale]
            self._shrunk.discard(stale)

    def _judge(self, kind: str) -> None:
        if compared(self._kinds.get(kind, ())):
            self._shrunk.add(kind)
        else:
            self._shrunk.discard(kind)

    def restored(self) -> None:
        """Compare the stored saves again."""
        for kind in self._kinds:
            self._judge(kind)


_NEVER = WholeSave(0.0, "", 0, 0, {})


def counted(parts: Iterable[str]) -> dict[str, int]:
    """Pattern -> number, from texts like ``rng_state_#.pth×8``; other texts are left out."""
    found = {}
    for part in parts:
        name, _, many = part.rpartition(_TIMES)
        if name and many.isascii() and many.isdigit():
            found[name] = int(many)
    return found


def compared(known: Sequence[WholeSave]) -> list[Shrunk]:
    """The shrunk ones among the saves of one kind, oldest first.

    Empty when smaller and larger saves alternate: then the run saves two kinds under one name.
    """
    whole: list[WholeSave] = []
    found: list[Shrunk] = []
    turns = 0
    before = False
    for made in known:
        one = _measured(made, whole[-COMPARED:])
        if one is None:
            whole.append(made)
        else:
            found.append(one)
            turns += not before
        before = one is not None
    return found if turns < 2 else []


def _measured(made: WholeSave, siblings: Sequence[WholeSave]) -> Shrunk | None:
    if len(siblings) < FEWEST:
        return None
    missing = []
    if made.parts and all(s.parts for s in siblings):
        # With fewer ranks than before (an elastic launcher) there are fewer numbered parts.
        same_ranks = all(s.ranks == made.ranks for s in siblings)
        for name in siblings[-1].parts:
            usual = {s.parts.get(name, 0) for s in siblings}
            here = made.parts.get(name, 0)
            counts = same_ranks or here == 0 or "#" not in name
            if len(usual) == 1 and here < min(usual) and counts:
                missing.append((name, here, min(usual)))
    elif len({s.files for s in siblings}) == 1 and made.files < siblings[-1].files:
        missing.append(("files", made.files, siblings[-1].files))
    missing.sort(key=lambda one: (one[1] > 0, one[0]))
    sizes = [s.bytes for s in siblings]
    spread = max(SIZE_DROP * min(sizes), SIZE_SPREADS * (max(sizes) - min(sizes)))
    smaller = made.bytes < min(sizes) - spread
    if not missing and not smaller:
        return None
    return Shrunk(made, tuple(siblings), tuple(missing), smaller)
