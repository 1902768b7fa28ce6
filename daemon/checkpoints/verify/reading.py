"""Read a whole file once, in order, and leave the page cache as it was.

Data in the page cache (a checkpoint that was just written) is read from there. Other data is
read with O_DIRECT, bypassing the cache: reading it the usual way would evict what the training
has cached, and count against the memory limit of the box. Where there is no O_DIRECT it is read
the usual way, and the pages that this brought into the cache are dropped afterwards.

cachestat(2) and mincore(2) tell what is cached. preadv2(2) with RWF_NOWAIT is not enough: since
Linux 5.10 it starts to read what is not cached.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple

from ...system import page_cache, places
from ...system.files import drop_cached

CHUNK = 512 << 10
"""Bytes handed out at once: they stay in the second-level cache while four tests run over them.
Measured, CPU seconds for 1 GiB in the page cache: 0.125 with 128 KiB, 0.103 with 256,
0.093 with 512, 0.091 with 1 MiB."""
COLD_CHUNKS = 2
"""Chunks of one direct read. Measured: a disk is as fast with 1 MiB as with 4 MiB."""
_PAGE = mmap.PAGESIZE
_WINDOW = 64 * CHUNK
"""Bytes whose state in the cache is asked at once."""
_REFUSED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)


class FileFingerprint(NamedTuple):
    """What changes when a file is written or replaced."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> FileFingerprint:
        """From a ``stat``."""
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class FileReader:
    """Reads a regular file from the first byte to the last. OSError if it cannot be opened."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = places.open_file(path)
        self._direct = -1
        try:
            found = os.fstat(self._fd)
            self.mark = FileFingerprint.of(found)
            self.size = found.st_size
            self._told = _may_ask(path, found)
            page_cache.no_reading_ahead(self._fd)
            self._direct = _open_direct(f"/proc/self/fd/{self._fd}", self.mark)
        except OSError:
            self.close()
            raise
        self._buffer = mmap.mmap(-1, COLD_CHUNKS * CHUNK)  # aligned to a page, as O_DIRECT requires
        self._view = memoryview(self._buffer)

    def __enter__(self) -> FileReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. A second time does nothing."""
        for fd in (self._fd, self._direct):
            if fd >= 0:
                os.close(fd)
        self._fd = self._direct = -1

    def changed(self) -> bool:
        """Whether the file was written since it was opened, or its path now names another one."""
        try:
            return FileFingerprint.of(os.stat(self._path)) != self.mark
        except OSError:
            return True

    def chunks(self) -> Iterator[tuple[int, memoryview]]:
        """(offset, bytes) from the beginning to the size that the file had when it was opened.

        At most ``CHUNK`` bytes each, valid until the next one is asked for. Ends early where
        the file has shrunk. Raises OSError.
        """
        for start in range(0, self.size, _WINDOW):
            end = min(start + _WINDOW, self.size)
            cached = self._cached(start, end - start)
            at = start
            while at < end:
                filled = self._fill(at, start, end, cached)
                if not filled:
                    return
                for offset in range(0, filled, CHUNK):
                    yield at + offset, self._view[offset : min(offset + CHUNK, filled)]
                at += filled
            cold = self._direct >= 0 and self._told and b"\0" in cached
            if cold and self._cached(start, end - start) != cached:
                # btrfs reads compressed data through the page cache even with O_DIRECT.
                self._give_back(start, end - start, cached)

    def _fill(self, at: int, start: int, end: int, cached: bytes) -> int:
        """Read from ``at`` into the buffer: one chunk or several. Returns the number of bytes."""

        def is_cached(offset: int) -> bool:
            first = (offset - start) // _PAGE
            last = (min(offset + CHUNK, end) - 1 - start) // _PAGE
            return b"\0" not in cached[first : last + 1]

        if is_cached(at):
            wanted = min(CHUNK, end - at)
            if self._from_cache(at, wanted) == wanted:
                return wanted
        wanted = CHUNK
        while wanted < COLD_CHUNKS * CHUNK and at + wanted < end and not is_cached(at + wanted):
            wanted += CHUNK
        wanted = min(wanted, end - at)
        if self._direct >= 0:
            try:
                return self._directly(at, wanted)
            except OSError as error:
                if error.errno not in _REFUSED:
                    raise
                os.close(self._direct)
                self._direct = -1
        filled = os.preadv(self._fd, [self._view[:wanted]], at)
        self._give_back(at, filled, cached[(at - start) // _PAGE :])
        return filled

    def _directly(self, at: int, wanted: int) -> int:
        # At its end a file gives fewer bytes; the length must be a multiple of a page.
        filled = min(os.preadv(self._direct, [self._view[: _whole_pages(wanted)]], at), wanted)
        if at + filled < self.size:
            filled -= filled % _PAGE  # FUSE may give fewer; the next read must begin at a page
        return filled

    def _from_cache(self, at: int, wanted: int) -> int:
        try:
            return page_cache.read_cached(self._fd, self._view[:wanted], at)
        except BlockingIOError:
            return 0  # evicted meanwhile
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
        return os.preadv(self._fd, [self._view[:wanted]], at)  # tmpfs, some network disks

    def _give_back(self, at: int, filled: int, cached: bytes) -> None:
        """Drop the pages that were not cached before they were read."""
        pages = cached[: -(-filled // _PAGE)]
        first = pages.find(b"\0")
        while first >= 0:
            last = pages.find(b"\1", first)
            last = len(pages) if last < 0 else last
            length = (last - first) * _PAGE
            drop_cached(self._fd, at + first * _PAGE, length)
            first = pages.find(b"\0", last)

    def _cached(self, start: int, count: int) -> bytes:
        """One byte per page: 1 if it is in the page cache. All 0 if that is unknown."""
        pages = -(-count // _PAGE)
        known = _resident_pages(self._fd, start, count) if self._told else 0
        if known == 0:
            return bytes(pages)
        if known is not None and known >= pages:
            return b"\1" * pages
        return _resident(self._fd, start, count) or bytes(pages)


def _whole_pages(count: int) -> int:
    return -(-count // _PAGE) * _PAGE


def _may_ask(path: str, found: os.stat_result) -> bool:
    """Whether mincore tells the truth: of a file that we may not write it says all is cached."""
    if not page_cache.DIRECT:  # no Linux: its calls have other numbers
        return False
    return os.geteuid() in (0, found.st_uid) or os.access(path, os.W_OK)


def _open_direct(path: str, mark: FileFingerprint) -> int:
    """The same file, opened with O_DIRECT; -1 where that is not possible."""
    if not page_cache.DIRECT:
        return -1
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | page_cache.DIRECT
    try:
        fd = os.open(path, flags)
    except OSError:
        return -1
    if FileFingerprint.of(os.fstat(fd)) == mark:
        return fd
    os.close(fd)
    return -1  # replaced, or written to, between two calls


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_libc.syscall.argtypes = (
    ctypes.c_long,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_uint,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
_LOWEST_BIT = bytes(number & 1 for number in range(256))
_MAP_FAILED = ctypes.c_void_p(-1).value


_CACHESTAT = 451
"""Number of the system call on all architectures; since Linux 6.5."""


def _resident_pages(fd: int, start: int, count: int) -> int | None:
    """cachestat(2): number of cached pages in a range; ``None`` where the kernel lacks the call.

    It counts a large folio at once. mincore looks at each page, which takes a quarter of the
    time that reading takes (measured).
    """
    wanted = (ctypes.c_uint64 * 2)(start, count)
    found = (ctypes.c_uint64 * 5)()
    if _libc.syscall(_CACHESTAT, fd, wanted, found, 0) != 0:
        return None
    return int(found[0])


def _resident(fd: int, start: int, count: int) -> bytes | None:
    """mincore(2) of a range that begins at a page, one byte a page; ``None`` where it fails.

    The file is mapped for this, but no page of the mapping is touched, so nothing is read.
    """
    address = _libc.mmap(None, count, mmap.PROT_READ, mmap.MAP_SHARED, fd, start)
    if address == _MAP_FAILED:
        return None
    try:
        found = ctypes.create_string_buffer(-(-count // _PAGE))
        if _libc.mincore(address, count, found) != 0:
            return None
        return found.raw.translate(_LOWEST_BIT)  # the other bits are reserved
    finally:
        _libc.munmap(address, count)
