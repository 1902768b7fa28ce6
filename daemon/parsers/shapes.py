"""Lines of one shape differ only in their digits; what is known about a shape is kept.

The shape of a line is its text with a single ``0`` for every run of digits. All lines of a shape
have the same text around their numbers, so the grammar and the signatures are tried only on shapes
that were not seen lately. A log of half a million metric lines has some dozens of shapes.
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
"""The filling of a progress bar, and runs of blanks or lines that only fill space."""

MAX_BYTES = 256 * 1024
"""Limit on the bytes of all keys; with their values that is about 1 MB in the worst case."""
BACKLOG_BYTES = 3 << 20
"""The same for a reader of finished logs."""
BYTES_PER_ENTRY = 100
"""Bytes that an entry counts in addition to its key."""

T = TypeVar("T")


def zeroed(text: bytes) -> bytes:
    """The text with ``0`` for every digit, for many lines at once, at the speed of memory."""
    return text.translate(_ZEROS)


def shape_of(line: bytes) -> bytes:
    """The shape of a line; the filling of a bar and long blanks are left out too."""
    shape = line.translate(_ZEROS)
    if b"00" in shape:
        shape = shape.replace(b"0000", b"0").replace(b"00", b"0")
        while b"00" in shape:
            shape = shape.replace(b"00", b"0")
    return ART.sub(b"%|", shape) if has_art(shape) else shape


def has_art(line: bytes) -> bool:
    """Whether the line may have a bar, so that :data:`ART` is left out of its shape."""
    return b"%" in line and b"|" in line


class ShapeCache(Generic[T]):
    """A bounded cache by shape; when it is full, the older half is dropped.

    A loop may keep ``known.get``, as :attr:`known` is always the same dictionary. An entry in
    constant use is dropped once in many thousand new shapes, and made again at its next line.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.known: dict[bytes, T] = {}
        self._max_bytes = max_bytes
        self._bytes = 0

    def remember(self, shape: bytes, known: T) -> None:
        """Add an entry."""
        if self._bytes > self._max_bytes:
            for old in list(islice(self.known, (len(self.known) + 1) // 2)):
                del self.known[old]
            self._bytes = sum(map(len, self.known)) + BYTES_PER_ENTRY * len(self.known)
        self.known[shape] = known
        self._bytes += len(shape) + BYTES_PER_ENTRY

    def forget(self, which: Callable[[T], bool]) -> None:
        """Drop the entries for which ``which`` is true."""
        for shape in [s for s, known in self.known.items() if which(known)]:
            del self.known[shape]
            self._bytes -= len(shape) + BYTES_PER_ENTRY
