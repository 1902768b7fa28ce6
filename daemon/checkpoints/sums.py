"""Compare the records of a file with their checksums while the file is read in order."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from isal.isal_zlib import crc32

from .packed import Names
from .placed import Record


class Mismatch(NamedTuple):
    """A record whose bytes are not those that were written."""

    name: str
    start: int
    end: int


class Sums:
    """The checksums of one file. Feed it the file from the first byte to the last."""

    def __init__(self, records: Sequence[Record]) -> None:
        summed = sorted((r for r in records if r.crc is not None and r.bytes), key=_start)
        self.left_out = sum(1 for r in records if r.crc is None and r.bytes)
        """Records that have bytes and no checksum."""
        self.compared = 0
        self.broken: list[Mismatch] = []
        """The first ``most`` of them, in the order of the file."""
        self.broken_count = 0
        self._starts = array("q", [r.start for r in summed])
        self._ends = array("q", [r.start + r.bytes for r in summed])
        self._wanted = array("L", [r.crc or 0 for r in summed])
        self._names = Names(r.name for r in summed)
        self._next = 0
        self._open: list[tuple[int, int]] = []
        """Number and checksum so far of the records that were begun; one, unless they overlap."""

    most = 3

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
        while self._next < len(self._starts) and self._starts[self._next] < end:
            number, until = self._next, self._ends[self._next]
            self._next += 1
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


def _start(record: Record) -> int:
    return record.start
