"""How many bytes an element of a tensor takes, and which types can hold a NaN.

Types have the names that torch gives them. The storage classes in torch files are those of
torch/storage.py, the types in safetensors headers those of its ``Dtype``.
"""

from __future__ import annotations

from typing import NamedTuple


class Bits(NamedTuple):
    """How a type encodes NaN and infinity. A magnitude is the bits of a number under ``mask``."""

    unit: int
    """Bytes of one number."""
    mask: int
    """All bits but the sign; all bits for one-byte types with a single NaN."""
    inf: int
    """Magnitude of infinity; -1 for a type without one."""
    nan: int
    """The smallest magnitude that is NaN."""
    flip: int = 0
    """Bits to invert (XOR) before magnitudes are compared."""
    parts: int = 1
    """Numbers in one element: 2 in a complex one."""

    @property
    def width(self) -> int:
        """Bytes of one element."""
        return self.unit * self.parts


# IEEE 754 for the first four; https://arxiv.org/abs/2209.05433 for e4m3fn and e5m2;
# https://arxiv.org/abs/2206.02915 for the fnuz types (NaN is minus zero, there is no infinity);
# OCP Microscaling Formats 1.0 for e8m0.
_HALF = Bits(2, 0x7FFF, 0x7C00, 0x7C01)
_SINGLE = Bits(4, 0x7FFF_FFFF, 0x7F80_0000, 0x7F80_0001)
_DOUBLE = Bits(8, (1 << 63) - 1, 0x7FF << 52, (0x7FF << 52) + 1)
_MINUS_ZERO = Bits(1, 0xFF, -1, 0xFF, flip=0x7F)
BITS = {
    "float16": _HALF,
    "bfloat16": Bits(2, 0x7FFF, 0x7F80, 0x7F81),
    "float32": _SINGLE,
    "float64": _DOUBLE,
    "float8_e4m3fn": Bits(1, 0x7F, -1, 0x7F),
    "float8_e5m2": Bits(1, 0x7F, 0x7C, 0x7D),
    "float8_e4m3fnuz": _MINUS_ZERO,
    "float8_e5m2fnuz": _MINUS_ZERO,
    "float8_e8m0fnu": Bits(1, 0xFF, -1, 0xFF),
    "complex32": _HALF._replace(parts=2),
    "complex64": _SINGLE._replace(parts=2),
    "complex128": _DOUBLE._replace(parts=2),
}
"""Every type that has a NaN."""
FLOATING = {name: bits.width for name, bits in BITS.items()}
"""Bytes of an element of every type that has a NaN."""
_WHOLE = {
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint64": 8,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
    "bool": 1,
    "quint8": 1,
    "qint8": 1,
    "qint32": 4,
    "float4_e2m1fn_x2": 1,  # two in a byte; every bit pattern is a finite number
}
ITEM_BYTES = {**FLOATING, **_WHOLE}
"""Bytes of one element, for every known type."""

STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "UntypedStorage": "uint8",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "QUInt8Storage": "quint8",
    "QInt8Storage": "qint8",
    "QInt32Storage": "qint32",
}
"""Class of a typed storage -> type of its elements."""

SAFETENSORS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "C64": "complex64",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
"""Name in a safetensors header -> type, for those whose elements fill whole bytes."""

_NUMPY = {
    "f8": "float64",
    "f4": "float32",
    "f2": "float16",
    "c8": "complex64",
    "c16": "complex128",
    "i8": "int64",
    "i4": "int32",
    "i2": "int16",
    "i1": "int8",
    "u8": "uint64",
    "u4": "uint32",
    "u2": "uint16",
    "u1": "uint8",
    "b1": "bool",
}


def of_numpy(code: str) -> str | None:
    """``float32`` for ``f4`` and ``<f4``; ``None`` for big-endian and structured types."""
    return None if code.startswith(">") else _NUMPY.get(code.lstrip("<|="))
