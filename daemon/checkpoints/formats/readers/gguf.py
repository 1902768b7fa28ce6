"""GGUF of llama.cpp: settings, a table of tensors, the tensors (ggml/docs/gguf.md)."""

from __future__ import annotations

from ..bounded_file import BoundedFile
from ..dtypes import FLOATING
from ..extents import Contents, TensorAt
from ..torch_zip import Malformed
from .forward import Forward
from .protobuf import total

_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Type of a setting -> its bytes."""
_FLOATS = {0: "float32", 1: "float16", 28: "float64", 30: "bfloat16"}
BLOCKS = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 40),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
}
"""Type of a tensor -> (numbers in a block, bytes of a block): ``GGML_QUANT_SIZES`` of gguf-py."""
_MOST = 1_000_000
"""Limit on settings, tensors and items of one list that are followed: a tokenizer has 256,000 words."""
_DEFAULT_ALIGNMENT = 32


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    data = Forward(peek)
    data.take(4)
    version = data.number("<I")
    if version not in (2, 3):
        raise Malformed(f"version {version} of GGUF is not known")
    tensors, settings = data.number("<Q"), data.number("<Q")
    if tensors > _MOST or settings > _MOST:
        raise Malformed(f"its header claims {tensors} tensors and {settings} settings")
    alignment = _DEFAULT_ALIGNMENT
    for _ in range(settings):
        key = data.string()
        kind = data.number("<I")
        value = _setting(data, kind)
        if key == b"general.alignment" and isinstance(value, bytes) and value:
            alignment = int.from_bytes(value, "little") or alignment
    table = [_row(data) for _ in range(tensors)]
    begin = -(-data.at // alignment) * alignment
    end = begin
    found: list[TensorAt] = []
    for name, kind, items, offset in table:
        block, bytes_ = BLOCKS.get(kind, (1, 0))
        size = items // block * bytes_
        end = max(end, begin + offset + size)
        if kind in _FLOATS and size:
            dtype = _FLOATS[kind]
            found.append(
                TensorAt(name, dtype, peek.begin + begin + offset, size, size == FLOATING[dtype])
            )
    if end > peek.size:
        raise Malformed(f"the file is cut off: {peek.size} of {end} bytes")
    packed = sum(kind not in _FLOATS for _, kind, _, _ in table)
    notes = (
        [f"{packed} of {len(table)} tensors are quantized or whole numbers: not checked"]
        if packed
        else []
    )
    return Contents(
        tensors=tuple(sorted(found, key=lambda t: t.start)), notes=("no checksums in it", *notes)
    )


def _row(data: Forward) -> tuple[str, int, int, int]:
    name = data.string().decode("utf-8", "replace")
    count = data.number("<I")
    if count > 8:
        raise Malformed(f"{name[:80]} has {count} dimensions")
    dims = [data.number("<Q") for _ in range(count)]
    return name[:300], data.number("<I"), total(dims), data.number("<Q")


def _setting(data: Forward, kind: int) -> bytes | None:
    if kind == _STRING:
        data.string()
        return None
    if kind != _ARRAY:
        if kind not in _SIZES:
            raise Malformed(f"a setting of the unknown type {kind} at byte {data.at}")
        return data.take(_SIZES[kind])
    inner, count = data.number("<I"), data.number("<Q")
    if count > _MOST:
        raise Malformed(f"a list of {count} items at byte {data.at}")
    if inner == _STRING:
        for _ in range(count):
            data.string()
    elif inner in _SIZES:
        data.skip(_SIZES[inner] * count)
    else:
        raise Malformed(f"a list of the unknown type {inner} at byte {data.at}")
    return None
