"""How many bytes an element of a tensor takes, and which types can hold a NaN.

Names are those of torch: torch/storage.py for the storage classes that files name, and the
table of safetensors (its ``Dtype``) for the types in its headers.
"""

from __future__ import annotations

FLOATING = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
}
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
    "float4_e2m1fn_x2": 1,  # two in a byte, and every pattern of bits is a number
}
ITEM_BYTES = {**FLOATING, **_WHOLE}
"""Bytes of one element, of every type that is known here."""

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
"""Type of the elements by the class of a typed storage."""

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
"""Type by the name in a safetensors header, of those that fill whole bytes."""

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
