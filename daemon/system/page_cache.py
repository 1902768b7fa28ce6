"""What Linux alone lets a program say about the page cache; elsewhere nothing is said.

A person's own machine may be a Mac: finished logs and checkpoints are read there as well.
"""

from __future__ import annotations

import errno
import os

DIRECT: int = getattr(os, "O_DIRECT", 0)
"""Flag of open(2) that goes past the cache; 0 where there is none."""
_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)
_TOLD = hasattr(os, "posix_fadvise")


def no_reading_ahead(fd: int) -> None:
    """Ask the kernel to read what is asked for, and no more."""
    if _TOLD:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)


def drop(fd: int, offset: int = 0, count: int = 0) -> None:
    """Drop ``count`` bytes of a file from the cache; 0: up to its end."""
    if _TOLD:
        os.posix_fadvise(fd, offset, count, os.POSIX_FADV_DONTNEED)


def read_cached(fd: int, buffer: memoryview | bytearray, at: int) -> int:
    """Read what is in the cache, without waiting; the number of bytes.

    Raises BlockingIOError where it is not there, and OSError with EOPNOTSUPP where nobody can ask.
    """
    if not _NOWAIT:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    return os.preadv(fd, [buffer], at, _NOWAIT)
