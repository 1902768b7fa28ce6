"""Reads a finished log as UTF-8: any file, pipe or standard input, compressed or not."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

from ..system import places
from ..system.errors import UsageError
from .decompress import HEAD, DamagedLog, foreign, packing, unpacked
from .encodings import ToUtf8

READ = 1 << 20
"""Bytes to read at a time."""
WRITER_S = 2.0
"""Seconds to wait until a program begins to write into a named pipe. With ``<(zcat x)``, or a
writer that is started together with the reader, it takes milliseconds."""


class LogInput:
    """One log, read once from its first byte to its last."""

    def __init__(
        self,
        name: str,
        stream: BinaryIO,
        size: int | None,
        begun: bytes = b"",
    ) -> None:
        self.name = name
        self.size = size
        """Bytes on disk; ``None`` for pipes, and for files without a size (``/proc``)."""
        self.taken = len(begun)
        """Bytes read so far, before unpacking."""
        self.bytes = 0
        """Bytes of text so far: unpacked, in the encoding of the log."""
        self._stream = stream
        self._text = ToUtf8()
        self._head = self._first(begun)
        self.packing = packing(self._head, name)
        """``gzip``, ``xz``, ``zstd``, ``bzip2``, or ``""`` for plain text."""

    @property
    def foreign(self) -> UsageError | None:
        """The error for a log that is an archive of another kind, else ``None``."""
        return foreign(self._head, self.name)

    @property
    def encoding(self) -> str:
        """Encoding of the text that was read so far."""
        return self._text.name

    def chunks(self) -> Iterator[bytes]:
        """The text in UTF-8.

        Raises :class:`DamagedLog` after the last text that can be read. Raises UsageError before
        any text where it cannot be unpacked, or where an archive is inside.
        """
        try:
            for chunk in unpacked(self.packing, self.name, self._raw()):
                if not self.bytes and (inside := foreign(chunk[:HEAD], self.name)):
                    raise inside
                self.bytes += len(chunk)
                text = self._text.feed(chunk)
                if text:
                    yield text
        except (DamagedLog, KeyboardInterrupt):
            yield self.rest()
            raise
        yield self.rest()

    def rest(self) -> bytes:
        """The text held back until its encoding is known; for a reading that is broken off."""
        return self._text.finish()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._stream is not getattr(sys.stdin, "buffer", None):
            self._stream.close()

    def _first(self, head: bytes) -> bytes:
        """The first :data:`HEAD` bytes, which show what it is; fewer of a shorter file."""
        while len(head) < HEAD:
            data = self._take(HEAD - len(head))
            if not data:
                break
            head += data
        return head

    def _raw(self) -> Iterator[bytes]:
        head, self._head = self._head, b""
        if head:
            yield head
        while data := self._take(READ):
            yield data

    def _take(self, most: int) -> bytes:
        # Only what is there now: a pipe may stay silent for hours after a few lines.
        read = getattr(self._stream, "read1", self._stream.read)
        try:
            data: bytes = read(most) or b""
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise DamagedLog(f"it cannot be read any further: {reason}") from error
        self.taken += len(data)
        return data


def open_log(name: str) -> LogInput:
    """Open the log called ``name``; ``-`` is standard input.

    Raises UsageError for what is not a log, or cannot be read.
    """
    if name == "-":
        if sys.stdin is None:
            raise UsageError("standard input cannot be read: it is closed")
        stream: BinaryIO = sys.stdin.buffer
        size, begun = None, b""
    else:
        try:
            stream, size, begun = _open(name)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            closed = isinstance(error, PermissionError)
            hint = "do it as its user, or with sudo" if closed else "name a log with its folder"
            raise UsageError(f"{name} cannot be read: {reason}", hint) from error
    try:
        source = LogInput(name, stream, size, begun)
    except DamagedLog as damage:
        stream.close()
        raise UsageError(f"{name} cannot be read: {damage}") from damage
    foreign_kind = source.foreign
    if foreign_kind is not None:
        source.close()
        raise foreign_kind
    return source


def _open(name: str) -> tuple[BinaryIO, int | None, bytes]:
    mode = os.stat(name).st_mode
    if stat.S_ISDIR(mode):
        raise UsageError(
            f"{name} cannot be read: it is a folder", f"name its logs: {name.rstrip('/')}/*.log"
        )
    if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        kind = "socket" if stat.S_ISSOCK(mode) else "block device"
        raise UsageError(f"{name} cannot be read: it is a {kind}, not a log")
    # A named pipe that nobody writes into would block here for ever.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = places.open_file(name) if stat.S_ISREG(mode) else os.open(name, flags)
    try:
        begun = _await_writer(name, descriptor) if stat.S_ISFIFO(mode) else b""
        os.set_blocking(descriptor, True)
        size = os.fstat(descriptor).st_size if stat.S_ISREG(mode) else 0
        return os.fdopen(descriptor, "rb", buffering=0), size or None, begun
    except BaseException:
        os.close(descriptor)
        raise


def _await_writer(name: str, descriptor: int) -> bytes:
    """Wait up to :data:`WRITER_S` until a pipe has data or a writer.

    Returns the byte that had to be read to find out, if any. Raises UsageError when no program
    has opened the pipe for writing.
    """
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if waiting.poll(WRITER_S * 1000):
        return b""
    try:
        data = os.read(descriptor, 1)
    except BlockingIOError:
        return b""  # a program has opened it and has not written yet
    if not data:
        raise UsageError(f"{name} cannot be read: it is a pipe that nobody writes into")
    return data
