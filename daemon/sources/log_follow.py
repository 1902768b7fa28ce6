"""Follow one log: every byte once, in order, through rotation, truncation and restarts.

What happens to a log, and what is done:

- renamed and created again: the old file is read to its end, then the rotated ones between
  (``a.log.2``, ``a.log.1``), then the new file from its start, as soon as it is not empty. So the
  old file is followed as long as its writer keeps it open and nobody writes to the new one.
- truncated (``> a.log``): read from 0 again. If a copy was made first (copytruncate), the rest of
  the copy is read before. The NUL bytes that a writer without ``O_APPEND`` leaves are skipped.
- deleted: followed through the open file; a new file with the same name is read after it.
- not kept open, because descriptors are scarce (:mod:`..system.descriptors`): it *rests*. It is opened
  again when it has changed, and found again as after a restart; if it was deleted meanwhile, through
  the process that has it open (``reach``). A log that could not be found again is never let go.
- missing, not readable, a directory or a pipe: raised at every read until that changes, unless
  the old file is still open and can be followed.

Not seen: bytes written to the old file after the new one was used; when several rotations with
dates in their names happen between two reads, the files in the middle; anything in a ``.gz``; of a
log that rests, what was written in the last second before it was deleted and closed by its writer, and
that it was begun anew if the first bytes are the same and the inode number was given again.

This is all that touches the log. It works in the daemon for a local log, and in a child for a far
one (:mod:`.far_worker`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from ..system.descriptors import Descriptors, Use, own
from ..system.places import NotTheirs
from .log_file import (
    CHUNK_BYTES,
    FilePosition,
    Identity,
    OpenLog,
    bytes_after,
    find,
    find_copy,
    last_line,
    open_log,
    open_same,
    recent,
)
from .log_next import newest, next_of

READ_BYTES = 256 * 1024
"""Bytes after which one call stops reading, so that a large backlog does not delay other sources, and
clients: the parsers need 2 ms for it when few lines have metrics. Where every line has, the caller has
enough before."""
SIP_BYTES = 16 * 1024
"""Bytes of the first read of a call: logs usually grow by less, and a larger buffer costs time. Where every
line has metrics, it is all that is read in a call."""
BACKLOG_SIP_BYTES = 20 * 1024
"""The same while there is more to read: more than what counts for the rhythm of a log
(:data:`..parsers.recurring.MOST_BYTES`)."""
TICK_S = 2.0
"""Coarsest time stamps of a file system (FAT; ext4 and xfs: 1 to 10 ms). A file that changed within
this time may change again with the same modification time."""
REACH_BYTES = 16 << 20
"""How much of an existing log is read at the start: hours of most runs, in a few seconds.
`middlewatch replay` reads a whole log."""

QUIET_S = 300.0
"""Seconds without growth after which a log is let go before those that grow. Our choice: most logs
have a line a minute."""

OPENING = 6
"""Descriptors that are open for a moment while a file is searched: a path is opened part by part, and
folders are listed."""

REACHES = 3
"""Looks in which a file that is not found is searched among the open ones of the run: after a restart of
the daemon its processes are known with the second. 2 µs for each of their descriptors."""

Feed = Callable[[bytes], None]


class Follower:
    """The place in one log, and the open file.

    ``via`` (``/proc/PID/fd/N``) is opened instead of ``path`` for a log that was deleted. ``place``
    and ``open_line`` are what an earlier follower left. With ``from_start=False`` a log that exists
    at the first read is read from its last line on.
    """

    def __init__(
        self,
        path: str,
        via: str | None = None,
        place: FilePosition | None = None,
        *,
        from_start: bool = True,
        open_line: bool = False,
        adopted: Callable[[int], None] = lambda fd: None,
        released: Callable[[], None] = lambda: None,
        reach: Callable[[FilePosition], int | None] = lambda place: None,
        budget: Descriptors = own,
    ) -> None:
        """``adopted`` gets the descriptor of every file that is opened; ``released`` is called
        before another one takes its place. ``reach`` opens a file that has no name any more."""
        self.path = path
        self.via = via
        self.more = False
        """True when a call stopped at its limit: there is more to read now."""
        self.detail = f"followed through {via}" if via else ""
        """What is special about the file now (deleted, rotated, …), for a person."""
        self.nameless = False
        """The log is deleted: its content will be lost when its writer ends."""
        self.skipped_bytes = 0
        """Bytes before the offset where reading began."""
        self.open_line = open_line
        """The text read last does not end with a newline."""
        self.anew = False
        """Another file, or the same one from its start, is read since this was set to ``False``."""
        self.taken = 0
        """Bytes read by the newest call; skipped ones count too."""
        self.size = 0
        """Bytes in the file at the newest look."""
        self.unread = 0
        """Bytes behind the place at the newest look, of this file and those that follow it."""
        self.from_start = from_start
        self._adopted, self._released, self._reach = adopted, released, reach
        self._budget = budget
        self._reaches = REACHES
        self._resume = place
        self._resting: Identity | None = None
        """(device, inode) of the file that was closed for want of descriptors."""
        self._file: OpenLog | None = None
        self._sip = SIP_BYTES
        self._seen: tuple[int, ...] = ()  # stat of a log that was read to its end

    @property
    def fd(self) -> int:
        """The open file; negative without one."""
        return -1 if self._file is None else self._file.fd

    @property
    def known(self) -> bool:
        """True when there is a file, open or resting."""
        return self._file is not None or self._resting is not None

    @property
    def wakes(self) -> bool:
        """True when there is no file to read again, or room to keep it open once more."""
        return self._resting is None or self._budget.has_room(Use.QUIET_LOG)

    def unchanged(self) -> bool:
        """True while the log is as it was when it was last read to its end."""
        if not self.known:
            return False
        try:
            file = self._file
            look = os.fstat(file.fd) if self.via and file is not None else os.stat(self.path)
        except OSError:
            return False
        return _stamp(look) == self._seen

    def advance(
        self,
        feed: Feed,
        now: float,
        limit: int = READ_BYTES,
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        """Read, from file to file, up to the end of the newest or about ``limit`` bytes, or until the
        caller has ``enough``.

        Raises OSError or Unsupported. What was fed before counts as read.
        """
        self._seen = ()
        self._sip = BACKLOG_SIP_BYTES if self.more else SIP_BYTES
        self.taken = self.unread = 0
        self.more = False
        self._budget.forget(self)  # needed while it is read
        try:
            self._advance(feed, now, limit, enough)
        except OSError as error:
            if error.errno == errno.ESTALE:
                self.close()  # the NFS handle is stale: find the file again by its content
            raise
        finally:
            self._keep_or_rest(now)

    def leap(self, feed: Feed, keep: int) -> int:
        """Leave out what is unread but the last ``keep`` bytes; returns how many bytes that were.

        The newest file is gone on with: what is in the files before it is left out as a whole. Raises
        OSError.
        """
        file = self._file
        if file is None:
            return 0
        self.size = os.fstat(file.fd).st_size
        before = self._unread(file, not self.via)
        other = None if self.via else newest(self.path, file)
        if other is None and recent(file.fd, keep) <= file.offset:
            return 0
        self._end_line(feed)
        if other is not None:
            self.anew = True
            file = self._adopt(other, 0)
        file.stand_at(recent(file.fd, keep))
        self.size = os.fstat(file.fd).st_size
        return max(0, before - (self.size - file.offset))

    def place(self) -> FilePosition | None:
        """Where to go on after a restart; ``None`` when nothing was read yet."""
        return self._file.place() if self._file is not None else self._resume

    def close(self) -> None:
        """Close the file; ``place`` stays valid, and reading goes on from there."""
        self._budget.forget(self)
        self._resting = None
        self._released()
        self._let_go()

    def give_back(self) -> bool:
        """Let the file rest; ``False`` if it would not be found again by its path: it was deleted, or
        another file has the name now."""
        file = self._file
        if file is None or self.via:
            return False
        try:
            there = os.stat(self.path)
        except OSError:
            return False
        if (there.st_dev, there.st_ino) != file.identity:
            return False
        self._resting, self._reaches = file.identity, REACHES
        self._let_go()
        return True

    # -- reading

    def _advance(self, feed: Feed, now: float, limit: int, enough: Callable[[], bool]) -> None:
        file = self._file or self._open_first(feed)
        while True:
            # Look for the next file before reading the last bytes of this one: a writer that
            # already uses the next file will write nothing more to this one.
            following = self._following(file)
            look = os.fstat(file.fd)
            if not self._drain(file, feed, limit, enough):
                file = self._start_over(file, feed)
                continue
            file.mtime_ns = look.st_mtime_ns
            self.size = max(look.st_size, file.offset)
            if self.more:
                self.unread = self._unread(file, following is not None)
                return
            if following is None:
                if look.st_mtime < now - TICK_S:
                    self._seen = _stamp(look)
                return
            opened = self._go_to(following, feed)
            if opened is None:
                return
            file = opened

    def _drain(self, file: OpenLog, feed: Feed, limit: int, enough: Callable[[], bool]) -> bool:
        """Feed the new text; False when the file was truncated or rewritten."""
        while self.taken < limit and not enough():
            text = file.read(CHUNK_BYTES if self.taken else self._sip)
            if text is None:
                return False
            if text:
                self.taken += len(text)
                self.open_line = not text.endswith(b"\n")
                feed(text)
            if file.at_end:
                return True
            if not text:
                self.taken += CHUNK_BYTES  # NUL bytes count too: skipping them takes time
        self.more = True
        return True

    def _end_line(self, feed: Feed) -> None:
        """End an unfinished line: the next text is from another file and begins a new line."""
        if self.open_line:
            self.open_line = False
            feed(b"\n")

    def _unread(self, file: OpenLog, others: bool) -> int:
        """Bytes behind the place; with ``others`` there may be files that follow."""
        return max(0, self.size - file.offset) + (
            bytes_after(self.path, file.identity) if others else 0
        )

    # -- which file

    def _keep_or_rest(self, now: float) -> None:
        """After reading: keep the file open if there is room, or if it has to be."""
        file = self._file
        if file is None or self.more or self.detail:
            return
        use = Use.LOG if abs(now - file.mtime_ns / 1e9) < QUIET_S else Use.QUIET_LOG
        if not self._budget.keep(self, use) and not self.give_back():
            self._budget.forget(self)

    def _open_again(self, place: FilePosition) -> int | None:
        """The file of this place; ``None`` if it is gone. Raises OSError when no descriptor is left."""
        if not self._budget.make_room(OPENING):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), self.path)
        if self.via:
            return open_same(self.via, place)
        fd = None if self._resting is None else open_same(self.path, place)  # nearly always there
        fd = find(self.path, place) if fd is None else fd
        if fd is not None:
            return fd
        if not self._reaches:
            return None
        self._reaches -= 1
        return self._reach(place)

    def _open_first(self, feed: Feed) -> OpenLog:
        place = self._resume
        if place is not None:
            fd = self._open_again(place)
            if fd is not None:
                return self._adopt(fd, place.offset)
            self._resting = None
        try:
            fd = open_log(self.via or self.path)
        except FileNotFoundError:
            self.from_start = True  # the log will be created later: all of it is new
            raise
        if place is not None:
            if self.via and os.fstat(fd).st_ino != place.inode:
                os.close(fd)
                raise FileNotFoundError(errno.ENOENT, "another file is open there now", self.via)
            self._end_line(feed)
            self.anew = True
            return self._adopt(fd, 0)
        if not self.from_start:
            return self._adopt(fd, last_line(fd))
        self.skipped_bytes = recent(fd, REACH_BYTES)
        return self._adopt(fd, self.skipped_bytes)

    def _following(self, file: OpenLog) -> tuple[str, Identity] | None:
        """Name and (device, inode) of the file to read after this one, if there is one."""
        if self.via:
            return None
        where, detail, self.nameless = next_of(self.path, file)
        self.detail = self.detail if detail is None else detail
        return where

    def _go_to(self, following: tuple[str, Identity], feed: Feed) -> OpenLog | None:
        name, identity = following
        try:
            fd = open_log(name)
        except NotTheirs as error:  # the old file may still be written to, and is followed
            self.detail = f"another file took its place and is not read: {error.strerror}"
            return None
        look = os.fstat(fd)
        if (look.st_dev, look.st_ino) != identity:
            os.close(fd)  # rotated again at this moment: the next read finds the right file
            return None
        self._end_line(feed)
        self.anew = True
        return self._adopt(fd, 0)

    def _start_over(self, file: OpenLog, feed: Feed) -> OpenLog:
        """After a truncation: continue in a copy of the old content, else from 0."""
        copy = None if self.via else find_copy(self.path, file.place())
        if copy is not None:
            return self._adopt(copy, file.offset)
        self._end_line(feed)
        self.anew = True
        file.stand_at(0)
        return file

    def _adopt(self, fd: int, offset: int) -> OpenLog:
        """Continue in this file at ``offset``; the file before is closed."""
        file = OpenLog(fd, offset)
        before = self._resting if self._file is None else self._file.identity
        if before != file.identity:
            self._released()
        if self._file is not None:
            self._file.close()
        self._file = file
        self._resume = self._resting = None
        self._adopted(fd)
        return file

    def _let_go(self) -> None:
        if self._file is not None:
            self._resume = self._file.place()
            self._file.close()
            self._file = None


def _stamp(look: os.stat_result) -> tuple[int, ...]:
    return look.st_size, look.st_mtime_ns, look.st_ino, look.st_dev
