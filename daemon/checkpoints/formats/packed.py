"""The tables of a file in little memory: 34,000 tensors as objects take 8 MiB, packed 1 MiB.

No numpy here: what a file holds is packed, and the objects are freed, before that is imported.
"""

from __future__ import annotations

import itertools
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

from .dtypes import FLOATING
from .extents import Record, TensorAt

_TOGETHER = 256
"""Names that are compressed together: those of a model are much alike, and take a sixth."""


class Names:
    """A row of names that never changes; a line break in one is a blank. Cheap in order."""

    def __init__(self, names: Iterable[str]) -> None:
        self._blocks: list[bytes] = []
        self._count = 0
        self._at, self._names = -1, [""]
        left = iter(names)
        while block := [n.replace("\n", " ") for n in itertools.islice(left, _TOGETHER)]:
            self._count += len(block)
            self._blocks.append(zlib.compress("\n".join(block).encode("utf-8", "replace"), 1))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> str:
        if index >= self._count:
            raise IndexError(index)
        block, place = divmod(index, _TOGETHER)
        if block != self._at:
            self._names = zlib.decompress(self._blocks[block]).decode().split("\n")
            self._at = block
        return self._names[place]


class Records(Sequence[Record]):
    """Records of a file, packed: a distributed checkpoint has seven for each tensor."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.starts, self.bytes, self.crcs = array("q"), array("q"), array("q")
        """Per record; a CRC that was left out is -1."""
        self.names = Names(self._take(records))

    def _take(self, records: Iterable[Record]) -> Iterator[str]:
        for record in records:
            self.starts.append(record.start)
            self.bytes.append(record.bytes)
            self.crcs.append(-1 if record.crc is None else record.crc)
            yield record.name

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        if isinstance(place, slice):
            return [self[n] for n in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        crc = self.crcs[place]
        start, size = self.starts[place], self.bytes[place]
        return Record(self.names[place], start, size, None if crc < 0 else crc)


_DTYPES = tuple(FLOATING)
_SCALAR, _WEIGHT, _RUN, _CHUNK = 1, 2, 4, 8


class Table(Sequence[TensorAt]):
    """Floating tensors by offset, packed as they come."""

    def __init__(self, tensors: Iterable[TensorAt]) -> None:
        self._starts, self._bytes = array("q"), array("q")
        self._flags = bytearray()
        self.names = Names(self._take(tensors))
        """In the order in which they came."""
        starts = self._starts
        self.order = array("L", sorted(range(len(starts)), key=starts.__getitem__))
        """Places among the names, by offset."""

    def _take(self, tensors: Iterable[TensorAt]) -> Iterator[str]:
        for tensor in tensors:
            self._starts.append(tensor.start)
            self._bytes.append(tensor.bytes)
            self._flags.append(_DTYPES.index(tensor.dtype) << 4 | _flags(tensor))
            yield tensor.name

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, place: int) -> TensorAt: ...
    @overload
    def __getitem__(self, place: slice) -> list[TensorAt]: ...
    def __getitem__(self, place: int | slice) -> TensorAt | list[TensorAt]:
        if isinstance(place, slice):
            return [self[n] for n in range(*place.indices(len(self)))]
        at = self.order[place]
        name, flags = self.names[at], self._flags[at]
        dtype, scalar, weight = _DTYPES[flags >> 4], bool(flags & _SCALAR), bool(flags & _WEIGHT)
        of = _of(name, flags)
        return TensorAt(name, dtype, self._starts[at], self._bytes[at], scalar, weight, of)


def _flags(tensor: TensorAt) -> int:
    part = 0 if not tensor.of else _RUN if tensor.of == tensor.name else _CHUNK
    return _SCALAR * tensor.scalar | _WEIGHT * tensor.weight | part


def _of(name: str, flags: int) -> str:
    """The whole of which a tensor is a part, empty for a whole one."""
    return name.rpartition("[")[0] if flags & _CHUNK else name if flags & _RUN else ""


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


class Tensors:
    """The floating tensors of one file, those of one segment side by side.

    A view with gaps has a row for each of its parts.
    """

    def __init__(self, tensors: Sequence[TensorAt]) -> None:
        self.total = self.unknown = 0
        """Tensors; and those of a type that is not known here. Chunks are not among them."""
        self.chunked: set[int] = set()
        """Hashes of the names of tensors that have chunks here, and maybe in other files."""
        rows: dict[int, array[int]] = {}
        low, high, flags, owners = array("q"), array("q"), bytearray(), array("q")
        wholes: dict[str, int] = {}
        for index, tensor in enumerate(tensors):
            low.append(tensor.start)
            flags.append(_flags(tensor))
            owners.append(wholes.setdefault(tensor.of, index) if tensor.of else index)
            if flags[-1] & _CHUNK:
                self.chunked.add(hash(tensor.of))
            elif owners[-1] == index:
                self.total += 1
            kind = _NUMBER_OF.get(tensor.dtype)
            width = 0 if kind is None else KINDS[kind].width
            high.append(tensor.start + (tensor.bytes // width * width if width else 0))
            if kind is None:
                self.unknown += tensor.dtype not in _ALWAYS_FINITE
            elif high[-1] > low[-1]:
                segment = kind << 4 | tensor.start % width
                rows.setdefault(segment, array("L")).append(index)
        self._names = tensors.names if isinstance(tensors, Table) else [t.name for t in tensors]
        order, kinds = array("L"), bytearray()
        for segment, inside in sorted(rows.items()):
            order.extend(sorted(inside, key=low.__getitem__))
            kinds += bytes([segment]) * len(inside)
        self.kinds = bytes(kind >> 4 for kind in kinds)
        self.phases = bytes(kind & 15 for kind in kinds)
        self.low = array("q", map(low.__getitem__, order))
        """Offset of the first byte in the file."""
        self.high = array("q", map(high.__getitem__, order))
        """Offset behind the last whole element."""
        self.owners = array("q", map(owners.__getitem__, order))
        """A number for each tensor, the same for all of its parts."""
        self._flags = bytes(map(flags.__getitem__, order))
        at = tensors.order if isinstance(tensors, Table) else range(len(tensors))
        self._name_at = array("L", map(at.__getitem__, order))

    def __len__(self) -> int:
        return len(self.low)

    def name(self, row: int) -> str:
        """Of the tensor, or of its chunk."""
        return self._names[self._name_at[row]]

    def whole(self, row: int) -> str:
        """Of the tensor of which the row may be a part."""
        return _of(self.name(row), self._flags[row]) or self.name(row)

    def is_scalar(self, row: int) -> bool:
        """It has one element."""
        return bool(self._flags[row] & _SCALAR)

    def is_weight(self, row: int) -> bool:
        """Part of a model or an optimizer."""
        return bool(self._flags[row] & _WEIGHT)

    def is_chunk(self, row: int) -> bool:
        """Other chunks of the same tensor may lie in other files."""
        return bool(self._flags[row] & _CHUNK)
