"""TensorFlow's checkpoints: a sorted table ``NAME.index`` of what lies where in ``NAME.data-…``.

The table is one of LevelDB (tensorflow/core/lib/io/table_format.txt), each block with a CRC-32C; its values
are BundleEntryProto (tensorflow/core/protobuf/tensor_bundle.proto).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from .. import names, recognise
from ..bounded_file import BoundedFile
from ..extents import Contents
from ..pickle_symbols import TooLong
from ..torch_zip import Malformed
from .crc32c import LONGEST, crc32c, unmasked

MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER = 48


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package. Every data file has to be there, and be as long as its entries say."""
    if peek.size < _FOOTER or peek.read_at(peek.size - len(MAGIC), len(MAGIC)) != MAGIC:
        raise Malformed("the file is cut off: the end of its table is missing")
    shards, ends, called = 0, dict[int, int](), list[str]()
    footer = peek.read_at(peek.size - _FOOTER, _FOOTER)
    _, _, at = _handle(footer, 0)
    start, size, _ = _handle(footer, at)
    for _, value in _entries(_block(peek, start, size)):
        begin, length, _ = _handle(value, 0)
        for key, entry in _entries(_block(peek, begin, length)):
            told = dict(_numbers(entry))
            if not key:
                shards = told.get(1, 1)
                continue
            called.append(key.decode("utf-8", "replace"))
            ends[told.get(3, 0)] = max(ends.get(told.get(3, 0), 0), told.get(4, 0) + told.get(5, 0))
    _check_data(path, shards or 1, ends)
    said = f"{len(called)} tensors; their own checksums (CRC-32C) are not compared"
    return Contents(elsewhere=called, notes=(said,))


def has_data(path: str) -> bool:
    """Whether data of this index lies beside it: other programs have files of this ending too."""
    return any(names.TENSORFLOW_DATA.match(part.base) for part in recognise.family(path))


def data_files(path: str, shards: int) -> list[str]:
    """Paths of the data files of an index."""
    stem = path.removesuffix(".index")
    return [f"{stem}.data-{n:05d}-of-{shards:05d}" for n in range(min(shards, 10_000))]


def _check_data(path: str, shards: int, ends: dict[int, int]) -> None:
    for number, file in enumerate(data_files(path, shards)):
        name = os.path.basename(file)
        try:
            size = os.stat(file).st_size
        except OSError:
            raise Malformed(f"{name} is missing") from None
        if size < ends.get(number, 0):
            raise Malformed(f"{name} is cut off: {size} of {ends[number]} bytes")
        with BoundedFile(file) as data:
            if size and data.all_zero() and size > 4096:
                raise Malformed(f"{name} is all zeroes")


def _block(peek: BoundedFile, start: int, size: int) -> bytes:
    """A block without its trailer: one byte of compression, four of a checksum."""
    data = peek.read_at(start, size + 5)
    if data[size]:
        raise TooLong("its table is compressed: not followed")
    stored = int.from_bytes(data[size + 1 :], "little")
    if size <= LONGEST and crc32c(data[: size + 1]) != unmasked(stored):
        raise Malformed(f"the block at byte {start} does not match its checksum")
    return data[:size]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise Malformed("a block without its end")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise Malformed("a block without its end")
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        fresh, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + fresh]
        at += fresh
        yield key, block[at : at + length]
        at += length


def _numbers(message: bytes) -> Iterator[tuple[int, int]]:
    """The numbers of a short message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
        elif wire == 2:
            length, at = _varint(message, at)
            at += length
        else:
            at += 4 if wire == 5 else 8


def _handle(data: bytes, at: int) -> tuple[int, int, int]:
    start, at = _varint(data, at)
    size, at = _varint(data, at)
    return start, size, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    raise Malformed("a number in its table has no end")
