"""The wire format of Protocol Buffers, by position: https://protobuf.dev/programming-guides/encoding"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..bounded_file import BoundedFile
from ..torch_zip import Malformed

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field of a message."""

    number: int
    wire: int
    start: int
    """Offset of its value; for a varint its value is in :attr:`value`."""
    end: int
    value: int = 0


def fields(peek: BoundedFile, start: int, end: int) -> Iterator[Field]:
    """The fields of the message in these bytes. Raises Malformed where they do not fill it exactly."""
    at = start
    while at < end:
        key, at = varint(peek, at, end)
        number, wire = key >> 3, key & 7
        value = 0
        begin = at
        if wire == VARINT:
            value, at = varint(peek, at, end)
        elif wire == FIXED64:
            at += 8
        elif wire == FIXED32:
            at += 4
        elif wire == BYTES:
            length, begin = varint(peek, at, end)
            at = begin + length
        else:
            raise Malformed(
                f"no field can begin at byte {begin}: the message is damaged or cut off"
            )
        if number == 0 or at > end:
            raise Malformed(f"a field at byte {begin} ends {at - end} bytes behind its message")
        yield Field(number, wire, begin, at, value)


def varint(peek: BoundedFile, at: int, end: int) -> tuple[int, int]:
    """(number, offset after it)."""
    value = shift = 0
    for byte in peek.read_up_to(at, min(10, end - at)):
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    raise Malformed(f"a number at byte {at} has no end: the file is damaged or cut off")


def numbers(peek: BoundedFile, field: Field) -> list[int]:
    """The numbers of a repeated field, which may be packed."""
    if field.wire == VARINT:
        return [field.value]
    found, at = [], field.start
    while at < field.end:
        value, at = varint(peek, at, field.end)
        found.append(value)
    return found


def text(peek: BoundedFile, field: Field, longest: int = 1000) -> str:
    """A string, cut to ``longest`` bytes."""
    return peek.read_at(field.start, min(longest, field.end - field.start)).decode(
        "utf-8", "replace"
    )


def total(dims: list[int]) -> int:
    """The product of some sizes, bounded."""
    items = 1
    for dim in dims:
        items = min(items * min(dim, 1 << 62), 1 << 62)
    return items
