"""The lock of the state directory: only one daemon uses it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from ..config.paths import StateDir
from ..system.errors import Refused, UsageError
from ..system.private import open_private


def take(state: StateDir, log_line: Callable[[str], None]) -> int:
    """Lock the state directory; returns the descriptor that holds the lock.

    Raises Refused when another daemon holds it or others may write there, UsageError when it cannot
    be used.
    """
    try:
        for words in state.take():
            log_line(words)
        fd = _open_lock(state.lock)
    except OSError as error:
        raise UsageError(
            f"the state directory {state.root} cannot be used: {error.strerror}",
            "name another with --state-dir or $MIDDLEWATCH_STATE_DIR",
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        os.close(fd)
        raise Refused(
            f"a daemon (pid {holder or 'unknown'}) already watches with {state.root}",
            "stop it with `middlewatch stop`, or use another --state-dir",
        ) from error
    with contextlib.suppress(OSError):  # the daemon must start on a full disk, too
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def _open_lock(path: Path) -> int:
    """The lock file; of a disk that has become read-only the one that was there before."""
    try:
        return open_private(path, os.O_RDWR)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
