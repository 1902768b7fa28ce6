"""Compare the records of a file with their checksums while the file is read in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isal.isal_zlib import crc32

from ..formats.extents import Extent


class Mismatch(NamedTuple):
    """A record whose bytes are not those that were written."""

    name: str
    start: int
    end: int


class Sums:
    """The checksums of one file. Feed it the file from the first byte to the last."""

    most = 3
    """Limit on the broken records that are kept by name."""

    def __init__(self, records: Sequence[Extent]) -> None:
        self.left_out = sum(record.bytes > 0 and record.crc is None for record in records)
        """Records that have bytes and no checksum."""
        self.compared = 0
        self.broken: list[Mismatch] = []
        """The first ``most`` of them, in the order of the file."""
        self.broken_count = 0
        summed = [record for record in records if record.bytes and record.crc is not None]
        self._ordered = sorted(summed, key=lambda record: record.start)
        self._next = 0
        self._open: list[tuple[Extent, int]] = []
        """Records that were begun, with their checksums so far; one, unless they overlap."""

    def feed(self, start: int, data: memoryview) -> None:
        """Take the bytes that come next in the file; ``start`` is their offset."""
        end = start + len(data)
        going_on = []
        for record, crc in self._open:
            until = record.start + record.bytes
            crc = crc32(data[: until - start] if until < end else data, crc)
            if until > end:
                going_on.append((record, crc))
            else:
                self._compare(record, crc)
        while self._next < len(self._ordered):
            record = self._ordered[self._next]
            if record.start >= end:
                break
            self._next += 1
            until = record.start + record.bytes
            crc = crc32(data[record.start - start : until - start])
            if until > end:
                going_on.append((record, crc))
            else:
                self._compare(record, crc)
        self._open = going_on

    def _compare(self, record: Extent, crc: int) -> None:
        self.compared += 1
        if crc == record.crc:
            return
        self.broken_count += 1
        if len(self.broken) < self.most:
            self.broken.append(Mismatch(record.name, record.start, record.start + record.bytes))
