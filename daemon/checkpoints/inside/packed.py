"""The tables of a file in little memory: 34,000 tensors as objects take 8 MiB, packed 3 MiB.

No numpy here: what a file holds is packed, and the objects are freed, before that is imported.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .placed import TensorAt


class Names:
    """A row of names that never changes."""

    def __init__(self, names: Iterable[str]) -> None:
        self._ends = array("q")
        text = bytearray()
        for name in names:
            text += name.encode("utf-8", "replace")
            self._ends.append(len(text))
        self._text = bytes(text)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> str:
        start = self._ends[index - 1] if index else 0
        return self._text[start : self._ends[index]].decode()


class Bits(NamedTuple):
    """How a type says that a number is not finite. Magnitudes are its bits below ``mask``."""

    unit: int
    """Bytes of one number."""
    mask: int
    inf: int
    """Magnitude of infinity; -1 for a type without one."""
    nan: int
    """The smallest magnitude that is NaN."""
    flip: int = 0
    """Bits to turn over before magnitudes are compared."""
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
_TYPES = {
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
KINDS = tuple(_TYPES.values())
"""The types that can be not finite; tables refer to them by number."""
_NUMBER_OF = {name: number for number, name in enumerate(_TYPES)}
_ALWAYS_FINITE = frozenset({"float4_e2m1fn_x2"})
_SCALAR, _WEIGHT = 1, 2


class Tensors:
    """The floating tensors of one file, those of one segment side by side."""

    def __init__(self, tensors: Sequence[TensorAt]) -> None:
        self.total = len(tensors)
        self.unknown = 0
        """Tensors of a type that is not known here."""
        keys = []
        for index, tensor in enumerate(tensors):
            kind = _NUMBER_OF.get(tensor.dtype)
            if kind is None:
                self.unknown += tensor.dtype not in _ALWAYS_FINITE
            elif tensor.bytes >= KINDS[kind].width:
                keys.append((kind << 4 | tensor.start % KINDS[kind].width, tensor.start, index))
        keys.sort()
        self.kinds = bytes(key[0] >> 4 for key in keys)
        self.phases = bytes(key[0] & 15 for key in keys)
        self.low = array("q", (key[1] for key in keys))
        """Offset of the first byte in the file."""
        self.high = array("q")
        """Offset behind the last whole element."""
        flags = bytearray()
        for key in keys:
            tensor, width = tensors[key[2]], KINDS[key[0] >> 4].width
            self.high.append(tensor.start + tensor.bytes // width * width)
            flags.append(_SCALAR * tensor.scalar | _WEIGHT * tensor.weight)
        self._flags = bytes(flags)
        self.names = Names(tensors[key[2]].name for key in keys)

    def __len__(self) -> int:
        return len(self.low)

    def is_scalar(self, index: int) -> bool:
        """It has one element."""
        return bool(self._flags[index] & _SCALAR)

    def is_weight(self, index: int) -> bool:
        """Part of a model or an optimizer."""
        return bool(self._flags[index] & _WEIGHT)
