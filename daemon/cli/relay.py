"""``relay``: hands the messages of the daemon's socket on to standard input and output, for a screen that
sits at the other end of ssh."""

from __future__ import annotations

import argparse
import os
import select
import socket
from collections.abc import Iterator

from ..remote.changes import Changes
from ..system import jsonlines
from ..system.errors import DaemonUnreachable
from .context import client

BLOCK = 65536


def relay(args: argparse.Namespace) -> int:
    """Until the other end closes its side. Raises DaemonUnreachable without a daemon, or when it ends."""
    with client(args).connection() as sock:
        return _handed_on(sock, 0, 1)


def _handed_on(sock: socket.socket, given: int, told: int) -> int:
    """Both ways at once, line by line; blocking writes are what slows down a side that is faster than the other."""
    far, changes = sock.fileno(), Changes()
    asked, answered = _Lines(), _Lines()
    while True:
        ready, _, _ = select.select([given, far], [], [])
        if given in ready:
            block = os.read(given, BLOCK)
            if not block:
                return 0
            for line in asked.ended(block):
                changes.question(line)
                try:
                    sock.sendall(line)
                except OSError as error:
                    raise DaemonUnreachable("the daemon has ended", "middlewatch start") from error
        if far in ready:
            try:
                block = sock.recv(BLOCK)
            except OSError as error:
                raise DaemonUnreachable("the daemon has ended", "middlewatch start") from error
            if not block:
                raise DaemonUnreachable("the daemon has ended", "middlewatch start")
            for line in answered.ended(block):
                view = memoryview(changes.answer(line))
                while view:
                    view = view[os.write(told, view) :]


class _Lines:
    """Lines out of blocks. Of one that is longer than the protocol allows the daemon and the screen each say so
    themselves: it is handed on in pieces."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def ended(self, block: bytes) -> Iterator[bytes]:
        """The lines that end in this block."""
        *lines, rest = block.split(b"\n")
        for line in lines:
            yield b"".join([*self._parts, line, b"\n"])
            self._parts, self._size = [], 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        if self._size > jsonlines.MAX_LINE:
            yield b"".join(self._parts)
            self._parts, self._size = [], 0
