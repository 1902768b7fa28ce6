"""The journal of a queue: JSON lines that are only ever added to, each on the disk before it counts.

The runner and the commands write it. Every line is written whole under a lock; one that was cut by a
crash of the box is passed over, and the next one begins on a line of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..system import jsonlines
from ..system.private import open_private

Record = Mapping[str, Any]


class Journal:
    """One file. Not for several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def add(self, kind: str, at: float, **fields: Any) -> dict[str, Any]:
        """Write one record and sync it; returns it. Raises OSError: then it does not count."""
        record = {"t": kind, "at": round(at, 3), **fields}
        line = jsonlines.encode(record)
        new = not self.path.exists()
        fd = open_private(self.path, os.O_RDWR | os.O_APPEND)
        try:
            with _locked(fd):
                size = os.fstat(fd).st_size
                if size and os.pread(fd, 1, size - 1) != b"\n":
                    line = b"\n" + line
                if os.write(fd, line) != len(line):
                    # What is there of it has no end of line: it is never read as a record.
                    raise OSError(28, os.strerror(28), str(self.path))
                os.fsync(fd)
        finally:
            os.close(fd)
        if new:
            _sync_name(self.path)
        return record

    def news(self) -> Iterator[dict[str, Any]]:
        """The records since the last call, in their order; those at first that were there."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return
        whole, _, _ = data.rpartition(b"\n")
        if not whole:
            return
        self._read += len(whole) + 1
        for line in whole.split(b"\n"):
            with contextlib.suppress(ValueError):
                record = jsonlines.decode(line)
                if isinstance(record.get("t"), str):
                    yield record


@contextlib.contextmanager
def _locked(fd: int) -> Iterator[None]:
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)


def _sync_name(path: Path) -> None:
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
