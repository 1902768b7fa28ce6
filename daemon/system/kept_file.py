"""A small file that is read again and again, through one descriptor as long as there are enough.

Where the budget of :mod:`.descriptors` has no room, it is opened for each read, and kept again as soon
as there is room.
"""

from __future__ import annotations

import errno
import os

from .descriptors import Descriptors, Use, own

_FLAGS = os.O_RDONLY | os.O_CLOEXEC


class KeptFile:
    """The file ``path``, of which ``read`` gives at most ``limit`` bytes.

    ``use`` says what the descriptor is kept for; ``None``: it is needed, and never given back.

    A descriptor of a file in /proc belongs to one process: when that is gone, reading raises
    ProcessLookupError, even if another process has the pid now. A file that was opened anew may be
    another process's: who reads /proc/PID has to compare the start time. Of other files
    (``by_inode``) the inode is compared: reading raises an OSError (ESTALE) when another file has
    the name now.
    """

    __slots__ = ("_budget", "_fd", "_inode", "_limit", "_path", "_use")

    def __init__(
        self,
        path: str,
        limit: int = 4096,
        use: Use | None = Use.CONTROL_GROUP,
        *,
        by_inode: bool = True,
        budget: Descriptors = own,
    ) -> None:
        """Raises OSError when it cannot be opened."""
        self._path, self._limit, self._use, self._budget = path, limit, use, budget
        self._inode: int | None = None
        self._fd = -1
        fd = budget.open_file(path, _FLAGS)
        if by_inode:
            self._inode = os.fstat(fd).st_ino
        self._keep_or_close(fd)

    def read(self) -> bytes:
        """The whole file as it is now, up to ``limit`` bytes; raises OSError."""
        if self._fd >= 0:
            return os.pread(self._fd, self._limit, 0)
        if not self._path:
            raise OSError(errno.EBADF, "it was closed")
        fd = self._budget.open_file(self._path, _FLAGS)
        try:
            if self._inode is not None and os.fstat(fd).st_ino != self._inode:
                raise OSError(errno.ESTALE, "another file has this name now", self._path)
            data = os.pread(fd, self._limit, 0)
        except OSError:
            os.close(fd)
            raise
        self._keep_or_close(fd)
        return data

    def give_back(self) -> bool:
        """Close the descriptor; the file is opened for each read from now on."""
        os.close(self._fd)
        self._fd = -1
        return True

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._budget.forget(self)
        fd, self._fd, self._path = self._fd, -1, ""
        if fd >= 0:
            os.close(fd)

    def _keep_or_close(self, fd: int) -> None:
        if self._use is None or self._budget.keep(self, self._use):
            self._fd = fd
        else:
            os.close(fd)
