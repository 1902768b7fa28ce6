"""Checksums of records, however the file is cut into pieces."""

from __future__ import annotations

import itertools
import random
import zlib

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats.extents import Extent
from middlewatch.daemon.checkpoints.verify.checksums import Mismatch, Sums

DATA = random.Random(7).randbytes(600)


@given(
    ranges=st.lists(st.tuples(st.integers(0, 599), st.integers(0, 600)), max_size=8),
    borders=st.lists(st.integers(1, 599), max_size=12),
    flipped=st.none() | st.integers(0, 599),
    without=st.integers(0, 8),
)
def test_every_border(
    ranges: list[tuple[int, int]], borders: list[int], flipped: int | None, without: int
) -> None:
    """Records may overlap, touch, or lie apart; one may have no checksum."""
    records = []
    for number, (start, count) in enumerate(ranges):
        raw = DATA[start : start + count]
        crc = None if number == without else zlib.crc32(raw)
        records.append(Extent(f"r{number}", start, len(raw), crc))
    data = bytearray(DATA)
    if flipped is not None:
        data[flipped] ^= 4
    sums = Sums(records)
    for start, end in itertools.pairwise(sorted({0, 600, *borders})):
        sums.feed(start, memoryview(data)[start:end])
    checked = [r for r in records if r.crc is not None and r.bytes]
    hit = [r for r in checked if flipped is not None and r.start <= flipped < r.start + r.bytes]
    assert sums.compared == len(checked)
    assert sums.broken_count == len(hit)
    assert {m.name for m in sums.broken} <= {r.name for r in hit}
    assert len(sums.broken) == min(len(hit), sums.most)
    assert sums.left_out == sum(r.crc is None and r.bytes > 0 for r in records)


def test_what_is_told() -> None:
    sums = Sums([Extent("a", 10, 20, 1), Extent("b", 40, 2, zlib.crc32(DATA[40:42]))])
    sums.feed(0, memoryview(DATA))
    assert sums.broken == [Mismatch("a", 10, 30)]
