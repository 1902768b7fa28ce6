"""A lock on a folder, so that only one command at a time works in it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from ..system.errors import Refused


@contextlib.contextmanager
def hold_folder_lock(folder: str | os.PathLike[str], busy: str) -> Iterator[None]:
    """Hold the lock of a folder while the ``with`` block runs.

    Raises Refused with the message ``busy`` when another process holds the lock, and OSError when
    the folder cannot be opened. On a file system without locks this locks nothing.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(busy) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)  # a child process may hold a copy of fd
        os.close(fd)
