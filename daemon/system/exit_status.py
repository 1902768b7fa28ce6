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
import errno
import fcntl
import os
import re
import socket
import struct
from array import array
from collections.abc import Container, Iterable

from .descriptors import Descriptors, Use, own

MOST_PIDFDS = 64
"""Processes of a run with a pidfd of their own, as far as there are descriptors. The main process and
the ranks come first."""
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

    def __init__(self, budget: Descriptors = own) -> None:
        self._budget = budget
        self._pidfds: dict[int, _Pidfd] = {}
        self._asks_pidfds = _kernel() >= _PIDFD_SINCE
        self._connector = _Connector(budget)

    def follow(self, pids: Iterable[int], use: Use = Use.EXIT) -> None:
        """Begin to follow these living processes; the caller knows that they are what it means.

        ``use``: what a descriptor for one of them is worth.
        """
        rest = [pid for pid in pids if pid not in self._pidfds and not self._hold(pid, use)]
        if rest:
            self._connector.follow(rest)

    def try_again(self, living: Container[int]) -> None:
        """Follow those again for which there was no descriptor, if they are among the ``living``."""
        lacking = [
            pid
            for pid, held in self._pidfds.items()
            if held.lacking and pid in living and not held.open()
        ]
        left = [pid for pid in lacking if pid not in self._connector.followed]
        if left or self._connector.lacks:
            self._connector.follow(left)

    def lacks(self, pid: int) -> bool:
        """True when nothing would tell how this followed process ends, for want of a descriptor."""
        held, heard = self._pidfds.get(pid), self._connector
        lacking = heard.lacks and pid in heard.followed if held is None else held.lacking
        return lacking and not heard.hears(pid)

    def forget(self, pid: int) -> None:
        """Follow a process no longer; safe for one that is not followed."""
        held = self._pidfds.pop(pid, None)
        if held is not None:
            held.close()
        self._connector.forget(pid)

    def status(self, pid: int) -> int | None:
        """The wait status of a followed process that has ended; ``None``: not known, or alive."""
        held = self._pidfds.get(pid)
        found = None if held is None else held.status()
        return self._connector.status(pid) if found is None else found

    def close(self) -> None:
        """Close every descriptor; safe to call twice."""
        for held in self._pidfds.values():
            held.close()
        self._pidfds.clear()
        self._connector.close()

    def _hold(self, pid: int, use: Use) -> bool:
        """Follow by a pidfd, now or as soon as there is room; ``False`` if not now."""
        if not self._asks_pidfds or len(self._pidfds) >= MOST_PIDFDS:
            return False
        held = _Pidfd(pid, use, self._budget)
        opened = held.open()
        if opened or held.lacking:
            self._pidfds[pid] = held
        return opened


class _Pidfd:
    """A pidfd, as long as there is room for it."""

    def __init__(self, pid: int, use: Use, budget: Descriptors) -> None:
        self.fd = -1
        self.told: int | None = None
        """The wait status, known when it was given back."""
        self.lacking = False
        """It is closed for want of descriptors."""
        self._pid, self._use, self._budget = pid, use, budget

    def open(self) -> bool:
        """Open it, if its process is there and there is room."""
        try:
            fd = os.pidfd_open(self._pid)
        except OSError as error:
            self.lacking = error.errno == errno.EMFILE
            return False
        self.lacking = not self._budget.keep(self, self._use)
        if self.lacking:
            os.close(fd)
        else:
            self.fd = fd
        return not self.lacking

    def status(self) -> int | None:
        """The wait status; ``None``: not known, or alive."""
        return self.told if self.fd < 0 else _of_pidfd(self.fd)

    def give_back(self) -> bool:
        """Close it; what it can tell now is kept."""
        self.told = _of_pidfd(self.fd)
        self.lacking = self.told is None
        os.close(self.fd)
        self.fd = -1
        return True

    def close(self) -> None:
        """Close it for good."""
        self._budget.forget(self)
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def _of_pidfd(fd: int) -> int | None:
    answer = bytearray(_INFO.pack(_INFO_EXIT, *(0,) * 13))
    try:
        fcntl.ioctl(fd, _GET_INFO, answer)
    except OSError:  # older kernels; and before the parent has taken the status
        return None
    fields = _INFO.unpack(answer)
    return int(fields[-1]) if fields[0] & _INFO_EXIT else None


class _Connector:
    """The socket of the process connector, with a filter for the followed processes: opened when one
    is followed, as long as there is room for it."""

    def __init__(self, budget: Descriptors) -> None:
        self.followed: dict[int, None] = {}
        self._budget = budget
        self._socket: socket.socket | None = None
        self._ended: dict[int, int] = {}
        self._refused = False
        """We may not listen."""

    @property
    def lacks(self) -> bool:
        """It is closed for want of descriptors."""
        return bool(self.followed) and self._socket is None and not self._refused

    def hears(self, pid: int) -> bool:
        """True when the end of this process would be heard."""
        return self._socket is not None and pid in self.followed

    def follow(self, pids: Iterable[int]) -> None:
        """Let the ends of these processes through as well."""
        for pid in pids:
            if len(self.followed) < MOST_FILTERED:
                self._ended.pop(pid, None)  # of an earlier process with this pid
                self.followed[pid] = None
        if self._socket is None and not self._refused:
            self._listen()
        elif self._socket is not None:
            with contextlib.suppress(OSError):
                self._filter(self._socket)

    def forget(self, pid: int) -> None:
        """Let the end of this process through no longer."""
        self._ended.pop(pid, None)
        if pid in self.followed:
            del self.followed[pid]
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._filter(self._socket)

    def status(self, pid: int) -> int | None:
        """The wait status that the kernel sent for this process."""
        self._hear()
        return self._ended.get(pid)

    def give_back(self) -> bool:
        """Close it; what was sent until now is kept."""
        self._hear()
        self._hang_up()
        return True

    def close(self) -> None:
        """Tell the kernel that nobody listens, and close the socket."""
        self._budget.forget(self)
        self.followed.clear()
        self._hang_up()

    def _listen(self) -> None:
        """Begin to listen, where we may and there is room."""
        try:
            sock = socket.socket(
                socket.AF_NETLINK,
                socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC,
                _CONNECTOR,
            )
        except OSError as error:
            self._refused = error.errno != errno.EMFILE
            return
        try:
            self._filter(sock)
            sock.bind((0, _PROC_IDS[0]))
            self._say(sock, _LISTEN)
        except OSError:
            self._refused = True
        # One descriptor for all processes of a run, its main process perhaps among them.
        if self._refused or not self._budget.keep(self, Use.MAIN_EXIT):
            sock.close()
        else:
            self._socket = sock

    def _hear(self) -> None:
        while self._socket is not None:
            try:
                message = self._socket.recv(_ANSWER_BYTES)
            except OSError:  # nothing more; or some were lost, and are unknown
                break
            if len(message) >= _WHAT_AT + _EVENT.size:
                what, _, _, thread, process, status = _EVENT.unpack_from(message, _WHAT_AT)
                if what == _EXIT and thread == process and len(self._ended) < _KEPT:
                    self._ended[process] = status

    def _hang_up(self) -> None:
        sock, self._socket = self._socket, None
        if sock is not None:
            with contextlib.suppress(OSError):
                self._say(sock, _IGNORE)
            sock.close()

    @staticmethod
    def _say(sock: socket.socket, what: int) -> None:
        body = _CN_MSG.pack(*_PROC_IDS, 0, 0, 4, 0) + struct.pack("=I", what)
        head = _NLMSG.pack(_NLMSG.size + len(body), 3, 0, 0, os.getpid())
        sock.send(head + body)

    def _filter(self, sock: socket.socket) -> None:
        """Drop in the kernel all but the ends of the first threads of followed processes.

        A filter loads words in network order, and the event has them in the order of the CPU.
        """
        code = [
            (_LOAD, 0, 0, _WHAT_AT),
            (_EQUAL, 1, 0, socket.htonl(_EXIT)),
            (_RETURN, 0, 0, 0),
            (_LOAD, 0, 0, _PID_AT),
        ]
        for pid in self.followed:
            code += [(_EQUAL, 0, 1, socket.htonl(pid)), (_RETURN, 0, 0, 0xFFFFFFFF)]
        code.append((_RETURN, 0, 0, 0))
        program = array("B", b"".join(struct.pack("=HBBI", *one) for one in code))
        # struct sock_fprog: the number of instructions and their address
        given = struct.pack("@HP", len(code), program.buffer_info()[0])
        sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, given)


def _kernel() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(found[1]), int(found[2])) if found else (0, 0)
