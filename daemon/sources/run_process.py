"""One process of a run, which of its processes are its ranks, and which run the same command."""

from __future__ import annotations

import zlib
from collections.abc import Container, Mapping

from middlewatch.sentinels.kit import ProcessSample

from ..system import procfs
from ..system.kept_file import KeptFile

_YOUNG_LOOKS = 2
"""Searches in which the environment of a new process is read again: before exec it is another's."""


class RunProcess:
    """A known process, with its /proc/PID/stat."""

    __slots__ = (
        "command",
        "environ",
        "file",
        "last",
        "looks",
        "plain",
        "program",
        "rank",
        "raw",
        "ticks",
    )

    def __init__(self, file: KeptFile, raw: bytes, seen: procfs.Stat) -> None:
        self.file, self.raw, self.last = file, raw, seen
        self.ticks = seen.start_ticks
        self.plain: ProcessSample | None = None
        """Sample of ``raw`` without the costly figures; used again while ``raw`` is unchanged."""
        self.rank: int | None = None
        self.environ = procfs.Ranks(None, None, None)
        """RANK and related variables; data loader workers inherit those of their rank."""
        self.looks = 0
        self.command: int | None = None
        """A check sum of its command line; ``None`` when it cannot be read."""
        self.program: int | None = None
        """The same, unless it is a copy of its parent."""


def settle_ranks(known: Mapping[int, RunProcess], given: Container[int], root: str) -> None:
    """Find the ranks: for each RANK, the topmost process with it; workers only inherit it.

    A launcher may itself have a RANK (that of its node), but no LOCAL_RANK; then the process
    that has both is the rank. ``given``: pids whose rank is known already.
    """
    for process in known.values():
        if process.looks <= _YOUNG_LOOKS:
            process.environ = procfs.ranks(process.last.pid, root)
            words = procfs.cmdline(process.last.pid, root)
            process.command = (
                zlib.crc32("\0".join(words).encode(errors="surrogateescape")) if words else None
            )
        process.looks += 1
    for process in known.values():
        if process.looks <= _YOUNG_LOOKS + 1:
            above = known.get(process.last.ppid)
            copied = above is not None and above.command == process.command
            process.program, process.plain = None if copied else process.command, None
    holders = {p.rank: p for p in known.values() if p.rank is not None}
    for process in known.values():
        mine = process.environ
        parent = known.get(process.last.ppid)
        if mine.rank is None or process.rank is not None:
            continue
        if parent is not None and parent.environ == mine:
            continue
        holder = holders.get(mine.rank)
        if holder is not None:
            sure = holder.last.pid in given
            if sure or mine.local_rank is None or holder.environ.local_rank is not None:
                continue
            holder.rank = holder.plain = None
        process.rank, process.plain = mine.rank, None
        holders[mine.rank] = process
