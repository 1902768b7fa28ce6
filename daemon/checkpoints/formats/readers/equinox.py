"""Equinox: the arrays of a tree as ``.npy`` files one after the other, perhaps after a line of JSON."""

from __future__ import annotations

import re

from .. import npy
from ..bounded_file import BoundedFile
from ..dtypes import FLOATING, ITEM_BYTES, of_numpy
from ..extents import Contents, TensorAt
from ..torch_zip import Malformed
from .protobuf import total

_MAGIC = b"\x93NUMPY"
_TYPE = re.compile(rb"'descr': '([<>|=]?\w+)'")
_SHAPE = re.compile(rb"'shape': \(([\d, ]*)\)")
_MOST = 200_000


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    at = 0
    if not peek.read_up_to(0, 6).startswith(_MAGIC):
        line = peek.read_up_to(0, 1 << 20).find(b"\n" + _MAGIC)
        if line < 0:
            raise Malformed("no array in it: damaged, or not of Equinox")
        at = line + 1
    found: list[TensorAt | None] = []
    while at < peek.size and len(found) < _MOST:
        name = f"array {len(found)}"
        size = _length(peek, at, name)
        found.append(npy.in_record(peek, name, at, size))
        at += size
    placed = tuple(t for t in found if t is not None and t.dtype in FLOATING and t.bytes)
    unknown = sum(t is None for t in found)
    return Contents(tensors=placed, unplaced=unknown, notes=("no checksums in it",))


def _length(peek: BoundedFile, at: int, name: str) -> int:
    """Bytes of the ``.npy`` that begins here. Raises Malformed or FileTooShort."""
    head = peek.read_at(at, 12)
    if not head.startswith(_MAGIC):
        raise Malformed(f"{name} does not begin with the numpy signature")
    width = 2 if head[6] == 1 else 4
    length = int.from_bytes(head[8 : 8 + width], "little")
    header = peek.read_at(at + 8 + width, min(length, 64 << 10))
    kind, shape = _TYPE.search(header), _SHAPE.search(header)
    dtype = of_numpy(kind[1].decode()) if kind else None
    if shape is None or kind is None:
        raise Malformed(f"the header of {name} is damaged")
    if dtype is None:
        digits = re.search(rb"(\d+)$", kind[1])
        items = int(digits[1][:6]) if digits else 1
    else:
        items = ITEM_BYTES[dtype]
    dims = [int(d[:20]) for d in shape[1].replace(b",", b" ").split()]
    size = 8 + width + length + items * total(dims)
    peek.read_at(at + size - 1, 1)  # FileTooShort where the array is cut off
    return size
