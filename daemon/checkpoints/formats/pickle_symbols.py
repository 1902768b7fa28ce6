"""Symbols for what a pickle would build, if it were executed: names, calls, storages, tensors.

Numbers, strings, lists, dicts and tuples stand for themselves. A name that unpickling would import
is a :class:`Global`. The result of a call is an :class:`Opaque`, except for the few functions that
:mod:`.pickle_calls` knows. A :class:`Tensor` says where in which storage its elements lie.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class TooLong(Exception):
    """Something is too long or too deep to be read here; it may be whole."""


@dataclass(eq=False, slots=True)
class Global:
    """A name that unpickling would import: ``torch._utils._rebuild_tensor_v2``."""

    name: str


@dataclass(eq=False, slots=True)
class Blob:
    """Bytes that lie in the pickle itself, from offset ``start`` of the data it was read from."""

    start: int
    bytes: int


@dataclass(eq=False, slots=True)
class Opaque:
    """The result of a call that unpickling would make: the function and its arguments."""

    made_by: str
    args: object = ()
    state: object = None
    items: list[object] | dict[object, object] | None = None


@dataclass(eq=False, slots=True)
class Storage:
    """A storage of torch: an array of numbers outside the pickle."""

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
    """(count, stride in bytes) of each dimension over which it repeats, outermost first."""

    def starts(self) -> Iterator[int]:
        """Offsets of the parts from the beginning of the view."""
        counts = (range(0, count * step, step) for count, step in self.outer)
        return (sum(at) for at in itertools.product(*counts))

    def __len__(self) -> int:
        return math.prod(count for count, _ in self.outer)


@dataclass(eq=False, slots=True)
class Tensor:
    """A view of a storage, or of bytes in the pickle."""

    place: str | Blob
    """Key of its storage, or the bytes in the pickle."""
    dtype: str | None
    start: int = 0
    """Offset of its first byte in that storage, or in those bytes."""
    bytes: int = 0
    """Length of its span, from the first byte of its first element to the end of its last."""
    scalar: bool = False
    runs: Runs | None = None
    """Where its elements lie if the span has gaps; ``None``: they fill the span."""
    shown: int | None = None
    """Bytes of all its elements, where that is not the length of its span; else ``None``."""


@dataclass(slots=True)
class Pickle:
    """One pickle, followed to its end."""

    root: object
    """Lists, dicts, tuples, numbers, strings and the classes above."""
    end: int
    """Offset after its STOP."""
    storages: dict[str, int | None]
    """Key -> bytes of each storage that it needs; ``None`` for a class that is not known."""
    globals: tuple[str, ...] = ()
    """The names that unpickling would import."""
