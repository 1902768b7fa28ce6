"""Lines of one shape differ only in their digits; what is known about a shape is kept.

The shape of a line has every run of digits written as a single ``0``. Where the numbers
stand, and what surrounds them, is therefore the same for all lines of a shape, and only a
shape not seen lately has to meet the grammar and the signatures. A log of half a million
metric lines has some dozens of shapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Generic, TypeVar

_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
ART = re.compile(
    rb"%\s*\|[^|\[]*\|| {3,}|[\xe2\x94\x81\xe2\x95\xb8\xe2\x95\xba]{6,}|-{4,}|={4,}|\.{4,}"
)
"""The filling of a progress bar, and what only keeps its place."""

MAX_BYTES = 256 * 1024
"""Of lines kept as keys: with what is known about them about 1 MB for a log of pure noise."""
BACKLOG_BYTES = 3 << 20
"""The same for one that reads gigabytes at once and ends."""
BYTES_PER_ENTRY = 100
"""What an entry costs besides its key."""

T = TypeVar("T")


def zeroed(text: bytes) -> bytes:
    """Every digit as ``0``: works for many lines at once, and at the speed of memory."""
    return text.translate(_ZEROS)


def shape_of(line: bytes) -> bytes:
    """The shape of a line. A bar's filling and long blanks do not count either."""
    shape = line.translate(_ZEROS)
    if b"00" in shape:
        shape = shape.replace(b"0000", b"0").replace(b"00", b"0")
        while b"00" in shape:
            shape = shape.replace(b"00", b"0")
    return ART.sub(b"%|", shape) if has_art(shape) else shape


def has_art(line: bytes) -> bool:
    """What :data:`ART` matches does not count in this line's shape."""
    return b"%" in line and b"|" in line


class ShapeCache(Generic[T]):
    """A bounded memory of lines by their shape; when it is full, the older half goes.

    ``get`` of :attr:`known` may be kept and used in a loop: the dictionary is always the same
    one. What is in constant use is forgotten once in many thousand new shapes, and learnt
    again with its next line.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.known: dict[bytes, T] = {}
        self._max_bytes = max_bytes
        self._bytes = 0

    def remember(self, shape: bytes, known: T) -> None:
        """Remember a shape."""
        if self._bytes > self._max_bytes:
            for old in list(islice(self.known, (len(self.known) + 1) // 2)):
                del self.known[old]
            self._bytes = sum(map(len, self.known)) + BYTES_PER_ENTRY * len(self.known)
        self.known[shape] = known
        self._bytes += len(shape) + BYTES_PER_ENTRY

    def forget(self, which: Callable[[T], bool]) -> None:
        """Forget some: the meaning of such lines has changed."""
        for shape in [s for s, known in self.known.items() if which(known)]:
            del self.known[shape]
            self._bytes -= len(shape) + BYTES_PER_ENTRY
