"""Opening a log that has ended: any file, pipe or standard input, packed or not, as UTF-8."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

from ..system.errors import UsageError
from .decompress import HEAD, UNPACK, DamagedLog, foreign, packing
from .encodings import ToUtf8

READ = 1 << 20
"""Bytes to read at a time."""
WRITER_S = 2.0
"""Patience for somebody to begin writing into a named pipe. ``<(zcat x)`` and ``mkfifo`` with
a writer that starts along with the reader take milliseconds."""


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
        """Bytes on disk; ``None`` for pipes, and for files that do not tell (``/proc``)."""
        self.taken = len(begun)
        """Bytes read so far, as they lie on disk."""
        self.bytes = 0
        """Bytes of text so far: unpacked, in the log's own encoding."""
        self._stream = stream
        self._text = ToUtf8()
        self._head = self._first(begun)
        self.packing = packing(self._head)
        """``gzip``, ``xz``, ``zstd``, ``bzip2``, or ``""`` for plain text."""

    @property
    def foreign(self) -> UsageError | None:
        """Why it is no log that can be read here, if it is none."""
        return foreign(self._head, self.name)

    @property
    def encoding(self) -> str:
        """What the text is written in, as far as it has been read."""
        return self._text.name

    def chunks(self) -> Iterator[bytes]:
        """The text in UTF-8. Raises :class:`DamagedLog` after the last of what can be read, and
        UsageError before anything else where it cannot be unpacked, or is no log inside."""
        unpack = UNPACK.get(self.packing)
        try:
            for chunk in self._raw() if unpack is None else unpack(self._raw()):
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
        """Text that is held back to find out its encoding, once: for a reading that breaks off."""
        return self._text.finish()

    def close(self) -> None:
        """Let the file go; standard input stays open."""
        if self._stream is not getattr(sys.stdin, "buffer", None):
            self._stream.close()

    def _first(self, head: bytes) -> bytes:
        """Enough to recognise what it is."""
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
        # What is there now: a pipe may stay silent for hours after a few lines.
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

    Raises UsageError for what is no log and what may not be read.
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
            raise UsageError(f"{name} cannot be read: {reason}") from error
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
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        begun = _await_writer(name, descriptor) if stat.S_ISFIFO(mode) else b""
        os.set_blocking(descriptor, True)
        size = os.fstat(descriptor).st_size if stat.S_ISREG(mode) else 0
        return os.fdopen(descriptor, "rb", buffering=0), size or None, begun
    except BaseException:
        os.close(descriptor)
        raise


def _await_writer(name: str, descriptor: int) -> bytes:
    """Wait until a pipe has data, or has had a writer; returns what had to be read for that.

    Raises UsageError when neither comes.
    """
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if waiting.poll(WRITER_S * 1000):
        return b""
    try:
        data = os.read(descriptor, 1)
    except BlockingIOError:
        return b""  # it is open at the other end, and silent
    if not data:
        raise UsageError(f"{name} cannot be read: it is a pipe that nobody writes into")
    return data
