"""``relay``: hands the messages of the daemon's socket on to standard input and output, for a screen that
sits at the other end of ssh."""

from __future__ import annotations

import argparse
import os
import select
import socket

from ..system.errors import DaemonUnreachable
from .context import client

BLOCK = 65536


def relay(args: argparse.Namespace) -> int:
    """Until the other end closes its side. Raises DaemonUnreachable without a daemon, or when it ends."""
    with client(args).connection() as sock:
        return _handed_on(sock, 0, 1)


def _handed_on(sock: socket.socket, given: int, told: int) -> int:
    """Both ways at once; blocking writes are what slows down a side that is faster than the other."""
    far = sock.fileno()
    while True:
        ready, _, _ = select.select([given, far], [], [])
        if given in ready:
            asked = os.read(given, BLOCK)
            if not asked:
                return 0
            try:
                sock.sendall(asked)
            except OSError as error:
                raise DaemonUnreachable("the daemon has ended", "middlewatch start") from error
        if far in ready:
            try:
                answer = sock.recv(BLOCK)
            except OSError as error:
                raise DaemonUnreachable("the daemon has ended", "middlewatch start") from error
            if not answer:
                raise DaemonUnreachable("the daemon has ended", "middlewatch start")
            view = memoryview(answer)
            while view:
                view = view[os.write(told, view) :]
