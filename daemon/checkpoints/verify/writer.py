"""Who still writes to a checkpoint."""

from __future__ import annotations

import os

from ...system import procfs

_MOST_PROCESSES = 4096


def writer_of(path: str) -> int | None:
    """Pid of a process that has the file, or a file in the folder, open for writing.

    ``None`` when there is none, or none that we may examine.
    """
    from ...system import processes  # most checkpoints are whole and do not need it

    inside = os.path.realpath(path)
    folder = inside.rpartition("/")[0] if path.endswith(".index.json") else inside
    for pid in procfs.pids()[:_MOST_PROCESSES]:
        opened = () if pid == os.getpid() else processes.open_files(pid)
        for file in opened:
            named = file.target == inside or file.target.startswith(folder + "/")
            if named and file.writable:
                return pid
    return None
