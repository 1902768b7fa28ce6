"""Pages of a file that are copies of other pages of it: blocks that were written to the wrong place.

Only for files without checksums. Equal numbers are usual: tied weights, an EMA of step 0, copied experts, equal rows
of an embedding, masks. But such copies begin and end with a tensor or a row, and these lie where the header
leaves them, hardly ever at a page of the file. Pages that are equal while the numbers right before and right
after them are not, and that lie in the middle of tensors, were no decision of the program that wrote them.

Imports numpy, so the resident process must not import it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..formats.bounded_file import BoundedFile
from ..formats.extents import TensorAt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Array = NDArray[Any]

_PAGE = 4096
_WORDS = _PAGE // 8
_AT = (5, 250)
"""Words of a page that make its mark. Where they are equal, it may be a constant, and is left out."""
_MOST_PAGES = 6 << 18
"""Pages that are marked, with eight bytes each: 12 MiB for the first 6 GiB of a file. One operation of numpy marks those of
a chunk; more words would cost as much as the other checks together (measured)."""
_LONGEST = 64
"""Pages of a run that is followed page by page. A longer one is no torn write."""
_MOST_RUNS = 256
_NEAR = 8
"""Bytes that are compared before and after a run: two numbers of float32, by chance equal once in 2^40 times."""


class Copies:
    """Feed it the file from the first byte to the last."""

    def __init__(self, size: int, tensors: Sequence[TensorAt]) -> None:
        spans = sorted((t.start, t.start + t.bytes) for t in tensors if t.bytes >= 2 * _PAGE)
        self._spans = [(low, high) for low, high in spans if low % _PAGE]
        pages = min(size // _PAGE, _MOST_PAGES) if self._spans else 0
        self._marks: _Array = np.zeros(pages, np.uint64)

    def feed(self, start: int, data: memoryview) -> None:
        """Mark the pages that come next; ``start`` is the offset of the data in the file."""
        skip = -start % _PAGE
        first = (start + skip) // _PAGE
        count = min((len(data) - skip) // _PAGE, len(self._marks) - first)
        if count > 0:
            words = np.frombuffer(data, "<u8", count * _WORDS, skip).reshape(count, _WORDS)
            one, other = words[:, _AT[0]], words[:, _AT[1]]
            np.bitwise_xor(one, other, out=self._marks[first : first + count])

    def first(self, path: str) -> str:
        """A sentence about the first of them; empty where there is none. Raises OSError."""
        with BoundedFile(path) as peek:
            one = next(self.found(peek), None)
        if one is None:
            return ""
        at, same, count = one
        return (
            f"the {count} bytes from {at} on are those from {same} on again, page by page in the middle of "
            "tensors: blocks of another place"
        )

    def found(self, peek: BoundedFile) -> Iterator[tuple[int, int, int]]:
        """(offset, offset of the same bytes, how many) of each run of pages that a writer does not make."""
        for begin, distance in self._runs():
            first = self._follow(peek, begin, distance, -1)
            last = self._follow(peek, begin, distance, 1)
            if first is None or last is None:
                continue
            low, high = first * _PAGE, (last + 1) * _PAGE
            apart = distance * _PAGE
            if low < 2 * _NEAR or high + apart + _NEAR > peek.size:
                continue
            if not all(map(self._inside, (low, low + apart), (high, high + apart))):
                continue
            before, after = (
                peek.read_at(at, _NEAR) != peek.read_at(at + apart, _NEAR)
                for at in (low - _NEAR, high)
            )
            if before and after:
                yield low, low + apart, high - low

    def _runs(self) -> Iterator[tuple[int, int]]:
        """(a page, how many pages further there is one of the same mark), one of each run."""
        ordered = np.sort(
            self._marks
        )  # of values alone: an order of the pages would cost ten times as much
        twice = ordered[1:][(ordered[1:] == ordered[:-1]) & (ordered[1:] != 0)]
        if not len(twice):
            return
        pages = np.flatnonzero(np.isin(self._marks, twice))
        pages = pages[np.argsort(self._marks[pages], kind="stable")]
        marks = self._marks[pages]
        same = np.flatnonzero(marks[1:] == marks[:-1])
        pairs = zip(pages[same].tolist(), (pages[same + 1] - pages[same]).tolist(), strict=True)
        reached: dict[int, int] = {}
        """Distance -> the page up to which its runs were given already."""
        runs = 0
        for page, distance in sorted(pairs):
            if page > reached.get(distance, -_LONGEST - 1) + _LONGEST:
                yield page, distance
                runs += 1
                if runs >= _MOST_RUNS:
                    return
            reached[distance] = page

    def _follow(self, peek: BoundedFile, page: int, distance: int, step: int) -> int | None:
        """The last page of a run in one direction; ``None`` where it is too long, or there is none."""
        last = None
        for _ in range(_LONGEST):
            at = page * _PAGE
            if at < 0 or at + (distance + 1) * _PAGE > peek.size:
                return None
            if peek.read_at(at, _PAGE) != peek.read_at(at + distance * _PAGE, _PAGE):
                return last
            last = page
            page += step
        return None

    def _inside(self, low: int, high: int) -> bool:
        """Whether these bytes lie in the middle of one tensor."""
        place = bisect.bisect_right(self._spans, (low, 1 << 62)) - 1
        if place < 0:
            return False
        begin, end = self._spans[place]
        return begin + _NEAR < low and high + _NEAR < end
