"""TFLite: a flatbuffer whose buffers hold the weights (tensorflow/lite/schema/schema.fbs)."""

from __future__ import annotations

from collections.abc import Iterator

from ..bounded_file import BoundedFile
from ..extents import Contents
from ..torch_zip import Malformed

_CODES = 1
_BUFFERS = 4
_SUBGRAPHS = 2
_MOST = 100_000


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    model = _number(peek, 0, 4)
    if _field(peek, model, _SUBGRAPHS) is None:
        raise Malformed("it has no graph")
    for number in (_CODES, _SUBGRAPHS):
        for table in _tables(peek, _field(peek, model, number)):
            _whole(peek, table)
    buffers = _field(peek, model, _BUFFERS)
    for table in _tables(peek, buffers):
        data = _field(peek, table, 0)
        if data is not None:
            start = data + _number(peek, data, 4)
            peek.window(start + 4, _number(peek, start, 4))  # FileTooShort where it is cut off
    return Contents(notes=("no checksums in it, its numbers are not checked",))


def _tables(peek: BoundedFile, field: int | None) -> Iterator[int]:
    """Offsets of the tables in a list; none without the list."""
    if field is None:
        return
    vector = field + _number(peek, field, 4)
    count = _number(peek, vector, 4)
    if count > _MOST:
        raise Malformed(f"a list of {count} tables at byte {vector}")
    for n in range(count):
        at = vector + 4 + 4 * n
        yield at + _number(peek, at, 4)


def _whole(peek: BoundedFile, table: int) -> None:
    """Raises FileTooShort for a table that is cut off."""
    back = int.from_bytes(peek.read_at(table, 4), "little", signed=True)
    peek.window(table, _number(peek, table - back + 2, 2))


def _number(peek: BoundedFile, at: int, count: int) -> int:
    return int.from_bytes(peek.read_at(at, count), "little")


def _field(peek: BoundedFile, table: int, number: int) -> int | None:
    """Offset of a field of a table, which its vtable gives."""
    back = int.from_bytes(peek.read_at(table, 4), "little", signed=True)
    vtable = table - back
    size = _number(peek, vtable, 2)
    at = 4 + 2 * number
    if at + 2 > size:
        return None
    offset = _number(peek, vtable + at, 2)
    return table + offset if offset else None
