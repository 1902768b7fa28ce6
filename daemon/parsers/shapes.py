"""Lines of one shape differ only in their digits; what is known about a shape is kept.

The shape of a line has every run of digits written as a single ``0``. Where the numbers
stand, and what surrounds them, is therefore the same for all lines of a shape, and only a
shape not seen lately has to meet the grammar and the signatures. A log of half a million
metric lines has some dozens of shapes.
"""

from __future__ import annotations

import re
from typing import Generic, TypeVar

_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_ART = re.compile(
    rb"%\s*\|[^|\[]*\|| {3,}|[\xe2\x94\x81\xe2\x95\xb8\xe2\x95\xba]{6,}|-{4,}|={4,}|\.{4,}"
)

MAX_SHAPES = 512
MAX_SHAPE_BYTES = 128 * 1024
"""Per generation, of two: an upper bound of about 1 MB for a log of pure noise."""

T = TypeVar("T")


def shape_of(piece: bytes) -> bytes:
    """The shape of a line. A bar's filling and long blanks do not count either."""
    shape = piece.translate(_ZEROS)
    if b"00" in shape:
        shape = shape.replace(b"0000", b"0").replace(b"00", b"0")
        while b"00" in shape:
            shape = shape.replace(b"00", b"0")
    if b"%" in shape and b"|" in shape:
        shape = _ART.sub(b"%|", shape)
    return shape


class ShapeCache(Generic[T]):
    """A bounded memory of shapes: two generations, the older one is forgotten whole."""

    def __init__(self) -> None:
        self._old: dict[bytes, T] = {}
        self._begin()

    def _begin(self) -> None:
        self._young: dict[bytes, T] = {}
        self._bytes = 0
        self.get = self._young.get
        """Fast look-up of recent shapes; on a miss ask :meth:`older`."""

    def older(self, shape: bytes, missing: T) -> T:
        """A shape not seen lately, taken up again; ``missing`` when it is unknown."""
        known = self._old.get(shape, missing)
        if known is not missing:
            self.put(shape, known)
        return known

    def put(self, shape: bytes, known: T) -> None:
        """Remember a shape."""
        if len(self._young) >= MAX_SHAPES or self._bytes > MAX_SHAPE_BYTES:
            self._old = self._young
            self._begin()
        self._young[shape] = known
        self._bytes += len(shape)

    def clear(self) -> None:
        """Forget everything: the meaning of lines has changed."""
        self._old = {}
        self._begin()
