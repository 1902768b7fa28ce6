"""How many bytes the TCP sockets of processes have moved.

The counters of read and write calls miss what is sent and received (``send``, ``recv``), which is
how most programs use sockets. The kernel knows the bytes of each TCP socket (sock_diag, the source
of ``ss -ti``), and /proc/PID/fd says whose it is. Of processes in another network name space (a
container) the counters of its interfaces are read instead. Nothing is kept open between two reads.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Iterator

from . import procfs

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY = 20
_DUMP = 0x301
"""NLM_F_REQUEST | NLM_F_DUMP."""
_DONE, _ERROR = 3, 2
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_INFO = 2
"""INET_DIAG_INFO: the attribute with ``struct tcp_info``; as a request, bit ``_INFO - 1``."""
_MESSAGE_BYTES = 72
_INODE_AT = 68
_BYTES = struct.Struct("=QQ")
_BYTES_AT = 120
"""Offset of ``tcpi_bytes_acked`` and ``tcpi_bytes_received`` in ``struct tcp_info`` (Linux 4.1)."""
_ALIVE = (1 << 1) | (1 << 4) | (1 << 5) | (1 << 8) | (1 << 9)
"""States of sockets that move data or have just done so: ESTABLISHED, FIN_WAIT and so on."""
_ANSWER_S = 1.0
MOST_FDS = 4096
"""Descriptors of one process that are looked at."""


class SocketBytes:
    """Bytes through the sockets of processes since each was first looked at."""

    def __init__(self, root: str = procfs.PROC) -> None:
        self._root = root
        self._before: dict[int, int] = {}
        self._moved: dict[int, int] = {}
        self._names: dict[int, int] = {}
        self._here = procfs.link(f"{procfs.PROC}/self/ns/net")

    def read(self, pids: Iterable[int]) -> dict[int, int]:
        """Bytes so far by pid. A process whose sockets may not be seen is left out."""
        here: list[int] = []
        elsewhere: dict[str, int] = {}
        for pid in pids:
            space = procfs.link(f"{self._root}/{pid}/ns/net")
            if space == self._here:
                here.append(pid)
            elif space:
                elsewhere.setdefault(space, pid)
        seen = self._of_sockets(here) if here else {}
        for pid in elsewhere.values():
            count = _of_interfaces(pid, self._root)
            if count is not None:
                seen[pid] = count - self._names.setdefault(pid, count)
        return seen

    def _of_sockets(self, pids: Iterable[int]) -> dict[int, int]:
        try:
            counts = dict(tcp_bytes())
        except OSError:
            return {}
        seen: dict[int, int] = {}
        current: dict[int, int] = {}
        first = not self._before and not self._moved
        for pid in pids:
            inodes = _inodes(pid, self._root)
            if inodes is None:
                continue
            grown = 0
            for inode in inodes:
                count = counts.get(inode)
                if count is None or inode in current:
                    continue
                current[inode] = count
                grown += max(0, count - self._before.get(inode, count if first else 0))
            seen[pid] = self._moved[pid] = self._moved.get(pid, 0) + grown
        self._before = current
        return seen


def tcp_bytes() -> Iterator[tuple[int, int]]:
    """(inode, bytes acknowledged and received) of every TCP socket of this network name space.

    Raises OSError where the kernel does not tell.
    """
    family = socket.AF_NETLINK
    with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as link:
        link.settimeout(_ANSWER_S)
        for number, kind in enumerate((socket.AF_INET, socket.AF_INET6), 1):
            request = _REQUEST.pack(kind, socket.IPPROTO_TCP, 1 << (_INFO - 1), _ALIVE)
            link.send(_HEADER.pack(16 + len(request), _BY_FAMILY, _DUMP, number, 0) + request)
            yield from _answers(link, number)


def _answers(link: socket.socket, number: int) -> Iterator[tuple[int, int]]:
    while True:
        data = link.recv(1 << 16)
        at = 0
        while at + 16 <= len(data):
            length, kind, _, answers, _ = _HEADER.unpack_from(data, at)
            if length < 16:
                return
            if answers == number and kind == _ERROR:
                raise OSError("sock_diag is not answered")
            if answers == number and kind == _DONE:
                return
            if answers == number and kind == _BY_FAMILY:
                found = _socket(data[at + 16 : at + length])
                if found is not None:
                    yield found
            at += (length + 3) & ~3


def _socket(message: bytes) -> tuple[int, int] | None:
    if len(message) < _MESSAGE_BYTES:
        return None
    (inode,) = struct.unpack_from("=I", message, _INODE_AT)
    at = _MESSAGE_BYTES
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if length < 4:
            return None
        if kind == _INFO and length - 4 >= _BYTES_AT + _BYTES.size:
            return inode, sum(_BYTES.unpack_from(message, at + 4 + _BYTES_AT))
        at += (length + 3) & ~3
    return None


def _inodes(pid: int, root: str) -> set[int] | None:
    """Inodes of the sockets that a process has open; ``None`` when we may not see them."""
    try:
        names = os.listdir(f"{root}/{pid}/fd")
    except OSError:
        return None
    found = set()
    for name in names[:MOST_FDS]:
        target = procfs.link(f"{root}/{pid}/fd/{name}")
        if target.startswith("socket:["):
            found.add(int(target[8:-1]))
    return found


def _of_interfaces(pid: int, root: str) -> int | None:
    """Bytes in and out of all interfaces of the name space of a process, without the loopback."""
    data = procfs.read_or_none(f"{root}/{pid}/net/dev", 1 << 16)
    if data is None:
        return None
    total = 0
    for line in data.splitlines():
        name, colon, rest = line.partition(b":")
        words = rest.split()
        if colon and len(words) >= 16 and name.strip() != b"lo":
            total += procfs.parse_number(words[0]) + procfs.parse_number(words[8])
    return total
