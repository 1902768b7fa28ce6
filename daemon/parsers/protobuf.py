"""The wire format of protocol buffers, as far as the files of metrics need it."""

from __future__ import annotations

from collections.abc import Iterator


def fields_of(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of the fields of a message: integers, or the bytes of all else. Raises
    IndexError or ValueError for what is no message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            whole, at = _varint(message, at)
            yield key >> 3, whole
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if at + size > len(message):
            raise ValueError("a field is longer than its message")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number of more than ten bytes")
