"""Compare the records of a file with their checksums while the file is read in order."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isal.isal_zlib import crc32

from ..inside.packed import Names
from ..inside.placed import Record


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
        self._starts, self._ends, self._wanted = array("q"), array("q"), array("L")
        self._names = Names(self._take(records))
        starts = self._starts
        self._order = array("q", sorted(range(len(starts)), key=starts.__getitem__))
        """Numbers of the records as they come in the file."""
        self._next = 0
        self._open: list[tuple[int, int]] = []
        """Number and checksum so far of the records that were begun; one, unless they overlap."""

    def _take(self, records: Sequence[Record]) -> Iterator[str]:
        """Pack the records that can be compared, one by one: they may be made as we ask."""
        for record in records:
            if record.crc is not None and record.bytes:
                self._starts.append(record.start)
                self._ends.append(record.start + record.bytes)
                self._wanted.append(record.crc)
                yield record.name
            elif record.bytes:
                self.left_out += 1

    def feed(self, start: int, data: memoryview) -> None:
        """Take the bytes that come next in the file; ``start`` is their offset."""
        end = start + len(data)
        going_on = []
        for number, crc in self._open:
            until = self._ends[number]
            crc = crc32(data[: until - start] if until < end else data, crc)
            if until > end:
                going_on.append((number, crc))
            else:
                self._compare(number, crc)
        while self._next < len(self._order):
            number = self._order[self._next]
            if self._starts[number] >= end:
                break
            self._next += 1
            until = self._ends[number]
            crc = crc32(data[self._starts[number] - start : until - start])
            if until > end:
                going_on.append((number, crc))
            else:
                self._compare(number, crc)
        self._open = going_on

    def _compare(self, number: int, crc: int) -> None:
        self.compared += 1
        if crc == self._wanted[number]:
            return
        self.broken_count += 1
        if len(self.broken) < self.most:
            name = self._names[number]
            self.broken.append(Mismatch(name, self._starts[number], self._ends[number]))
