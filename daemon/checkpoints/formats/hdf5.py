"""HDF5, written by Keras (``.h5``, and inside ``.keras``): is it whole, and where is its data?

Groups and contiguous datasets are read, which is all that Keras writes. Chunked datasets and the
newer kinds of groups are only noted as present. Layout: HDF5 File Format Specification 3.0,
sections II to IV.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .bounded_file import BoundedFile, FileTooShort
from .dtypes import ITEM_BYTES
from .pickle_symbols import TooLong
from .recognise import HDF5_MAGIC, UNTOLD, Progress
from .torch_zip import Malformed

_END_AT = {0: 40, 1: 44, 2: 28, 3: 28}
"""Version of the superblock -> offset in it of the end-of-file address."""
_ROOT_AT = {0: 64, 1: 68, 2: 36, 3: 36}
_OPEN_FOR_WRITING = 0x01
_NOWHERE = (1 << 64) - 1
_MOST_OBJECTS = 100_000
_MOST_NODES = 20_000
_LONGEST_PATH = 300
_LONGEST_HEADER = 1 << 20
_COUNTS = ("optimizer.vars.0", ".iteration", ".iterations")
"""Ends of the names under which Keras counts steps: of version 3, and of older whole models."""
_SPACE, _LINK_INFO, _TYPE, _LINK, _LAYOUT, _MORE, _GROUP = 1, 2, 3, 6, 8, 0x10, 0x11
_WHOLE, _FLOAT, _COMPOUND = 0, 1, 6
_FLOATS = {(2, 5): "float16", (2, 8): "bfloat16", (4, 8): "float32", (8, 11): "float64"}
"""(bytes, bits of the exponent) -> type."""
_INTS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


class Dataset(NamedTuple):
    """A contiguous array of numbers in the file; ``start`` is its offset."""

    name: str
    dtype: str
    start: int
    bytes: int


class _Message(NamedTuple):
    kind: int
    start: int
    data: bytes


def check(peek: BoundedFile) -> None:
    """Check one file. Raises Malformed or FileTooShort, and TooLong where it cannot be judged."""
    head = peek.read_up_to(0, 96)
    if not head.startswith(HDF5_MAGIC):
        raise Malformed("it does not begin with the HDF5 signature")
    if len(head) < 96:
        raise Malformed(f"{len(head)} bytes are too few for an HDF5 file")
    version = head[8]
    if version not in _END_AT:
        raise TooLong(f"an HDF5 superblock of version {version}: nothing of it can be checked")
    if head[13 if version < 2 else 9] != 8:
        raise TooLong("an HDF5 file with short addresses: nothing of it can be checked")
    at = _END_AT[version]
    end = _number(head, at - 16) + _number(head, at)
    if peek.size < end:
        raise Malformed(f"the file is cut off: {end - peek.size} of {end} bytes are missing")
    if version == 3 and head[11] & _OPEN_FOR_WRITING:
        raise Malformed("it was never closed by the program that wrote it")
    for _ in datasets(peek):
        pass


def datasets(peek: BoundedFile) -> Iterator[Dataset | None]:
    """Its datasets of numbers; ``None`` for floats whose place or type is not known.

    Raises Malformed or FileTooShort where something is damaged, and TooLong.
    """
    try:
        yield from _objects(peek)
    except IndexError:
        raise Malformed("a part of it is shorter than the format requires") from None


def told_by(peek: BoundedFile) -> Progress:
    """The step that the optimizer of Keras counts, if there is one. Raises nothing."""
    try:
        for found in datasets(peek):
            if found is None or found.dtype not in ("int32", "int64"):
                continue
            if found.name.endswith(_COUNTS) and found.bytes == ITEM_BYTES[found.dtype]:
                raw = peek.read_at(found.start, found.bytes)
                return Progress(float(int.from_bytes(raw, "little")), origin="checkpoint")
    except (Malformed, FileTooShort, TooLong):
        pass
    return UNTOLD


def _objects(peek: BoundedFile) -> Iterator[Dataset | None]:
    head = peek.read_up_to(0, 96)
    version = head[8]
    known = version in _END_AT and head[13 if version < 2 else 9] == 8
    if not known or _number(head, _END_AT[version] - 16):
        yield None
        return
    todo = [("", _number(head, _ROOT_AT[version]))]
    seen: set[int] = set()
    while todo:
        name, at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if len(seen) > _MOST_OBJECTS:
            raise TooLong(f"an HDF5 file of more than {_MOST_OBJECTS} objects is not followed")
        parts = {m.kind: m for m in _messages(peek, at, todo, name) if m.kind not in (_LINK, _MORE)}
        if _GROUP in parts:
            data = parts[_GROUP].data
            todo += _entries(peek, name, _number(data, 0), _number(data, 8))
        elif _LAYOUT in parts and _TYPE in parts and _SPACE in parts:
            yield from _dataset(peek, name, parts)
        elif _LINK_INFO in parts and _number(parts[_LINK_INFO].data, _heap_at(parts)) != _NOWHERE:
            yield None  # a group with so many links that they are stored in a heap


def _heap_at(parts: dict[int, _Message]) -> int:
    return 2 + (8 if parts[_LINK_INFO].data[1:2] == b"\x01" else 0)


def _messages(
    peek: BoundedFile, at: int, todo: list[tuple[str, int]], name: str
) -> Iterator[_Message]:
    """The messages in the header of an object; links to others are added to ``todo``."""
    first = peek.read_at(at, 16)
    new = first.startswith(b"OHDR")
    if new:
        flags = first[5]
        begin = at + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(peek.read_at(begin, width), "little")
        blocks, extra = [(begin + width, size)], 2 if flags & 4 else 0
    elif first[0] == 1 and first[1] == 0:
        blocks, extra = [(at + 16, int.from_bytes(first[8:12], "little"))], 0
    else:
        raise Malformed(f"{name or 'the root'} has no header at byte {at}")
    left = _LONGEST_HEADER
    while blocks:
        start, size = blocks.pop()
        left -= max(size, 16)
        if left < 0:
            raise TooLong(f"{name} has a header of more than {_LONGEST_HEADER} bytes")
        block, place = peek.read_at(start, size), 0
        short = 4 + extra if new else 8
        while place + short <= size:
            kind = block[place] if new else int.from_bytes(block[place : place + 2], "little")
            length = int.from_bytes(
                block[place + 1 :][:2] if new else block[place + 2 :][:2], "little"
            )
            place += short
            if place + length > size:
                raise Malformed(f"the header of {name or 'the root'} is damaged")
            message = _Message(kind, start + place, block[place : place + length])
            place += length
            if kind == _MORE:
                gap = 4 if new else 0  # OCHK before it, a checksum after it
                where, count = _number(message.data, 0), _number(message.data, 8)
                blocks.append((where + gap, count - 2 * gap))
            elif kind == _LINK:
                todo.extend(_linked(name, message.data))
            yield message


def _linked(parent: str, data: bytes) -> list[tuple[str, int]]:
    """(path, address) of a link in a group of the newer kind, if it is a hard link."""
    flags = data[1]
    at = 2 + (1 if flags & 8 else 0) + (8 if flags & 4 else 0) + (1 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    length = int.from_bytes(data[at : at + width], "little")
    at += width
    if flags & 8 and data[2] != 0:
        return []
    return [(_path(parent, data[at : at + length]), _number(data, at + length))]


def _entries(peek: BoundedFile, parent: str, tree: int, heap: int) -> list[tuple[str, int]]:
    """(path, address) of the members of an older group: a tree of tables, and a heap of names."""
    head = peek.read_at(heap, 32)
    if not head.startswith(b"HEAP"):
        raise Malformed(f"the names in {parent or 'the root'} are not where its header says")
    names_at, names_size = _number(head, 24), _number(head, 8)
    found: list[tuple[str, int]] = []
    todo = [tree]
    for _ in range(_MOST_NODES):
        if not todo:
            return found
        if len(found) + len(todo) > _MOST_OBJECTS:
            break
        at = todo.pop()
        node = peek.read_at(at, 24)
        count = int.from_bytes(node[6:8], "little")
        if node.startswith(b"TREE"):
            keys = peek.read_at(at + 24, 8 + 16 * count)
            todo += [_number(keys, 8 + 16 * n) for n in range(count)]
        elif node.startswith(b"SNOD"):
            table = peek.read_at(at + 8, 40 * count)
            for n in range(count):
                name_at = _number(table, 40 * n)
                if name_at >= names_size:
                    raise Malformed(f"a name in {parent or 'the root'} lies outside of its heap")
                name = peek.read_up_to(names_at + name_at, 256).split(b"\0")[0]
                found.append((_path(parent, name), _number(table, 40 * n + 8)))
        else:
            raise Malformed(f"{parent or 'the root'} has no table at byte {at}")
    raise TooLong(f"{parent} has more than {_MOST_NODES} tables")


def _dataset(peek: BoundedFile, name: str, parts: dict[int, _Message]) -> Iterator[Dataset | None]:
    """A contiguous dataset. Yields nothing for other data, ``None`` for chunked or odd numbers."""
    kind, layout = parts[_TYPE].data, parts[_LAYOUT].data
    dtype = _dtype(kind)
    if dtype is None:
        if kind[0] & 15 in (_FLOAT, _COMPOUND):
            yield None
        return
    if layout[0] not in (3, 4) or layout[1] > 1:
        yield None
        return
    if layout[1] == 0:
        start, size = parts[_LAYOUT].start + 4, int.from_bytes(layout[2:4], "little")
    else:
        start, size = _number(layout, 2), _number(layout, 10)
    if start == _NOWHERE:
        return  # nothing was ever written to it
    wanted = _count(parts[_SPACE].data) * ITEM_BYTES[dtype]
    if wanted != size:
        raise Malformed(f"{name}: its shape takes {wanted} bytes, it has {size}")
    if start + size > peek.size:
        raise FileTooShort(f"{name} reaches to byte {start + size} of a file of {peek.size}")
    yield Dataset(name, dtype, start, size)


def _dtype(data: bytes) -> str | None:
    """The type; ``None`` if it is none of numbers, or big-endian, or unusual."""
    kind, size = data[0] & 15, int.from_bytes(data[4:8], "little")
    if data[1] & 1:
        return None
    if kind == _WHOLE:
        return _INTS.get(size)
    return _FLOATS.get((size, data[13])) if kind == _FLOAT and len(data) > 13 else None


def _count(data: bytes) -> int:
    """Number of elements of a dataspace."""
    if data[0] == 2 and data[3] == 2:
        return 0
    count, at = 1, 8 if data[0] == 1 else 4
    for n in range(data[1]):
        count = min(count * _number(data, at + 8 * n), 1 << 62)
    return count


def _path(parent: str, name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    return (f"{parent}.{text}" if parent else text)[:_LONGEST_PATH]


def _number(data: bytes, at: int) -> int:
    """A little-endian number of eight bytes; Malformed where there are fewer."""
    if at + 8 > len(data):
        raise Malformed("a part of it is shorter than the format requires")
    return int.from_bytes(data[at : at + 8], "little")
