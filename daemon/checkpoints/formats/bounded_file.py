"""Read a little of a big file: bounded, by position, and without filling the page cache.

When a file seems to be read in order the kernel reads ahead. That evicts what the training has
cached, and counts against its memory limit. POSIX_FADV_RANDOM turns reading ahead off. Pages that
a short read brought into the cache are dropped again: the headers of 34,000 tensors lie on as many
pages.
"""

from __future__ import annotations

import bisect
import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from types import TracebackType

from ...system import page_cache, places
from ...system.files import drop_cached

LONGEST = 32 << 20
"""Limit on one read, in bytes: the central directory of an archive with 400,000 records."""
_SAMPLES = 32
_SAMPLE = _PAGE = 4096
_MOST_HOLES = 1000
_SHORT = 64 << 10
"""Bytes: reads up to this length leave the page cache as it was."""


class FileTooShort(Exception):
    """The file is shorter than its own header says, or than the read that was asked for."""


class BoundedFile:
    """A regular file, opened for reads at any offset. OSError if it is none or cannot be opened."""

    begin = 0
    """Offset at which it begins in the file on disk: 0 except in a :meth:`window`."""
    _kept_at = -1
    _kept = b""
    """The page that was read last: the headers of small tensors share one."""

    def __init__(self, path: str) -> None:
        self._fd = places.open_file(path)
        try:
            found = os.fstat(self._fd)
            self.size = self._end = found.st_size
            page_cache.no_reading_ahead(self._fd)
        except OSError:
            os.close(self._fd)
            raise

    def __enter__(self) -> BoundedFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)

    def read_at(self, offset: int, count: int) -> bytes:
        """Exactly ``count`` bytes from ``offset``. Raises :class:`FileTooShort` if there are fewer."""
        if offset < 0 or count < 0 or count > LONGEST or offset + count > self.size:
            raise FileTooShort(f"bytes {offset} to {offset + count} of a file of {self.size}")
        start = self.begin + offset
        page = start // _PAGE * _PAGE
        if start + count <= page + _PAGE:
            if self._kept_at != page or len(self._kept) < start + count - page:
                self._kept, self._kept_at = self._read(page, _PAGE), page
            found = self._kept[start - page : start - page + count]
        else:
            found = self._read(start, count)
        if len(found) < count:
            raise FileTooShort(f"the file shrank below {offset + count} bytes while it was read")
        return found

    def _read(self, start: int, count: int) -> bytes:
        """Bytes from offset ``start`` of the file on disk, fewer where it ends."""
        parts = []
        count = min(count, self._end - start)  # no call of the kernel to be told of the end
        while count > 0:
            part = self._short(start, count) if count <= _SHORT else b""
            part = part or os.pread(self._fd, count, start)
            if not part:
                break
            parts.append(part)
            start += len(part)
            count -= len(part)
        return b"".join(parts)

    def _short(self, start: int, count: int) -> bytes:
        """A read that leaves the page cache as it was; empty where the kernel cannot do that."""
        buffer = bytearray(count)
        try:
            return bytes(buffer[: page_cache.read_cached(self._fd, buffer, start)])
        except BlockingIOError:
            found = os.pread(self._fd, count, start)
            first = start // _PAGE * _PAGE
            length = start + len(found) - first
            drop_cached(self._fd, first, -(-length // _PAGE) * _PAGE)
            return found
        except OSError:
            return b""  # a file system without RWF_NOWAIT

    def read_up_to(self, offset: int, count: int) -> bytes:
        """Bytes from ``offset``, fewer where the file ends."""
        return self.read_at(min(offset, self.size), max(0, min(count, self.size - offset)))

    def forget(self, offset: int, count: int) -> None:
        """Drop these bytes from the page cache."""
        drop_cached(self._fd, self.begin + offset, count)

    def window(self, offset: int, count: int) -> BoundedFile:
        """A part of the file, readable like a file; do not close it. :class:`FileTooShort`."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise FileTooShort(f"bytes {offset} to {offset + count} of a file of {self.size}")
        part = BoundedFile.__new__(BoundedFile)
        part._fd, part.begin, part.size = self._fd, self.begin + offset, count  # noqa: SLF001
        part._end = self._end  # noqa: SLF001
        return part

    def zero_tail(self) -> int:
        """Number of zero bytes at the end, at most 64 KiB."""
        tail = self.read_up_to(max(0, self.size - (1 << 16)), 1 << 16)
        return len(tail) - len(tail.rstrip(b"\0"))

    def lost_tail(self, borders: Iterable[int] = ()) -> int:
        """Bytes of zeroes from a page border to the end, if they show lost data; else 0.

        A crash before the data reached the disk leaves whole pages of zeroes after real data. A
        tensor whose elements are all zero looks alike, but begins where a tensor begins:
        ``borders`` are those offsets, and zeroes that begin at one of them are no loss. Other
        zeroes begin within eight bytes after a page border only by chance, one time in 500.
        """
        first, last = 0, (self.size - 1) // _PAGE
        if self.size < 2 * _PAGE or any(self.read_up_to((last - 1) * _PAGE, 2 * _PAGE)):
            return 0
        while first < last:  # binary search for the first page of zeroes
            middle = (first + last) // 2
            if any(self.read_up_to(middle * _PAGE, _PAGE)):
                first = middle + 1
            else:
                last = middle
        start = first * _PAGE
        near = any(start - 8 <= border <= start + 8 for border in borders)
        return 0 if near or not any(self.read_up_to(max(0, start - 8), 8)) else self.size - start

    def lost_hole(self, borders: Iterable[int] = ()) -> tuple[int, int]:
        """(offset, bytes) of a hole in the middle of data, where pages were never written; (0, 0): none.

        A file system that compresses, and a copy with ``--sparse``, makes holes of zeroes as well. Those are no
        loss, and their zeroes begin and end somewhere near the hole. Where pages are missing, there are numbers
        within eight bytes on both sides; by chance both are so one time in 250,000. ``borders``: where tensors
        begin; a hole that begins or ends at one of them may be a tensor that is zero.
        """
        found = [(a, b) for a, b in self._holes() if a >= _PAGE and b < self.size]
        if not found:
            return 0, 0
        known = sorted(borders)
        for start, end in found:
            at = (bisect.bisect_left(known, place - 8) for place in (start, end))
            if any(
                n < len(known) and known[n] <= p + 8 for n, p in zip(at, (start, end), strict=True)
            ):
                continue
            if any(self.read_up_to(start - 8, 8)) and any(self.read_up_to(end, 8)):
                return start, end - start
        return 0, 0

    def all_hole(self) -> bool:
        """Whether nothing was ever written to it: it was only given its length."""
        return next(self._holes(), (1, 0)) == (0, self.size) if self.size else False

    def _holes(self) -> Iterator[tuple[int, int]]:
        """(begin, end) of the first holes of the file on disk, as offsets of this one. None where the file
        system does not tell."""
        at, last = self.begin, self.begin + self.size
        with contextlib.suppress(OSError):
            for _ in range(_MOST_HOLES):
                at = os.lseek(self._fd, at, os.SEEK_HOLE)
                if at >= last:
                    return
                try:
                    end = min(last, os.lseek(self._fd, at, os.SEEK_DATA))
                except OSError as error:
                    if error.errno != errno.ENXIO:  # it has no data up to its end
                        raise
                    end = last
                yield at - self.begin, end - self.begin
                at = end

    def all_zero(self) -> bool:
        """Whether every byte is zero, judged by 32 samples over the whole file."""
        spots = {self.size * part // _SAMPLES // _SAMPLE * _SAMPLE for part in range(_SAMPLES)} | {
            max(0, self.size - _SAMPLE)
        }
        return self.size > 0 and not any(
            any(self.read_up_to(spot, _SAMPLE)) for spot in sorted(spots)
        )
