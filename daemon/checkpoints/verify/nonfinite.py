"""Which tensors hold numbers that are not finite, found while a file is read in order.

Each chunk of data first gets a quick test that costs about as much as reading it. For float32
and float64 it is the dot product of the chunk with itself, which is not finite when one number
is not; for the narrower types it is the largest magnitude, compared as bits. Only where the test
fails are NaN and infinities counted, number by number and for each tensor.

This module imports numpy, so the resident process must not import it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

_THREADS = "OPENBLAS_NUM_THREADS"
_given = os.environ.get(_THREADS)
os.environ.setdefault(_THREADS, "1")  # use one core, and no memory for 64 threads

import numpy as np  # noqa: E402 (it reads the variable when it is imported)

from ..formats.dtypes import BITS, Bits  # noqa: E402
from ..formats.extents import TensorAt  # noqa: E402

if _given is None:  # numpy has read it; a training started by this process must not inherit it
    del os.environ[_THREADS]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Array = NDArray[Any]


_WHOLE = 0xFF
"""Mask of one-byte types that have a single NaN and no infinity."""
_LOOKED_AT = 1000
"""Limit on the tensors in one record that are searched for their names."""
_DOT = {4: "f4", 8: "f8"}
"""Width in bytes -> type, of those whose quick test is the dot product."""


@dataclass(frozen=True, slots=True)
class NotFinite:
    """One tensor with numbers that are not finite."""

    name: str
    nan: int
    inf: int
    """Infinite elements, plus and minus."""
    total: int
    """Elements in the range that its view spans."""
    bad: bool
    """It counts as damage. Else it is only remarked: a best score that is not set yet, say."""
    mask: bool = False
    """It is a mask, in which infinities are usual: it is not even remarked."""
    chunk: bool = False
    """Only its chunks in this file are counted; others may be in other files."""

    def __str__(self) -> str:
        counts = []
        if self.nan:
            counts.append(f"{self.nan} of {self.total} NaN")
        if self.inf:
            counts.append(f"{self.inf} of {self.total} infinite")
        return f"{self.name} ({', '.join(counts)})"


class Numbers:
    """The floating-point tensors of one file. Feed it the file from the first byte to the last."""

    def __init__(self, tensors: Sequence[TensorAt]) -> None:
        self.total = 0
        """Number of tensors, without those that have chunks."""
        self.chunked: set[str] = set()
        """Names of the tensors that have chunks in this file, and maybe in others."""
        rows: list[_Row] = []
        owners: dict[str, int] = {}
        for number, tensor in enumerate(tensors):
            owner = owners.setdefault(tensor.of, number) if tensor.of else number
            if tensor.chunk:
                self.chunked.add(tensor.of)
            elif owner == number:
                self.total += 1
            start, width = tensor.start, BITS[tensor.dtype].width
            if tensor.bytes >= width:
                high = start + tensor.bytes // width * width
                rows.append((tensor.dtype, start % width, start, high, owner, tensor))
        rows.sort(key=itemgetter(0, 1, 2))  # so that rows of one segment are neighbours
        self._tensors = [row[5] for row in rows]
        """Tensor of each row; a view with gaps has a row for each of its parts."""
        self._low: _Array = np.array([row[2] for row in rows], np.int64)
        self._high: _Array = np.array([row[3] for row in rows], np.int64)
        """Offset of the end of the last whole element."""
        self._owners: _Array = np.array([row[4] for row in rows], np.int64)
        """A number for each tensor, the same for all of its parts."""
        self._others = bytearray(len(rows))
        """Per row: it holds a number that is neither zero nor infinite nor NaN."""
        self._counts: _Array | None = None
        """Per row: NaN, +inf, -inf."""
        self._segments = _segments(rows)
        self._next = 0
        self._open: list[_Segment] = []

    def feed(self, start: int, data: memoryview) -> None:
        """Look at the bytes that come next in the file; ``start`` is their offset."""
        end = start + len(data)
        while self._next < len(self._segments) and self._segments[self._next].low < end:
            self._open.append(self._segments[self._next])
            self._next += 1
        if not self._open:
            return
        with np.errstate(all="ignore"):
            for segment in self._open:
                self._part(segment, start, data)
        if self._open[0].high <= end or len(self._open) > 1:
            self._open = [segment for segment in self._open if segment.high > end]

    def found(self) -> Iterator[NotFinite]:
        """The tensors with numbers that are not finite, in the order of the file."""
        if self._counts is None:
            return
        hit = np.flatnonzero(self._counts.any(axis=1))
        hit = hit[np.argsort(self._low[hit], kind="stable")]
        for owner in dict.fromkeys(self._owners[hit].tolist()):
            yield self._judge(np.flatnonzero(self._owners == owner))

    def names_in(self, start: int, end: int, most: int) -> list[str]:
        """Tensors that have bytes in this range of the file, the first ``most`` of them."""
        inside = np.flatnonzero((self._low < end) & (self._high > start))
        found = dict.fromkeys(self._tensors[row].whole for row in inside[:_LOOKED_AT].tolist())
        return list(found)[:most]

    def _judge(self, rows: _Array) -> NotFinite:
        """One tensor, from all the rows of it that are in this file."""
        assert self._counts is not None
        tensor = self._tensors[int(rows[0])]
        nan, plus, minus = (int(count) for count in self._counts[rows].sum(axis=0))
        name, scalar = tensor.whole, tensor.scalar
        width = BITS[tensor.dtype].width
        total = int((self._high[rows] - self._low[rows]).sum()) // width
        ordinary = any(self._others[row] for row in rows.tolist())
        mask = not nan and ("mask" in name.lower() or not (scalar or plus or ordinary))
        bad = tensor.weight and (nan > 0 or not (scalar or mask))
        return NotFinite(name, nan, plus + minus, total, bad, mask, tensor.chunk)

    def _part(self, segment: _Segment, start: int, data: memoryview) -> None:
        """Test the whole elements of one segment that are in ``data``."""
        begin = max(segment.low - start, 0)
        end = min(segment.high - start, len(data))
        width = segment.bits.width
        if segment.rest:  # an element that began in the previous chunk
            taken = min(width - len(segment.rest), end - begin)
            segment.rest += data[begin : begin + taken]
            begin += taken
            if len(segment.rest) < width:
                return
            self._look(segment, start + begin - width, segment.rest)
            segment.rest = b""
        over = (end - begin) % width
        if over:
            segment.rest = bytes(data[end - over : end])
            end -= over
        if begin < end:
            self._look(segment, start + begin, data[begin:end])

    def _look(self, segment: _Segment, offset: int, data: memoryview | bytes) -> None:
        """The quick test. ``data`` consists of whole elements."""
        bits = segment.bits
        if bits.unit in _DOT:
            numbers = np.frombuffer(data, _DOT[bits.unit])
            sum_of_squares = float(numbers.dot(numbers))
            if sum_of_squares == 0:
                return
            if sum_of_squares - sum_of_squares == 0:
                self._is_finite(segment, offset, data)
                return
        elif bits.mask == _WHOLE:
            if (np.frombuffer(data, np.uint8) != bits.nan ^ bits.flip).all():
                return
        else:
            # Read as signed integers, the largest is that of the numbers without a sign bit; as
            # unsigned ones, of those with it. These are two passes that write nothing.
            plus = int(np.frombuffer(data, f"i{bits.unit}").max())
            minus = int(np.frombuffer(data, f"u{bits.unit}").max())
            least = bits.nan if bits.inf < 0 else bits.inf
            sign = bits.mask + 1
            if plus <= 0 and minus in (0, sign):
                return  # zeroes
            if plus < least and minus < sign + least:
                self._is_finite(segment, offset, data)
                return
        self._count(segment, offset, data)

    def _is_finite(self, segment: _Segment, offset: int, data: memoryview | bytes) -> None:
        """Note which tensors hold a finite number that is not zero: these are no masks."""
        if segment.ordinary:
            return
        if segment.count == 1:
            self._others[segment.first] = segment.ordinary = True
            return
        bits = segment.bits
        self._mark_others(segment, offset, np.frombuffer(data, f"u{bits.unit}") & bits.mask != 0)

    def _mark_others(self, segment: _Segment, offset: int, ordinary: _Array) -> None:
        bits = segment.bits
        if bits.parts > 1:
            ordinary = _either(ordinary, bits.parts)
        counts = self._tally(segment, offset, ordinary)
        last = segment.first + segment.count
        others = np.frombuffer(self._others, np.uint8)[segment.first : last]
        others |= counts > 0
        segment.ordinary = bool(others.all())

    def _count(self, segment: _Segment, offset: int, data: memoryview | bytes) -> None:
        """Count for each tensor: some number in ``data`` is not finite, or very large."""
        bits = segment.bits
        units = np.frombuffer(data, f"u{bits.unit}")
        magnitudes = (units ^ units.dtype.type(bits.flip)) & units.dtype.type(bits.mask)
        nan: _Array = magnitudes >= bits.nan
        infinite: _Array = magnitudes == max(bits.inf, 0)
        if bits.inf < 0:
            infinite = np.zeros(len(units), np.bool_)
        minus: _Array = infinite & (units > bits.mask)
        ordinary: _Array = ~(nan | infinite) & (magnitudes != 0)
        if not segment.ordinary:
            self._mark_others(segment, offset, ordinary)
        plus: _Array = infinite & ~minus
        if bits.parts > 1:  # an element is NaN when one of its parts is
            nan, plus, minus = (_either(hits, bits.parts) for hits in (nan, plus, minus))
            plus &= ~nan
            minus &= ~(nan | plus)
        if not (nan.any() or plus.any() or minus.any()):
            return
        if self._counts is None:
            self._counts = np.zeros((len(self._low), 3), np.int64)
        last = segment.first + segment.count
        for column, hits in enumerate((nan, plus, minus)):
            self._counts[segment.first : last, column] += self._tally(segment, offset, hits)

    def _tally(self, segment: _Segment, offset: int, hits: _Array) -> _Array:
        """For each row of a segment, how many of its elements are hits.

        ``hits``: one per element, from the file offset ``offset`` on.
        """
        width = segment.bits.width
        last = segment.first + segment.count
        low = ((self._low[segment.first : last] - offset) // width).clip(0, len(hits))
        high = ((self._high[segment.first : last] - offset) // width).clip(0, len(hits))
        before = np.zeros(len(hits) + 1, np.int64)
        np.cumsum(hits, out=before[1:])
        counted: _Array = before[high] - before[low]
        return counted


@dataclass(slots=True)
class _Segment:
    """A range without gaps that tensors of one type cover, and the state of reading it."""

    low: int
    high: int
    bits: Bits
    first: int
    """Number of its first row."""
    count: int
    """Rows that cover it or a part of it."""
    rest: bytes = b""
    """The beginning of an element that continues in the next chunk."""
    ordinary: bool = False
    """All its tensors are known to hold finite numbers other than zero."""


_Row = tuple[str, int, int, int, int, TensorAt]
"""(type, offset modulo the width of an element, begin, end, owner, tensor); all in bytes."""


def _segments(rows: list[_Row]) -> list[_Segment]:
    """All segments of a file by offset.

    Ranges of one type that overlap are merged if their elements begin at the same places, so
    that shared numbers are tested once.
    """
    found: list[_Segment] = []
    before: tuple[str, int] | None = None
    for number, (dtype, phase, low, high, _, _) in enumerate(rows):
        if before == (dtype, phase) and low < found[-1].high:
            found[-1].high = max(found[-1].high, high)
            found[-1].count += 1
        else:
            found.append(_Segment(low, high, BITS[dtype], number, 1))
            before = dtype, phase
    return sorted(found, key=lambda segment: segment.low)


def _either(hits: _Array, parts: int) -> _Array:
    """For each element, whether one of its parts is a hit."""
    found: _Array = np.logical_or.reduce(hits.reshape(-1, parts), axis=1)
    return found
