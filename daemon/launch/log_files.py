"""Open files of a process as logs: by which path they can be read, and whether they look like one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable

from ..parsers.metric_readers import is_readable
from ..system.processes import OpenFile, Process

NO_LOG = "stdout goes to /dev/null and no other log is open"
"""How a note begins that nothing can be read; it is over when a log is found."""
_LOG_NAME = re.compile(r"\.(log|out|err|txt|jsonl|ndjson)(\.\d+)?$|(^|[_\-.])(stdout|stderr|log)$")


def place(process: Process, file: OpenFile) -> tuple[str, str | None]:
    """(path to show, ``/proc/PID/fd/N`` if the path leads to another file or to none).

    Touches the file: not for one on a file system that may hang.
    """
    name = file.target
    if _links(file.via) == 0:
        name = name.removesuffix(" (deleted)")
    path = process.outside(name)
    return (path, None) if same_file(path, file.via) else (name, file.via)


def is_pipe(file: OpenFile) -> bool:
    """True for a named pipe. Touches the file, as :func:`place` does."""
    try:
        return stat.S_ISFIFO(os.stat(file.via).st_mode)
    except OSError:
        return False


def _links(via: str) -> int:
    """Number of hard links of the file, 0 when it is deleted; 1 when it cannot be read."""
    try:
        return os.stat(via).st_nlink
    except OSError:
        return 1


def same_file(one: str, other: str) -> bool:
    """True if both paths are one file now: not deleted, rotated, or of another container."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


_METRICS_NAME = re.compile(
    r"(?:metric|log|histor|progress|loss|train|result|monitor|report)[^/]*\.[ct]sv$", re.IGNORECASE
)


def is_log_name(path: str) -> bool:
    """True for a name that logs have."""
    return bool(_LOG_NAME.search(path.removesuffix(" (deleted)").lower()))


def log_like(process: Process) -> Iterable[OpenFile]:
    """Files with the name of a log, of a table of metrics, or of an event file of TensorBoard, that the
    process itself has open for writing."""
    return [f for f in process.files if f.regular and f.writable and _reports(f.target)]


def is_metrics_file(path: str) -> bool:
    """True for the name of a table into which metrics are written (``history.csv``)."""
    return bool(_METRICS_NAME.search(path.rpartition("/")[2]))


def _reports(path: str) -> bool:
    path = path.removesuffix(" (deleted)")
    return is_log_name(path) or is_readable(path) or is_metrics_file(path)
