"""One listing of /proc for all runs of the box.

Every run looks for new processes among all of the box. With 300 runs and 5,000 processes that would
be 300 listings and up to 1.5 million reads at a time; runs that look at about the same moment share
one listing, and each process in it is read once.
"""

from __future__ import annotations

from . import procfs
from .clock import Clock, SystemClock

FRESH_S = 0.5
"""Seconds for which a listing is used again (our choice): a tenth of the five seconds between two
searches of a run, so that a new process is found at most that much later."""


class Listing:
    """The pids of the box and their /proc/PID/stat, at most ``fresh_s`` seconds old."""

    def __init__(
        self, clock: Clock | None = None, root: str = procfs.PROC, fresh_s: float = FRESH_S
    ) -> None:
        self._clock = clock or SystemClock()
        self._root = root
        self._fresh_s = fresh_s
        self._listed_at: float | None = None
        self._pids: frozenset[int] = frozenset()
        self._stats: dict[int, procfs.Stat | None] = {}
        self._values: dict[tuple[int, str], str | None] = {}

    def pids(self) -> frozenset[int]:
        """Pids of all processes that we may see. Raises OSError."""
        mono = self._clock.monotonic()
        if self._listed_at is None or mono - self._listed_at >= self._fresh_s:
            self._pids = frozenset(procfs.pids(self._root))
            self._listed_at = mono
            self._stats.clear()
            self._values.clear()
        return self._pids

    def stat(self, pid: int) -> procfs.Stat | None:
        """/proc/PID/stat as it was when first read after the listing; ``None`` when there is no
        such process. Raises OSError."""
        if pid not in self._stats:
            self._stats[pid] = procfs.stat(pid, self._root)
        return self._stats[pid]

    def variable(self, pid: int, name: str) -> str | None:
        """An environment variable that a process was started with, read once as well; ``None`` when
        it has none or that cannot be read."""
        if (pid, name) not in self._values:
            self._values[pid, name] = procfs.environ(pid, self._root).get(name)
        return self._values[pid, name]
