"""What lies where in a file: the types shared by the readers of formats and of data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .recognise import UNTOLD, Progress


@dataclass(frozen=True, slots=True)
class Extent:
    """A record of the file: a range of bytes that its format treats as one."""

    name: str
    start: int
    """Offset of its first byte in the file."""
    bytes: int
    crc: int | None = None
    """CRC-32 (zlib) of the range; ``None`` where the format or the writer gives none."""


@dataclass(frozen=True, slots=True)
class TensorAt:
    """One floating-point tensor in the file; integers and booleans are always finite."""

    name: str
    """Path in the file: ``model.layers.0.weight``."""
    dtype: str
    """Name of the type in torch: ``float32``, ``bfloat16``, ``float8_e4m3fn``, ``complex64`` …"""
    start: int
    """Offset of its first byte in the file."""
    bytes: int
    """Length of the range that its view spans."""
    scalar: bool = False
    """It has one element."""
    weight: bool = True
    """It belongs to a model or an optimizer, not to the state of a callback, say."""
    of: str = ""
    """For one of several parts, the name of the whole tensor: the same for the parts of a view
    with gaps, ``w`` for the chunk ``w[4,0]`` of a distributed one. Empty for a whole tensor."""

    @property
    def whole(self) -> str:
        """Name of the tensor that this is, or is a part of."""
        return self.of or self.name

    @property
    def chunk(self) -> bool:
        """Whether it is a chunk of a tensor whose other chunks may lie in other files."""
        return self.whole != self.name


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of one file, read without executing anything in it."""

    records: Sequence[Extent] = ()
    """By offset."""
    tensors: Sequence[TensorAt] = ()
    """By offset. Two may overlap: tied weights share their numbers."""
    unplaced: int = 0
    """Number of floating-point tensors whose place or type is not known."""
    progress: Progress = UNTOLD
    notes: tuple[str, ...] = field(default=())
    """Remarks for a person."""
    globals: frozenset[str] = frozenset()
    """Names that the pickles of its items would import, of a distributed checkpoint."""
    elsewhere: Sequence[str] = ()
    """Names of tensors whose numbers are in another file."""
