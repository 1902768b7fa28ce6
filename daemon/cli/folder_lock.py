"""One command at a time in a folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from ..system.errors import Refused


@contextlib.contextmanager
def hold_folder_lock(folder: str | os.PathLike[str], busy: str) -> Iterator[None]:
    """Hold the lock of a folder. Raises Refused with ``busy`` where somebody else holds it.

    Where the file system has no locks nobody is kept out. Raises OSError where the folder
    cannot be opened.
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
            fcntl.flock(fd, fcntl.LOCK_UN)  # whoever was started may have a copy of it
        os.close(fd)
