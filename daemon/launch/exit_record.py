"""Read the exit file of a run: what the supervisor wrote when the command ended."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from .supervisor import RECORD_BYTES, spare_path

RUN_VARIABLE = "MIDDLEWATCH_RUN"
"""The environment variable that ``middlewatch run`` adds for its command, with the path of the exit
file: what the command puts elsewhere (a tmux server) is known by it."""


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """How a command ended. ``exit_code`` is ``None`` when a signal ended it, and vice versa.

    Times are epoch seconds. ``max_rss_bytes`` is the largest resident set of any one process
    of the command that was waited for. ``pid`` is ``None`` for a command that never ran
    (``exit_code`` 127: not found, 126: cannot be executed).
    """

    pid: int | None
    start_ticks: int | None
    exit_code: int | None
    signal: int | None
    core: bool
    started_at: float
    ended_at: float
    max_rss_bytes: int


def read_exit(exit_file: str, uid: int | None = None) -> ExitRecord | None:
    """The record from the exit file, else from its copy in /dev/shm.

    ``uid`` is the user of the run: as root we believe what that user says of it. A copy of anybody
    else is not read, because everybody can write to /dev/shm.

    ``None`` while the command runs, or if no record was written. An exit file of spaces only, after
    the process is gone, means that the supervisor ended before the command: the box went down, or
    somebody killed the supervisor.
    """
    believed = {0, os.geteuid(), uid}
    for path in (exit_file, spare_path(exit_file)):
        # As root we read the exit files of all users: who the owner of an older run is, is unknown.
        every = path == exit_file and uid is None and os.geteuid() == 0
        record = _read(path, None if every else believed)
        if record is not None:
            return record
    return None


def _read(path: str, believed: Collection[int | None] | None) -> ExitRecord | None:
    """The record in one file; ``None`` unless it is a regular file of these users (``None``: all)."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return None
        if believed is not None and info.st_uid not in believed:
            return None
        return _parse(os.pread(fd, RECORD_BYTES, 0))
    except OSError:
        return None
    finally:
        os.close(fd)


def _parse(data: bytes) -> ExitRecord | None:
    try:
        fields: Any = json.loads(data.strip(b" \0\r\n\t"))
        return ExitRecord(
            pid=_whole(fields["pid"]),
            start_ticks=_whole(fields["start_ticks"]),
            exit_code=_whole(fields["exit_code"]),
            signal=_whole(fields["signal"]),
            core=fields["core"] is True,
            started_at=float(fields["started_at"]),
            ended_at=float(fields["ended_at"]),
            max_rss_bytes=int(fields["max_rss_bytes"]),
        )
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _whole(value: Any) -> int | None:
    """An integer or ``None``; raises TypeError or ValueError for anything else."""
    return None if value is None else int(value)
