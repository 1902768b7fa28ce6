"""Hints from the kernel that a file may have changed: inotify, with one instance per process.

A missing hint proves nothing. Writes by other nodes of a network file system, on most FUSE mounts
and through ``mmap`` raise no event, and there are few instances (128 per user on most kernels,
shared by all containers of that user). So the followers of files read them once a second in any
case, and must work when ``watch`` returns ``None``.

Bursts of events are merged: after a batch the descriptor is not read for ``REST_S``, until the
next regular read of the followers. A log that was quiet for long is therefore read as soon as a
line comes, and one with a line every second, or ten thousand, causes no extra wake-ups.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

REST_S = 0.9
"""Pause after a batch of events in seconds, a little less than the period of the regular reads.
Measured: a wake-up of an idle process costs 200 to 500 us with cold caches, whatever it then does;
with a pause of 0.1 s a log of one line a second took a third of the daemon's whole CPU time."""

IN_MODIFY = 0x2
IN_MOVED_FROM = 0x40
IN_MOVED_TO = 0x80
IN_CREATE = 0x100
IN_DELETE = 0x200
IN_Q_OVERFLOW = 0x4000
IN_IGNORED = 0x8000
IN_MASK_ADD = 0x20000000

_NAMES = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
_EVENT = struct.Struct("iIII")
_READ_BYTES = 64 * 1024
_READS = 4  # one batch: the default queue of 16,384 events without names

_POLL_ONLY = {
    0x00006969: "nfs",
    0x0000517B: "smb",
    0xFE534D42: "smb2",
    0xFF534D42: "cifs",
    0x65735546: "fuse",
    0x0BD00BD0: "lustre",
    0x01021997: "9p",
    0x00C36400: "ceph",
    0x47504653: "gpfs",
    0x19830326: "beegfs",
    0xAAD7AAEA: "panfs",
    0x5346414F: "afs",
    0x6B414653: "afs",
    0x73757245: "coda",
    0x0000564C: "ncp",
    0x61636673: "acfs",
    0x01161970: "gfs2",
    0x7461636F: "ocfs2",
    0xBEEFDEAD: "snfs",
    0x20030528: "orangefs",
    0x786F4256: "vboxsf",
    0xBACBACBC: "vmhgfs",
    0x7C7C6673: "prl_fs",
    0x00009FA0: "proc",
    0x62656572: "sysfs",
}
"""``statfs`` magic numbers of file systems where another node, or a program outside the kernel, can
write without an event (linux/magic.h; the file systems that GNU ``tail -f`` polls)."""


class Watch:
    """One watched path. ``dirty`` becomes true with an event, and is cleared by the owner."""

    __slots__ = ("dirty", "name", "wd")

    def __init__(self, wd: int, name: bytes | None) -> None:
        self.wd = wd
        self.name = name
        self.dirty = False

    @property
    def alive(self) -> bool:
        """False after the kernel removed the watch (directory gone, file system unmounted)."""
        return self.wd >= 0


class Inotify:
    """The inotify instance of this process."""

    def __init__(self) -> None:
        self.fd = -1
        self.why_not = ""
        """Why the newest attempt to get hints failed; empty if it succeeded."""
        self._watches: dict[int, list[Watch]] = {}
        self._rest_until: float | None = None
        self._libc: ctypes.CDLL | None = None
        self._open()

    @property
    def available(self) -> bool:
        """True when there is an instance."""
        return self.fd >= 0

    @property
    def count(self) -> int:
        """Watches that the kernel has for us."""
        return len(self._watches)

    @property
    def armed(self) -> bool:
        """True when ``fd`` should be waited on now: it is open, and not in the pause."""
        return self.fd >= 0 and self._rest_until is None

    @property
    def due_at(self) -> float | None:
        """Epoch seconds at which the pause ends and ``collect`` should be called; or ``None``."""
        return self._rest_until

    def watch(self, path: str, name: str | None = None) -> Watch | None:
        """Watch a file for writes; or, with ``name``, the directory ``path`` for the creation,
        renaming and removal of that name.

        ``/proc/self/fd/N`` watches the file behind an open descriptor, whatever its name is now.
        ``None``: there will be no hints, for the reason in ``why_not``. Another call later is
        cheap and may succeed.
        """
        if self.fd < 0:
            self._open()
        libc = self._libc
        if libc is None or self.fd < 0:
            return None
        kind = poll_only(libc, path)
        if kind:
            self.why_not = f"{kind} sends no events: looking once a second"
            return None
        mask = IN_MODIFY if name is None else _NAMES
        wd = int(libc.inotify_add_watch(self.fd, os.fsencode(path), mask | IN_MASK_ADD))
        if wd < 0:
            self.why_not = _reason(ctypes.get_errno(), f"cannot watch {path}")
            return None
        self.why_not = ""
        watch = Watch(wd, None if name is None else os.fsencode(name))
        self._watches.setdefault(wd, []).append(watch)
        return watch

    def unwatch(self, watch: Watch) -> None:
        """End a watch; does nothing for one that the kernel removed."""
        wd, watch.wd = watch.wd, -1
        sharers = self._watches.get(wd)
        if sharers is None or watch not in sharers:
            return
        sharers.remove(watch)
        if not sharers:
            del self._watches[wd]
            if self._libc is not None and self.fd >= 0:
                self._libc.inotify_rm_watch(self.fd, wd)

    def collect(self, now: float) -> None:
        """Read the events and mark the watches as dirty; does nothing during the pause.

        To be called when ``fd`` is readable, and at ``due_at``. ``now``: epoch seconds; when the
        wall clock was set back, the pause ends at once.
        """
        rest = self._rest_until
        if self.fd < 0 or (rest is not None and rest - REST_S <= now < rest):
            return
        heard = False
        for _ in range(_READS):
            try:
                events = os.read(self.fd, _READ_BYTES)
            except BlockingIOError:
                break
            except OSError as error:  # never seen, but it would make the loop spin
                self._fail(_reason(error.errno or 0, "cannot read inotify events"))
                return
            self._mark(events)
            heard = True
        self._rest_until = now + REST_S if heard else None

    def close(self) -> None:
        """Close the instance; no watch is alive afterwards."""
        self._fail("closed")

    def _open(self) -> None:
        try:
            self._libc = self._libc or ctypes.CDLL(None, use_errno=True)
            fd = int(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        except (OSError, AttributeError) as error:
            self._libc = None
            self.why_not = f"no inotify in the C library: {error}"
            return
        if fd < 0:
            self.why_not = _reason(ctypes.get_errno(), "cannot open inotify")
            return
        self.fd = fd
        self.why_not = ""

    def _fail(self, why: str) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
        self.why_not = why
        self._rest_until = None
        self._mark_all(alive=False)
        self._watches.clear()

    def _mark(self, events: bytes) -> None:
        at = 0
        while at + _EVENT.size <= len(events):
            wd, mask, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size
            if mask & IN_Q_OVERFLOW:
                self._mark_all(alive=True)
                continue
            sharers = self._watches.get(wd)
            if sharers is not None:
                name = events[at : at + length].rstrip(b"\0") if length else None
                for watch in sharers:
                    if name is None or watch.name is None or watch.name == name:
                        watch.dirty = True
                if mask & IN_IGNORED:
                    for watch in self._watches.pop(wd):
                        watch.wd = -1
            at += length

    def _mark_all(self, *, alive: bool) -> None:
        for sharers in self._watches.values():
            for watch in sharers:
                watch.dirty = True
                if not alive:
                    watch.wd = -1


class ChangeHints:
    """The hints for one follower of a file: that it grew, and that its name was created, renamed or
    removed."""

    def __init__(self, inotify: Inotify | None, path: str, *, by_name: bool = True) -> None:
        self._inotify = inotify
        self._folder, self._base = os.path.split(path)
        self._by_name = by_name
        self._file: Watch | None = None
        self._name: Watch | None = None

    def fds(self) -> tuple[int, ...]:
        """The shared descriptor; none during its pause, or when this object has no watch."""
        inotify = self._inotify
        return (inotify.fd,) if inotify is not None and inotify.armed and self._any() else ()

    def collect(self, now: float) -> bool:
        """Read new events; True when there is a hint that was not cleared yet."""
        if self._inotify is not None:
            self._inotify.collect(now)
        return any(w is not None and w.dirty for w in (self._file, self._name))

    def clear(self, now: float) -> None:
        """Clear the hints so far; to be called just before the file is read."""
        inotify = self._inotify
        if inotify is not None and inotify.due_at is not None:
            inotify.collect(now)
        if self._file is not None:
            self._file.dirty = False
        if self._name is not None:
            self._name.dirty = False

    def ask(self, fd: int) -> None:
        """Set up the watches that are missing; ``fd`` is the open file or negative."""
        inotify = self._inotify
        if inotify is None:
            return
        if fd >= 0 and (self._file is None or not self._file.alive):
            self._file = inotify.watch(f"/proc/self/fd/{fd}")
        if self._by_name and (self._name is None or not self._name.alive):
            self._name = inotify.watch(self._folder or ".", self._base)

    def forget_file(self) -> None:
        """End the watch of the open file, which is about to be closed."""
        if self._inotify is not None and self._file is not None:
            self._inotify.unwatch(self._file)
        self._file = None

    def close(self) -> None:
        """End both watches."""
        self.forget_file()
        if self._inotify is not None and self._name is not None:
            self._inotify.unwatch(self._name)
        self._name = None

    def _any(self) -> bool:
        return self._file is not None or self._name is not None


def poll_only(libc: ctypes.CDLL, path: str) -> str:
    """Name of the file system of ``path`` if it must be polled, else an empty string."""
    # struct statfs is at most 120 bytes on 64-bit Linux and begins with f_type, a long.
    buffer = ctypes.create_string_buffer(256)
    if libc.statfs(os.fsencode(path), buffer) != 0:
        return ""
    return _POLL_ONLY.get(ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF, "")


def _reason(code: int, what: str) -> str:
    if code == errno.EMFILE:
        why = "all inotify instances of this user, or all open files, are taken"
    elif code == errno.ENOSPC:
        why = "all inotify watches of this user are taken (fs.inotify.max_user_watches)"
    else:
        why = os.strerror(code)
    return f"{what}: {why}: looking once a second"
