"""A second user of the box: root watches, and this one attacks."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

UID = GID = 1234
"""No account has this id: the attacks need none."""


def as_second(act: Callable[[], Any]) -> int:
    """The pid of a process of the second user that does this and ends."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        os.setgroups([])
        os.setresgid(GID, GID, GID)
        os.setresuid(UID, UID, UID)
        os.umask(0o022)
        act()
        code = 0
    except BaseException:  # noqa: BLE001 - nothing may go on in the copy of the tests
        traceback.print_exc()
    finally:
        os._exit(code)


def done(act: Callable[[], Any]) -> None:
    """Does this as the second user, to its end."""
    _, status = os.waitpid(as_second(act), 0)
    assert status == 0


@contextlib.contextmanager
def process(act: Callable[[], Any]) -> Iterator[int]:
    """A process of the second user for the time of the block."""
    pid = as_second(act)
    try:
        yield pid
    finally:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@contextlib.contextmanager
def place() -> Iterator[Path]:
    """A folder in /tmp that belongs to the second user."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="second-") as name:
        os.chown(name, UID, GID)
        yield Path(name)


def note_callers(path: Path, callers: Path, ready: int) -> None:
    """A server on the socket ``path`` that writes down who connects, and never answers."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o777)
    listener.listen(16)
    os.write(ready, b"1")
    kept = []
    while True:
        caller, _ = listener.accept()
        who = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        with callers.open("a") as file:
            file.write(f"{struct.unpack('3i', who)[1]}\n")
        kept.append(caller)
