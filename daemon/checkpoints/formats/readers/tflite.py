"""TFLite: a flatbuffer whose buffers hold the weights (tensorflow/lite/schema/schema.fbs)."""

from __future__ import annotations

from ..bounded_file import BoundedFile
from ..extents import Contents
from ..torch_zip import Malformed

_BUFFERS = 4
_SUBGRAPHS = 2
_MOST = 100_000


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    model = _number(peek, 0, 4)
    if _field(peek, model, _SUBGRAPHS) is None:
        raise Malformed("it has no graph")
    buffers = _field(peek, model, _BUFFERS)
    count = 0
    if buffers is not None:
        vector = buffers + _number(peek, buffers, 4)
        count = _number(peek, vector, 4)
        if count > _MOST:
            raise Malformed(f"its table claims {count} buffers")
        for n in range(count):
            at = vector + 4 + 4 * n
            table = at + _number(peek, at, 4)
            data = _field(peek, table, 0)
            if data is not None:
                start = data + _number(peek, data, 4)
                peek.window(start + 4, _number(peek, start, 4))  # FileTooShort where it is cut off
    return Contents(notes=("no checksums in it, its numbers are not checked",))


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
