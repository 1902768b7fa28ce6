"""Where the archives of a ``.distcp`` file lie; it consists of archives, one after the other.

``.metadata`` lists them, but is a pickle. Every archive ends with a record that holds its length,
so they are found one by one from the end of the file to its beginning.
"""

from __future__ import annotations

import struct

from .bounded_file import BoundedFile
from .torch_zip import Malformed

_END, _LOCATOR, _END64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
_END_BYTES, _LOCATOR_BYTES, _END64_BYTES = 22, 20, 56
_MOST = 200_000


def of(path: str) -> tuple[tuple[int, int], ...]:
    """(offset, bytes) of every archive, in order. Raises Malformed, FileTooShort and OSError."""
    found = []
    with BoundedFile(path) as peek:
        end = peek.size
        while end > 0:
            start = _start(peek, end)
            found.append((start, end - start))
            end = start
            if len(found) > _MOST:
                raise Malformed(f"more than {_MOST} items in one file")
    return tuple(reversed(found))


def _start(peek: BoundedFile, end: int) -> int:
    """Offset at which the archive that ends at ``end`` begins."""
    at = end - _END_BYTES
    if at < 0 or peek.read_at(at, 4) != _END:
        raise Malformed(f"no archive ends at byte {end}")
    size, offset = struct.unpack_from("<II", peek.read_at(at, _END_BYTES), 12)
    locator = at - _LOCATOR_BYTES
    if locator >= 0 and peek.read_at(locator, 4) == _LOCATOR:
        at = locator - _END64_BYTES  # torch writes no extensible data in between
        if at < 0 or peek.read_at(at, 4) != _END64:
            raise Malformed(f"the archive that ends at byte {end} has no zip64 end record")
        size, offset = struct.unpack_from("<QQ", peek.read_at(at, _END64_BYTES), 40)
    start = at - int(size) - int(offset)
    if start < 0 or start >= at:
        raise Malformed(f"the archive that ends at byte {end} begins before the file does")
    return start
