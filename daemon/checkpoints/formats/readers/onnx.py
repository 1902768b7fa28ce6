"""ONNX: a protobuf ModelProto, with its weights inside or in files beside it (onnx/onnx.proto)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..bounded_file import BoundedFile
from ..dtypes import ITEM_BYTES
from ..extents import Contents, TensorAt
from ..torch_zip import Malformed
from . import protobuf
from .protobuf import BYTES, Field

_GRAPH, _INITIALIZER = 7, 5
_DIMS, _TYPE, _NAME, _RAW, _OUTSIDE = 1, 2, 8, 9, 13
_TYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
}


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    graph = None
    for field in protobuf.fields(peek, 0, peek.size):
        if field.number == _GRAPH and field.wire == BYTES:
            graph = field
    if graph is None:
        raise Malformed("it has no graph: damaged, or no ONNX model")
    found = []
    outside = 0
    for field in protobuf.fields(peek, graph.start, graph.end):
        if field.number == _INITIALIZER and field.wire == BYTES:
            tensor, away = _tensor(peek, field, os.path.dirname(path))
            found += tensor
            outside += away
    notes = (
        ("no checksums in it",)
        if not outside
        else (f"{outside} of its tensors lie in files beside it",)
    )
    return Contents(tensors=tuple(sorted(found, key=lambda t: t.start)), notes=notes)


def _tensor(peek: BoundedFile, message: Field, folder: str) -> tuple[list[TensorAt], bool]:
    name, kind, raw = "?", 0, None
    dims: list[int] = []
    outside: dict[str, str] = {}
    for field in protobuf.fields(peek, message.start, message.end):
        if field.number == _DIMS:
            dims += protobuf.numbers(peek, field)
        elif field.number == _TYPE:
            kind = field.value
        elif field.number == _NAME and field.wire == BYTES:
            name = protobuf.text(peek, field)
        elif field.number == _RAW and field.wire == BYTES:
            raw = field
        elif field.number == _OUTSIDE and field.wire == BYTES:
            outside.update([_pair(peek, field)])
    dtype = _TYPES.get(kind)
    bytes_ = None if dtype is None else protobuf.total(dims) * ITEM_BYTES[dtype]
    if outside:
        _check_outside(folder, name, outside)
        return [], True
    if raw is None or bytes_ is None:
        return [], False
    if raw.end - raw.start != bytes_:
        raise Malformed(f"{name}: its shape takes {bytes_} bytes, there are {raw.end - raw.start}")
    return [*_floating(peek, name, dtype or "", raw)], False


def _floating(peek: BoundedFile, name: str, dtype: str, raw: Field) -> Iterator[TensorAt]:
    from ..dtypes import FLOATING

    if dtype in FLOATING and raw.end > raw.start:
        yield TensorAt(name, dtype, peek.begin + raw.start, raw.end - raw.start)


def _pair(peek: BoundedFile, message: Field) -> tuple[str, str]:
    found = {
        f.number: protobuf.text(peek, f) for f in protobuf.fields(peek, message.start, message.end)
    }
    return found.get(1, ""), found.get(2, "")


def _check_outside(folder: str, name: str, told: dict[str, str]) -> None:
    """Raises Malformed unless the file beside the model is there and long enough."""
    location = told.get("location", "")
    if not location or location.startswith("/") or ".." in location.split("/"):
        raise Malformed(f"{name} lies in {location[:80]!r}: no file beside the model")
    digits = [told.get(key, "0") for key in ("offset", "length")]
    wanted = sum(int(d) for d in digits if d.isdigit() and len(d) < 19)
    try:
        size = os.stat(f"{folder or '.'}/{location}").st_size
    except OSError:
        raise Malformed(f"{location} is missing, in which {name} lies") from None
    if size < wanted:
        raise Malformed(f"{location} is cut off: {size} of {wanted} bytes")
