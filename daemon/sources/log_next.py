"""Which file comes after the one of a log that is read: what its name leads to now, or a rotated one."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import NamedTuple

from ..system.errors import Unsupported
from .log_file import Identity, OpenLog, open_log, rotated_after


class Next(NamedTuple):
    """What is known of the file that follows."""

    where: tuple[str, Identity] | None = None
    """Its name and (device, inode); ``None``: there is none to go on with."""
    detail: str | None = None
    """What is special about the file that is read, for a person; ``None``: as before."""
    nameless: bool = False
    """The file that is read is deleted: its content will be lost when its writer ends."""


def next_of(path: str, file: OpenLog) -> Next:
    """What follows ``file``, which is read as the log at ``path``."""
    try:
        there = os.stat(path)
    except OSError as error:
        gone = os.fstat(file.fd).st_nlink == 0
        why = "deleted" if gone else "moved away" if error.errno == errno.ENOENT else str(error)
        return Next(None, f"{why}, followed through its open file", gone)
    if (there.st_dev, there.st_ino) == file.identity:
        return Next(None, "")
    between = rotated_after(path, file.identity)
    if between is not None:
        return Next(between)
    if not stat.S_ISREG(there.st_mode):
        return Next(None, "replaced by a directory or device, the old file is followed")
    if there.st_size == 0:
        return Next(None, "rotated, the old file is followed until the new one is used")
    return Next((path, (there.st_dev, there.st_ino)))


def newest(path: str, file: OpenLog) -> int | None:
    """The file that has the name now, opened, if it is another one and has something in it."""
    with contextlib.suppress(OSError, Unsupported):
        there = os.stat(path)
        same = (there.st_dev, there.st_ino) == file.identity
        if not same and stat.S_ISREG(there.st_mode) and there.st_size:
            return open_log(path)
    return None
