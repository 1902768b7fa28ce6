"""Compare the records of a file with their checksums while the file is read in order."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from isal.isal_zlib import crc32

from ..formats.extents import Record
from ..formats.packed import Records


class Mismatch(NamedTuple):
    """A record whose bytes are not those that were written."""

    name: str
    start: int
    end: int


class Sums:
    """The checksums of one file. Feed it the file from the first byte to the last."""

    most = 3
    """Broken records that are kept by name."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.left_out = 0
        """Records that have bytes and no checksum."""
        self.compared = 0
        self.broken: list[Mismatch] = []
        """The first ``most`` of them, in the order of the file."""
        self.broken_count = 0
        self._records = records if isinstance(records, Records) else Records(records)
        self._order = array("L", self._comparable())
        """Numbers of the records as they come in the file."""
        self._next = 0
        self._open: list[tuple[int, int]] = []
        """Number and checksum so far of the records that were begun; one, unless they overlap."""

    def __len__(self) -> int:
        return len(self._records)

    def _comparable(self) -> Iterable[int]:
        """Numbers of the records that have bytes and a checksum, by offset."""
        starts, sizes, crcs = self._records.starts, self._records.bytes, self._records.crcs
        for size, crc in zip(sizes, crcs, strict=True):
            self.left_out += size > 0 > crc
        found = array("L", (n for n, crc in enumerate(crcs) if crc >= 0 and sizes[n]))
        ordered = all(starts[a] <= starts[b] for a, b in itertools.pairwise(found))
        return found if ordered else sorted(found, key=starts.__getitem__)

    def feed(self, start: int, data: memoryview) -> None:
        """Take the bytes that come next in the file; ``start`` is their offset."""
        end = start + len(data)
        starts, sizes = self._records.starts, self._records.bytes
        going_on = []
        for number, crc in self._open:
            until = starts[number] + sizes[number]
            crc = crc32(data[: until - start] if until < end else data, crc)
            if until > end:
                going_on.append((number, crc))
            else:
                self._compare(number, crc)
        while self._next < len(self._order):
            number = self._order[self._next]
            if starts[number] >= end:
                break
            self._next += 1
            until = starts[number] + sizes[number]
            crc = crc32(data[starts[number] - start : until - start])
            if until > end:
                going_on.append((number, crc))
            else:
                self._compare(number, crc)
        self._open = going_on

    def _compare(self, number: int, crc: int) -> None:
        self.compared += 1
        if crc == self._records.crcs[number]:
            return
        self.broken_count += 1
        if len(self.broken) < self.most:
            record = self._records[number]
            self.broken.append(Mismatch(record.name, record.start, record.start + record.bytes))
