"""Reading a file from its beginning on, by a buffer: for headers of many short items."""

from __future__ import annotations

import struct

from ..bounded_file import BoundedFile, FileTooShort
from ..torch_zip import Malformed

_AT_ONCE = 64 << 10
_LONGEST = 16 << 20
"""Bytes of the longest string that is taken whole."""


class Forward:
    """A position in a file, and the next bytes from there."""

    def __init__(self, peek: BoundedFile, at: int = 0) -> None:
        self.peek, self.at = peek, at
        self._begin, self._buffer = at, b""

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes. Raises FileTooShort."""
        if count > _LONGEST:
            raise Malformed(f"an item of {count} bytes at byte {self.at}")
        start = self.at - self._begin
        if start < 0 or start + count > len(self._buffer):
            if self.at + count > self.peek.size:
                raise FileTooShort(
                    f"bytes {self.at} to {self.at + count} of a file of {self.peek.size}"
                )
            self._buffer = self.peek.read_up_to(self.at, max(count, _AT_ONCE))
            self._begin, start = self.at, 0
        self.at += count
        return self._buffer[start : start + count]

    def skip(self, count: int) -> None:
        """Go past these bytes, which need not be read. Raises FileTooShort."""
        if count < 0 or self.at + count > self.peek.size:
            raise FileTooShort(
                f"bytes {self.at} to {self.at + count} of a file of {self.peek.size}"
            )
        self.at += count

    def number(self, kind: str) -> int:
        """A whole number in the notation of :mod:`struct`."""
        (value,) = struct.unpack(kind, self.take(struct.calcsize(kind)))
        return int(value)

    def string(self) -> bytes:
        """Eight bytes of length, and so many bytes."""
        return self.take(self.number("<Q"))
