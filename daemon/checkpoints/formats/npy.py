"""numpy's own files: ``.npy``, and the members of ``.npz``.

A file has a magic number, two bytes of version, the length of a header, the header (a Python dict
as text, which is searched and never evaluated), and the array. Layout: numpy/lib/format.py.
"""

from __future__ import annotations

import re

from .bounded_file import BoundedFile
from .dtypes import ITEM_BYTES, of_numpy
from .extents import TensorAt
from .pickle_symbols import TooLong
from .torch_zip import Malformed, ZipMember, beginning

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 64 << 10
_OBJECTS = (b"O", b"|O", b"<O", b">O", b"=O")
_TYPE = re.compile(rb"'descr': '([<>|=]?\w+)'")
_SHAPE = re.compile(rb"'shape': \(([\d, ]*)\)")


def in_file(peek: BoundedFile) -> TensorAt | None:
    """The array of a ``.npy`` file. Raises Malformed or FileTooShort."""
    return in_record(peek, "array", 0, peek.size)


def check_packed(peek: BoundedFile, record: ZipMember) -> None:
    """Check the type of a compressed array, which is not read further. Raises like the others."""
    kind = _TYPE.search(beginning(peek, record, _LONGEST_HEADER))
    if kind is not None:
        _check_type(record.name, kind[1])


def _check_type(name: str, kind: bytes) -> None:
    if kind in _OBJECTS:
        raise TooLong(f"{name} is an array of Python objects: a pickle, which can run any code")


def in_record(peek: BoundedFile, name: str, start: int, count: int) -> TensorAt | None:
    """The array in ``count`` bytes from ``start``; ``None`` for a type that is not known.

    Raises Malformed where its header is damaged, or needs more or fewer bytes than there are, and
    TooLong for an array of objects.
    """
    head = peek.read_at(start, min(count, 12))
    if not head.startswith(_MAGIC) or len(head) < 12:
        raise Malformed(f"{name} does not begin with the numpy signature")
    width = 2 if head[6] == 1 else 4
    length = int.from_bytes(head[8 : 8 + width], "little")
    data = 8 + width + length
    if length > _LONGEST_HEADER or data > count:
        raise Malformed(f"the header of {name} claims {length} bytes")
    header = peek.read_at(start + 8 + width, length)
    kind, shape = _TYPE.search(header), _SHAPE.search(header)
    if kind is not None:
        _check_type(name, kind[1])
    dtype = of_numpy(kind[1].decode()) if kind else None
    if dtype is None or shape is None:
        return None
    items = ITEM_BYTES[dtype]
    for digits in shape[1].replace(b",", b" ").split():
        items = min(items * min(int(digits[:20]), 1 << 62), 1 << 62)
    if items != count - data:
        raise Malformed(f"{name}: its shape takes {items} bytes, there are {count - data}")
    place = peek.begin + start + data
    return TensorAt(name.removesuffix(".npy"), dtype, place, items, items == ITEM_BYTES[dtype])
