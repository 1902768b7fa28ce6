"""What lies where in a file: the words that knowing and reading have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .recognise import UNTOLD, Progress


@dataclass(frozen=True, slots=True)
class Extent:
    """A range of the file that its format counts as one piece."""

    name: str
    start: int
    """Offset of its first byte in the file."""
    bytes: int
    crc: int | None = None
    """CRC-32 (zlib) of the range; ``None`` where the format, or its writer, left it out."""


@dataclass(frozen=True, slots=True)
class TensorAt:
    """One floating tensor in the file. Whole numbers and booleans are always finite."""

    name: str
    """Path in the file: ``model.layers.0.weight``."""
    dtype: str
    """Name as torch has it: ``float32``, ``bfloat16``, ``float8_e4m3fn``, ``complex64`` …"""
    start: int
    """Offset of its first byte in the file."""
    bytes: int
    """Length of the range that its view reaches over."""
    scalar: bool = False
    """It has one element."""
    weight: bool = True
    """Part of a model or an optimizer, not of what a callback remembers."""
    of: str = ""
    """Name of the tensor of which this is one part of several: its own for the parts of a view
    with gaps, ``w`` for the chunk ``w[4,0]`` of a distributed one. Empty for a whole tensor."""

    @property
    def whole(self) -> str:
        """Name of the tensor that this is, or is a part of."""
        return self.of or self.name

    @property
    def chunk(self) -> bool:
        """Other chunks of the same tensor may lie in other files."""
        return self.whole != self.name


@dataclass(frozen=True, slots=True)
class Contents:
    """One file, taken apart without executing anything of it."""

    records: Sequence[Extent] = ()
    """By offset."""
    tensors: Sequence[TensorAt] = ()
    """By offset. Two may overlap: tied weights share their numbers."""
    unplaced: int = 0
    """Floating tensors whose place or type could not be told."""
    progress: Progress = UNTOLD
    notes: tuple[str, ...] = field(default=())
