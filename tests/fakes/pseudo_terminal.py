"""A command on a terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from typing import Any

PATIENCE_S = 180.0
ROWS = 40


def on_terminal(
    argv: Sequence[str], *, columns: int = 80, env: Mapping[str, str] | None = None, **given: Any
) -> tuple[int, str]:
    """(exit status, all that the terminal was sent) of a command with both outputs there.

    ``env``: variables beside ours. ``given``: stdin or stdout, if they are to lead elsewhere; other
    arguments of Popen.
    """
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    whole = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    whole |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **(env or {})}
    process = subprocess.Popen(
        argv,
        **{"stdin": subprocess.DEVNULL, "stdout": follower, **given},
        stderr=follower,
        env=whole,
    )
    os.close(follower)
    shown = b""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not select.select([leader], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(leader)
    if process.stdin is not None:
        process.stdin.close()
    return process.wait(PATIENCE_S), shown.decode()
