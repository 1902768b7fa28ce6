"""Follow one log: every byte once, in order, through rotation, truncation and restarts.

What happens to a log, and what is done:

- renamed and created again: the old file is read to its end, then the rotated ones between
  (``a.log.2``, ``a.log.1``), then the new file from its start, as soon as it is not empty. So the
  old file is followed as long as its writer keeps it open and nobody writes to the new one.
- truncated (``> a.log``): read from 0 again. If a copy was made first (copytruncate), the rest of
  the copy is read before. The NUL bytes that a writer without ``O_APPEND`` leaves are skipped.
- deleted: followed through the open file; a new file with the same name is read after it.
- missing, not readable, a directory or a pipe: raised at every read until that changes, unless
  the old file is still open and can be followed.

Not seen: bytes written to the old file after the new one was used; when several rotations with
dates in their names happen between two reads, the files in the middle; anything in a ``.gz``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from middlewatch.sentinels.kit import LineSigns, LogGrowth, Observation, codec

from ..system.errors import Unsupported
from ..system.inotify import ChangeHints, Inotify
from ..system.source import Source
from .log_file import (
    CHUNK_BYTES,
    FilePosition,
    Identity,
    OpenLog,
    find,
    find_copy,
    last_line,
    open_log,
    open_same,
    recent,
    rotated_after,
)

READ_BYTES = 256 * 1024
"""Bytes after which one call stops reading, so that a large backlog does not delay other sources:
the parsers need 50 ms for it when every line has metrics (5 MiB/s), 2 ms when few have."""
SIP_BYTES = 16 * 1024
"""Bytes of the first read of a call: logs usually grow by less, and a larger buffer costs time."""
TICK_S = 2.0
"""Coarsest time stamps of a file system (FAT; ext4 and xfs: 1 to 10 ms). A file that changed within
this time may change again with the same modification time."""
REACH_BYTES = 16 << 20
"""How much of an existing log is read at the start: hours of most runs, in a few seconds.
`middlewatch replay` reads a whole log."""
BEAT_S = 10.0
"""Seconds after which a LogGrowth is reported in any case (the heartbeat), and missing inotify
watches are tried again."""

TailState = dict[str, Any]
"""What :meth:`LogTail.state` gives: plain JSON values."""


@dataclass(slots=True)
class Progress:
    """What is known about the reading of a log, apart from the position in its file."""

    open_line: bool = False
    """The text read last does not end with a newline."""
    skipped_bytes: int = 0
    """Bytes before the offset where reading began; lines are counted from there."""
    size: int | None = None
    grown_at: float = 0.0
    chunk_bytes: int = 0
    """Bytes of the newest growth."""


class LogParser(Protocol):
    """What a tail needs of a reader (``daemon.parsers.reader.LogReader`` is one)."""

    @property
    def lines(self) -> int:
        """Complete lines so far."""
        ...

    @property
    def signs(self) -> LineSigns | None:
        """What the lines without a report are about; ``None`` when it does not count them."""
        ...

    def feed(self, data: bytes, now: float) -> Iterable[Observation]:
        """Take the next bytes of the stream, cut anywhere."""
        ...

    def save(self) -> dict[str, Any]:
        """Its state as plain JSON values."""
        ...


class LogTail(Source):
    """One log of a run.

    ``ready`` reads if inotify reported a change of this log, ``read`` in any case. After each
    call, ``due_at`` says whether to call ``read`` before the next heartbeat. ``via``
    (``/proc/PID/fd/N``) is opened instead of ``path`` for a log that was deleted. ``offset`` is
    what ``state`` gave before a restart; the caller restores ``reader`` from its ``reader`` entry.
    With ``from_start=False`` a log that exists at the first read is read from its last line on.
    """

    every_s = 1.0

    def __init__(
        self,
        path: str,
        reader: LogParser,
        inotify: Inotify | None,
        *,
        via: str | None = None,
        offset: TailState | None = None,
        from_start: bool = True,
    ) -> None:
        self.name = f"log_tail:{path}"
        self.path = path
        self.reader = reader
        self.more = False
        """True when a call stopped at ``READ_BYTES``: call ``read`` again soon."""
        self.detail = f"followed through {via}" if via else ""
        """What is special about the file now (deleted, rotated, …), for a person."""
        self._nameless = False
        self._via = via
        self._from_start = from_start
        self._hints = ChangeHints(inotify, path, by_name=not via)
        self._file: OpenLog | None = None
        self._seen: tuple[int, ...] = ()  # stat of a log that was read to its end
        self._taken = 0  # bytes read by this call
        self._looked_bytes = 0  # size of the file at the newest look
        self._beat_at = float("-inf")
        self._resume = FilePosition.parse(offset or {})
        self._now = codec.load_or_new(Progress, offset)

    @property
    def skipped_bytes(self) -> int:
        """Bytes before the offset where reading began; lines are counted from there."""
        return self._now.skipped_bytes

    @property
    def due_at(self) -> float | None:
        """0 (at once) while there is more to read; ``None``: the heartbeat is enough."""
        return 0.0 if self.more else None

    @property
    def impaired(self) -> str:
        """Not empty while the log is deleted: its content will be lost when its writer ends."""
        return self.detail if self._nameless else ""

    def fds(self) -> Iterable[int]:
        """The shared inotify descriptor; nothing while there is no watch of this log."""
        return self._hints.fds()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the inotify events; read if one is about this log."""
        return self.read(now) if self._hints.collect(now) else ()

    def read(self, now: float) -> Iterable[Observation]:
        """The observations in the new text, and a LogGrowth if the log grew or a heartbeat is due.

        Raises FileNotFoundError, PermissionError, IsADirectoryError or another OSError, or
        Unsupported (pipe, device), when nothing could be read.
        """
        self._hints.clear(now)
        beat = not 0 <= now - self._beat_at < BEAT_S
        if not beat and not self.more and self._unchanged():
            return ()
        if beat:
            self._beat_at = now
        said: list[Observation] = []
        self._seen = ()
        self._taken = 0
        self.more = False
        try:
            self._advance(said, now)
        except (OSError, Unsupported) as error:
            if isinstance(error, OSError) and error.errno == errno.ESTALE:
                self._let_go()  # the NFS handle is stale: find the file again by its content
            if not said and not self._taken:
                raise
            # Return what was read first; the error will be raised at the next read.
        finally:
            if beat:  # after opening the file, which needs a descriptor more urgently
                self._hints.ask(self._file.fd if self._file is not None else -1)
        if self._file is not None and (self._note_size(now) or self._taken or beat):
            said.append(self._growth(now))
        return said

    def state(self) -> TailState:
        """The position and the state of the reader: ``offset`` after a restart."""
        place = self._file.place() if self._file is not None else self._resume
        return {
            **(place._asdict() if place else {}),
            **codec.dump(self._now),
            "reader": self.reader.save(),
        }

    def close(self) -> None:
        """Close the file and remove the inotify watches; ``state`` stays valid."""
        self._let_go()
        self._hints.close()

    # -- reading

    def _unchanged(self) -> bool:
        if self._file is None:
            return False
        try:
            look = os.fstat(self._file.fd) if self._via else os.stat(self.path)
        except OSError:
            return False
        return _stamp(look) == self._seen

    def _advance(self, said: list[Observation], now: float) -> None:
        """Read, from file to file, up to the end of the newest or ``READ_BYTES``."""
        file = self._file or self._open_first(said, now)
        while True:
            # Look for the next file before reading the last bytes of this one: a writer that
            # already uses the next file will write nothing more to this one.
            following = self._following(file)
            look = os.fstat(file.fd)
            if not self._drain(file, said, now):
                file = self._start_over(file, said, now)
                continue
            file.mtime_ns = look.st_mtime_ns
            self._looked_bytes = max(look.st_size, file.offset)
            if self.more:
                return
            if following is None:
                if look.st_mtime < now - TICK_S:
                    self._seen = _stamp(look)
                return
            opened = self._go_to(following, said, now)
            if opened is None:
                return
            file = opened

    def _drain(self, file: OpenLog, said: list[Observation], now: float) -> bool:
        """Feed the new text to the reader; False when the file was truncated or rewritten."""
        while self._taken < READ_BYTES:
            text = file.read(CHUNK_BYTES if self._taken else SIP_BYTES)
            if text is None:
                return False
            if text:
                self._taken += len(text)
                self._now.open_line = not text.endswith(b"\n")
                said.extend(self.reader.feed(text, now))
            if file.at_end:
                return True
            if not text:
                self._taken += CHUNK_BYTES  # NUL bytes count too: skipping them takes time
        self.more = True
        return True

    def _end_line(self, said: list[Observation], now: float) -> None:
        """End an unfinished line: the next text is from another file and begins a new line."""
        if self._now.open_line:
            self._now.open_line = False
            said.extend(self.reader.feed(b"\n", now))

    def _note_size(self, now: float) -> bool:
        """Note the size of the file; True if it changed since the last read."""
        size = self._looked_bytes
        before, self._now.size = self._now.size, size
        if before is None:
            self._now.grown_at = now
        elif size > before:
            self._now.grown_at = now
            self._now.chunk_bytes = size - before
        return size != before

    def _growth(self, now: float) -> LogGrowth:
        return LogGrowth(
            at=now,
            file=self.path,
            bytes=self._now.size or 0,
            lines=self.reader.lines,
            grown_at=self._now.grown_at,
            chunk_bytes=self._now.chunk_bytes,
            signs=self.reader.signs,
        )

    # -- which file

    def _open_first(self, said: list[Observation], now: float) -> OpenLog:
        place = self._resume
        if place is not None:
            fd = open_same(self._via, place) if self._via else find(self.path, place)
            if fd is not None:
                return self._adopt(fd, place.offset)
        try:
            fd = open_log(self._via or self.path)
        except FileNotFoundError:
            self._from_start = True  # the log will be created later: all of it is new
            raise
        if place is not None:
            if self._via and os.fstat(fd).st_ino != place.inode:
                os.close(fd)
                raise FileNotFoundError(errno.ENOENT, "another file is open there now", self._via)
            self._end_line(said, now)
            self._now.size = 0
            return self._adopt(fd, 0)
        if not self._from_start:
            return self._adopt(fd, last_line(fd))
        self._now.skipped_bytes = recent(fd, REACH_BYTES)
        return self._adopt(fd, self.skipped_bytes)

    def _following(self, file: OpenLog) -> tuple[str, Identity] | None:
        """Name and (device, inode) of the file to read after this one, if there is one."""
        if self._via:
            return None
        try:
            there = os.stat(self.path)
        except OSError as error:
            gone = os.fstat(file.fd).st_nlink == 0
            why = "deleted" if gone else "moved away" if error.errno == errno.ENOENT else str(error)
            self.detail = f"{why}, followed through its open file"
            self._nameless = gone
            return None
        self._nameless = False
        if (there.st_dev, there.st_ino) == file.identity:
            self.detail = ""
            return None
        between = rotated_after(self.path, file.identity)
        if between is not None:
            return between
        if not stat.S_ISREG(there.st_mode):
            self.detail = "replaced by a directory or device, the old file is followed"
            return None
        if there.st_size == 0:
            self.detail = "rotated, the old file is followed until the new one is used"
            return None
        return self.path, (there.st_dev, there.st_ino)

    def _go_to(
        self, following: tuple[str, Identity], said: list[Observation], now: float
    ) -> OpenLog | None:
        name, identity = following
        fd = open_log(name)
        look = os.fstat(fd)
        if (look.st_dev, look.st_ino) != identity:
            os.close(fd)  # rotated again at this moment: the next read finds the right file
            return None
        self._end_line(said, now)
        self._now.size = 0
        return self._adopt(fd, 0)

    def _start_over(self, file: OpenLog, said: list[Observation], now: float) -> OpenLog:
        """After a truncation: continue in a copy of the old content, else from 0."""
        copy = None if self._via else find_copy(self.path, file.place())
        if copy is not None:
            return self._adopt(copy, file.offset)
        self._end_line(said, now)
        self._now.size = 0
        file.stand_at(0)
        return file

    def _adopt(self, fd: int, offset: int) -> OpenLog:
        """Continue in this file at ``offset``; the file before is closed."""
        file = OpenLog(fd, offset)
        self._release()
        self._file = file
        self._resume = None
        self._hints.ask(fd)
        return file

    def _let_go(self) -> None:
        if self._file is not None:
            self._resume = self._file.place()
        self._release()

    def _release(self) -> None:
        self._hints.forget_file()
        if self._file is not None:
            self._file.close()
            self._file = None


def _stamp(look: os.stat_result) -> tuple[int, ...]:
    return look.st_size, look.st_mtime_ns, look.st_ino, look.st_dev
