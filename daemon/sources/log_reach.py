"""A log without a name, reached through a process that has it open."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..system.processes import open_files
from .log_file import FilePosition, open_same


def reach(path: str, place: FilePosition, pids: Iterable[int]) -> int | None:
    """Open the file of this place, which had the name ``path``; ``None``: none of ``pids`` has it open."""
    folder = os.path.dirname(os.path.realpath(path))
    for pid in pids:
        for file in open_files(pid):
            if os.path.dirname(file.target) == folder:
                fd = open_same(file.via, place)
                if fd is not None:
                    return fd
    return None
