"""Open a log, and find it again after a restart of the daemon, a rename or a copy.

Device and inode numbers are not enough to recognise a file: an inode number is reused as soon as
its file is gone, and a device number may change with every boot. So a position in a log is kept
with two checksums of the content before it: of the *head* (the first bytes of the file), and of
the *mark* (the bytes just before the offset).
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

from ..system import places
from ..system.descriptors import none_left
from ..system.errors import Unsupported

PRINT_BYTES = 256
"""Bytes under each checksum. One line of text distinguishes most logs; 256 bytes reach beyond a
common banner, and reading them costs no more than the system call."""
CHUNK_BYTES = 64 * 1024
"""Bytes given to the reader at once; larger chunks are no faster and use more memory."""
SIBLINGS = 10_000
"""Directory entries looked at in search of the old file: about 10 ms."""
ROTATIONS = 20
"""Numbered siblings looked at. logrotate and Python's handlers rarely keep more."""
COPIES = 32
"""Files with a name like the log's that are opened to compare their content."""
SEARCHES = 20
"""Searches for the old file while files beside it are being renamed: one rotation renames as many
as a handler keeps."""
SETTLED_NS = 20_000_000
"""A folder unchanged for this long is at rest: the kernel stamps changes by its tick, 10 ms at
most (CONFIG_HZ=100)."""
LINE_BYTES = 64 * 1024
"""How far back the start of the last line is searched; the parsers cut longer lines."""

Identity = tuple[int, int]
"""(device, inode): identifies a file only while it is held open."""


class FilePosition(NamedTuple):
    """A position in a file, recognised by the content before it."""

    inode: int
    offset: int
    head: int
    """CRC-32 of the first ``head_len`` bytes."""
    head_len: int
    mark: int
    """CRC-32 of the ``mark_len`` bytes before the offset."""
    mark_len: int
    mtime_ns: int
    """Last change seen, in ns since the epoch: a copy of the file must be newer."""

    @classmethod
    def parse(cls, state: Mapping[str, Any]) -> FilePosition | None:
        """From a dict with the fields' names; ``None`` when it is damaged."""
        values = [v for v in map(state.get, cls._fields) if type(v) is int and 0 <= v < 1 << 63]
        if len(values) != len(cls._fields):
            return None
        place = cls(*values)
        return (
            place if max(place.head_len, place.mark_len) <= min(PRINT_BYTES, place.offset) else None
        )

    def held_by(self, fd: int) -> bool:
        """Whether the open file has this content before this offset."""
        head = os.pread(fd, self.head_len, 0)
        mark = os.pread(fd, self.mark_len, self.offset - self.mark_len)
        lengths = (len(head), len(mark)) == (self.head_len, self.mark_len)
        return lengths and (crc32(head), crc32(mark)) == (self.head, self.mark)


class OpenLog:
    """An open log and the position in it.

    The mark is read again with every read: a log that was truncated and grew past the old offset
    between two reads has other bytes there.
    """

    def __init__(self, fd: int, offset: int) -> None:
        """Take over ``fd``; raises OSError, with ``fd`` closed, when it cannot be read."""
        self.fd = fd
        self.offset = 0
        self._head = self._mark = b""
        self._ahead = 0  # from the offset up to here there are only NUL bytes
        self.at_end = False
        """Whether the newest ``read`` reached the end of the file."""
        try:
            look = os.fstat(fd)
            self.stand_at(offset)
        except OSError:
            os.close(fd)
            raise
        self.identity: Identity = (look.st_dev, look.st_ino)
        self.mtime_ns = look.st_mtime_ns
        """Last change before the newest read, as far as was seen."""

    def read(self, want: int) -> bytes | None:
        """The next ``want`` bytes of text or fewer; ``None``: the file was truncated or rewritten.

        Empty at the end of the file, and when only NUL bytes were skipped: then ``at_end`` is
        false.
        """
        known = len(self._mark)
        data = os.pread(self.fd, known + want, self.offset - known)
        if not data.startswith(self._mark) or not self._same_head():
            return None
        data = data[known:]
        self.at_end = len(data) < want
        # NUL bytes at the end may still be overwritten: a preallocated log is filled from its
        # front.
        data = data.rstrip(b"\0")
        if not data:
            self.at_end = self.at_end or not self._over_nuls(want)
            return b""
        if self.offset < PRINT_BYTES:
            self._head = (self._head + data)[:PRINT_BYTES]
        self._mark = (self._mark + data[-PRINT_BYTES:])[-PRINT_BYTES:]
        self.offset += len(data)
        return data.lstrip(b"\0")

    def stand_at(self, offset: int) -> None:
        """Continue at ``offset``."""
        known = min(offset, PRINT_BYTES)
        self._head = os.pread(self.fd, known, 0)
        self._mark = os.pread(self.fd, known, offset - known)
        self.offset = offset
        self._ahead = 0

    def place(self) -> FilePosition:
        """The position, in a form that can be stored."""
        head, mark = self._head, self._mark
        return FilePosition(
            inode=self.identity[1],
            offset=self.offset,
            head=crc32(head),
            head_len=len(head),
            mark=crc32(mark),
            mark_len=len(mark),
            mtime_ns=self.mtime_ns,
        )

    def close(self) -> None:
        """Close the file."""
        os.close(self.fd)

    def _same_head(self) -> bool:
        # In a file that is no longer than the head, comparing the mark was enough.
        head = self._head
        return self.offset <= len(head) or os.pread(self.fd, len(head), 0) == head

    def _over_nuls(self, known: int) -> bool:
        """Search for text after ``known`` NUL bytes, one chunk per call; False: none yet.

        If a log is truncated whose writer does not use ``O_APPEND``, the writer continues at its
        old offset. The bytes before it read as NUL; most file systems store them as a hole.
        """
        ahead = max(self._ahead, self.offset + known)
        try:
            ahead = os.lseek(self.fd, ahead, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return False
        data = os.pread(self.fd, CHUNK_BYTES, ahead)
        if data.strip(b"\0"):
            self.stand_at(ahead)
            return True
        self._ahead = ahead + len(data)
        return len(data) == CHUNK_BYTES


def open_log(name: str) -> int:
    """Open the log ``name`` for reading; returns the descriptor.

    Raises FileNotFoundError, PermissionError, IsADirectoryError or another OSError, and
    Unsupported for a pipe or a device: reading would take the bytes away from another reader. A
    name that leads to what those who made it may not read is a PermissionError.
    """
    try:
        return places.open_file(name)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such file yet", name) from None
    except IsADirectoryError:
        raise IsADirectoryError(errno.EISDIR, "is a directory, not a log", name) from None
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    raise Unsupported(f"{name} is a pipe or a device, not a file that can be followed")


def open_same(name: str, place: FilePosition) -> int | None:
    """Open ``name`` if it is the file of ``place`` itself."""
    return _open_if(name, place, same=True)


def find(path: str, place: FilePosition) -> int | None:
    """Open the file that was read as ``path``, also under another name, or else a copy of it.

    A rotation during the search can hide the file: it is renamed between the listing and the
    opening. So the search is repeated until it finds the file or the folder is at rest. Raises
    OSError when no descriptor is left to look.
    """
    folder = os.path.dirname(path) or "."
    for _ in range(SEARCHES):
        began = time.time_ns()
        fd = _find_once(path, place)
        if fd is not None or _changed_ns(folder) < began - SETTLED_NS:
            return fd
    return None


def _find_once(path: str, place: FilePosition) -> int | None:
    moved, copies = _candidates(path, place)
    for name in (path, *moved):
        fd = _open_if(name, place, same=True)
        if fd is not None:
            return fd
    return _first_copy([path, *copies] if place.offset else copies, place)


def _changed_ns(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def find_copy(path: str, place: FilePosition) -> int | None:
    """Open a copy beside ``path`` that was made before ``path`` was truncated."""
    return _first_copy(_candidates(path, place)[1], place)


def rotated_after(path: str, identity: Identity) -> tuple[str, Identity] | None:
    """Name and identity of the rotated file that follows ``identity``, itself now ``path.N``.

    ``None`` when ``path`` itself follows it, or when no ``path.N`` has that identity.
    """
    newer: tuple[str, Identity] | None = None
    for number in range(1, ROTATIONS + 1):
        name = f"{path}.{number}"
        try:
            look = os.stat(name)
        except OSError:
            continue  # while the files are being renamed, a number may be missing
        if (look.st_dev, look.st_ino) == identity:
            return newer
        newer = name, (look.st_dev, look.st_ino)
    return None


def bytes_after(path: str, identity: Identity) -> int:
    """Bytes of the files that follow ``identity``: ``path`` and what was rotated in between, as far as
    their names tell. Without the file itself."""
    sizes: list[int] = []
    for name in (path, *(f"{path}.{number}" for number in range(1, ROTATIONS + 1))):
        try:
            look = os.stat(name)
        except OSError:
            continue
        if (look.st_dev, look.st_ino) == identity:
            return sum(sizes)
        sizes.append(look.st_size)
    return sizes[0] if sizes else 0


def last_line(fd: int) -> int:
    """Offset of the start of the last line if that is unfinished, else the size of the file."""
    size = os.fstat(fd).st_size
    start = max(0, size - LINE_BYTES)
    newline = os.pread(fd, size - start, start).rfind(b"\n")
    return start + newline + 1


def recent(fd: int, reach_bytes: int) -> int:
    """Offset of the first line in the last ``reach_bytes`` of the file; 0 for a shorter file."""
    start = os.fstat(fd).st_size - reach_bytes
    if start <= 0:
        return 0
    return start + os.pread(fd, LINE_BYTES, start).find(b"\n") + 1


def _candidates(path: str, place: FilePosition) -> tuple[list[str], list[str]]:
    """Siblings that may be the file under another name, and those that may be a copy."""
    folder, base = os.path.split(path)
    moved: list[str] = []
    copies: list[str] = []
    try:
        with os.scandir(folder or ".") as entries:
            for entry in islice(entries, SIBLINGS):
                alike = entry.name.startswith(base)
                # Without content to compare, an inode number that was reused proves nothing.
                if entry.inode() == place.inode and (alike or place.offset):
                    moved.append(entry.path)
                elif alike and entry.name != base and place.mark_len == PRINT_BYTES:
                    copies.append(entry.path)
    except OSError as error:  # the folder cannot be listed: then only ``path`` itself is tried
        if none_left(error):
            raise
    return moved, copies[:COPIES]


def _first_copy(names: list[str], place: FilePosition) -> int | None:
    for name in names:
        fd = _open_if(name, place, same=False)
        if fd is not None:
            return fd
    return None


def _open_if(name: str, place: FilePosition, *, same: bool) -> int | None:
    try:
        fd = open_log(name)
    except Unsupported:
        return None
    except OSError as error:
        if none_left(error):  # it may be this file: nobody may take it for lost
            raise
        return None
    try:
        look = os.fstat(fd)
        fits = look.st_ino == place.inode if same else look.st_ctime_ns >= place.mtime_ns
        if fits and place.held_by(fd):
            return fd
    except OSError:
        pass
    os.close(fd)
    return None
