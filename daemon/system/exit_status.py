"""How processes ended that are not our children.

Two ways, both without any effect on the process:

- a *pidfd*: since Linux 6.15 it answers with the exit status even after the parent has taken it
  (``PIDFD_GET_INFO`` in ``linux/pidfd.h``). Anybody may ask, also inside a container.
- the *process connector*: the kernel sends every exit to a netlink socket
  (``linux/cn_proc.h``). Older, but only for root (CAP_NET_ADMIN) outside of containers. A socket
  filter lets only the ends of followed processes through, so a box that forks a lot costs nothing.

Where neither is possible, the status is unknown, and nothing else changes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import struct
from array import array
from collections.abc import Iterable

MOST_PIDFDS = 64
"""Processes with a pidfd of their own: a descriptor each, and most of the usual 1024 are left to
the rest of the daemon. The main process and the ranks come first, as they are found first."""
MOST_FILTERED = 256
"""Processes in the socket filter: two instructions each, of the 4096 that the kernel accepts."""
_KEPT = 1024
"""Statuses kept that nobody has asked for."""

_PIDFD_SINCE = (6, 15)
_INFO = struct.Struct("=QQ11Ii")
"""``struct pidfd_info``: mask, cgroup id, eleven ids, exit status."""
_INFO_EXIT = 1 << 3
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11

_CONNECTOR = 11
_NLMSG = struct.Struct("=IHHII")
_CN_MSG = struct.Struct("=IIIIHH")
_PROC_IDS = (1, 1)
_LISTEN, _IGNORE = 1, 2
_EXIT = 0x80000000
_WHAT_AT = _NLMSG.size + _CN_MSG.size
_EVENT = struct.Struct("=IIQIII")
"""``struct proc_event`` of an exit: kind, CPU, time, pid of the thread, of the process, status."""
_PID_AT = _WHAT_AT + 16
_ANSWER_BYTES = 4096
_SO_ATTACH_FILTER = 26
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06


class ExitStatuses:
    """The wait statuses (as of ``waitpid``) of followed processes that have ended."""

    def __init__(self) -> None:
        self._pidfds: dict[int, int] = {}
        self._asks_pidfds = _kernel() >= _PIDFD_SINCE
        self._connector: _Connector | None = None
        self._tried = False

    def follow(self, pids: Iterable[int]) -> None:
        """Begin to follow these living processes; the caller knows that they are what it means."""
        rest = [pid for pid in pids if pid not in self._pidfds and not self._hold(pid)]
        if rest and not self._tried:
            self._tried = True
            self._connector = _Connector.listen()
        if rest and self._connector is not None:
            self._connector.follow(rest)

    def forget(self, pid: int) -> None:
        """Follow a process no longer; safe for one that is not followed."""
        fd = self._pidfds.pop(pid, None)
        if fd is not None:
            os.close(fd)
        if self._connector is not None:
            self._connector.forget(pid)

    def status(self, pid: int) -> int | None:
        """The wait status of a followed process that has ended; ``None``: not known, or alive."""
        fd = self._pidfds.get(pid)
        found = None if fd is None else _of_pidfd(fd)
        if found is None and self._connector is not None:
            found = self._connector.status(pid)
        return found

    def close(self) -> None:
        """Close every descriptor; safe to call twice."""
        for fd in self._pidfds.values():
            os.close(fd)
        self._pidfds.clear()
        if self._connector is not None:
            self._connector.close()
            self._connector = None

    def _hold(self, pid: int) -> bool:
        if not self._asks_pidfds or len(self._pidfds) >= MOST_PIDFDS:
            return False
        try:
            self._pidfds[pid] = os.pidfd_open(pid)
        except OSError:
            return False
        return True


def _of_pidfd(fd: int) -> int | None:
    answer = bytearray(_INFO.pack(_INFO_EXIT, *(0,) * 13))
    try:
        fcntl.ioctl(fd, _GET_INFO, answer)
    except OSError:  # older kernels; and before the parent has taken the status
        return None
    fields = _INFO.unpack(answer)
    return int(fields[-1]) if fields[0] & _INFO_EXIT else None


class _Connector:
    """The socket of the process connector, with a filter for the followed processes."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._followed: dict[int, None] = {}
        self._ended: dict[int, int] = {}

    @classmethod
    def listen(cls) -> _Connector | None:
        """A connector that hears nothing yet; ``None`` where we may not listen."""
        try:
            sock = socket.socket(
                socket.AF_NETLINK,
                socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC,
                _CONNECTOR,
            )
        except OSError:
            return None
        made = cls(sock)
        try:
            made._filter()
            sock.bind((0, _PROC_IDS[0]))
            made._say(_LISTEN)
        except OSError:
            sock.close()
            return None
        return made

    def follow(self, pids: Iterable[int]) -> None:
        """Let the ends of these processes through as well."""
        for pid in pids:
            if len(self._followed) < MOST_FILTERED:
                self._ended.pop(pid, None)  # of an earlier process with this pid
                self._followed[pid] = None
        with contextlib.suppress(OSError):
            self._filter()

    def forget(self, pid: int) -> None:
        """Let the end of this process through no longer."""
        self._ended.pop(pid, None)
        if pid in self._followed:
            del self._followed[pid]
            with contextlib.suppress(OSError):
                self._filter()

    def status(self, pid: int) -> int | None:
        """The wait status that the kernel sent for this process."""
        while True:
            try:
                message = self._socket.recv(_ANSWER_BYTES)
            except OSError:  # nothing more; or some were lost, and are unknown
                break
            if len(message) >= _WHAT_AT + _EVENT.size:
                what, _, _, thread, process, status = _EVENT.unpack_from(message, _WHAT_AT)
                if what == _EXIT and thread == process and len(self._ended) < _KEPT:
                    self._ended[process] = status
        return self._ended.get(pid)

    def close(self) -> None:
        """Tell the kernel that nobody listens, and close the socket."""
        with contextlib.suppress(OSError):
            self._say(_IGNORE)
        self._socket.close()

    def _say(self, what: int) -> None:
        body = _CN_MSG.pack(*_PROC_IDS, 0, 0, 4, 0) + struct.pack("=I", what)
        head = _NLMSG.pack(_NLMSG.size + len(body), 3, 0, 0, os.getpid())
        self._socket.send(head + body)

    def _filter(self) -> None:
        """Drop in the kernel all but the ends of the first threads of followed processes.

        A filter loads words in network order, and the event has them in the order of the CPU.
        """
        code = [
            (_LOAD, 0, 0, _WHAT_AT),
            (_EQUAL, 1, 0, socket.htonl(_EXIT)),
            (_RETURN, 0, 0, 0),
            (_LOAD, 0, 0, _PID_AT),
        ]
        for pid in self._followed:
            code += [(_EQUAL, 0, 1, socket.htonl(pid)), (_RETURN, 0, 0, 0xFFFFFFFF)]
        code.append((_RETURN, 0, 0, 0))
        program = array("B", b"".join(struct.pack("=HBBI", *one) for one in code))
        # struct sock_fprog: the number of instructions and their address
        given = struct.pack("@HP", len(code), program.buffer_info()[0])
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, given)


def _kernel() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(found[1]), int(found[2])) if found else (0, 0)
