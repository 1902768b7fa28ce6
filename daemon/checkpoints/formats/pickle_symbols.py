"""What a pickle is made of when nothing of it is executed: names, calls, storages, tensors.

Numbers, strings, lists, dicts and tuples are themselves. A name that unpickling would import is
a :class:`Global`; what it would call is an :class:`Opaque`, apart from the few functions that
``calls`` knows; a :class:`Tensor` says where in which storage its numbers lie.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class TooLong(Exception):
    """Something that may be whole, and that is too long or too deep to follow here."""


@dataclass(eq=False, slots=True)
class Global:
    """A name that unpickling would import: ``torch._utils._rebuild_tensor_v2``."""

    name: str


@dataclass(eq=False, slots=True)
class Blob:
    """Bytes that lie in the pickle itself, at ``start`` of the data it was read from."""

    start: int
    bytes: int


@dataclass(eq=False, slots=True)
class Opaque:
    """Something that unpickling would make by a call: what was called, and with what."""

    made_by: str
    args: object = ()
    state: object = None
    items: list[object] | dict[object, object] | None = None


@dataclass(eq=False, slots=True)
class Storage:
    """A row of numbers outside the pickle."""

    key: str
    dtype: str | None
    """``None`` for a class that is not known."""
    shift: int = 0
    """Bytes of the storage ``key`` before this one begins (legacy views)."""


class Runs(NamedTuple):
    """The parts of a view with gaps: a column of a matrix, every other row."""

    bytes: int
    """Length of each part."""
    outer: tuple[tuple[int, int], ...]
    """(how often, after how many bytes) it comes again, outermost first."""

    def starts(self) -> Iterator[int]:
        """Offsets of the parts behind the beginning of the view."""
        counts = (range(0, count * step, step) for count, step in self.outer)
        return (sum(at) for at in itertools.product(*counts))

    def __len__(self) -> int:
        return math.prod(count for count, _ in self.outer)


@dataclass(eq=False, slots=True)
class Tensor:
    """A view of a storage, or of bytes in the pickle."""

    place: str | Blob
    """Key of its storage, or where in the pickle it lies."""
    dtype: str | None
    start: int = 0
    """Offset of its first byte in its place."""
    bytes: int = 0
    """What it reaches over, from the first byte of the first element to the last of the last."""
    scalar: bool = False
    runs: Runs | None = None
    """Where its numbers lie when others lie between them; ``None``: all that it reaches over."""
    shown: int | None = None
    """Bytes of the numbers that it shows; ``None``: of those it reaches over, each once."""


@dataclass(slots=True)
class Pickle:
    """One pickle, followed to its end."""

    root: object
    """Lists, dicts, tuples, numbers, strings and the classes above."""
    end: int
    """Offset just behind its STOP."""
    storages: dict[str, int | None]
    """Bytes of everything that it wants from outside, by key; ``None``: of a class not known."""
    globals: tuple[str, ...] = ()
    """The names that unpickling would import."""
