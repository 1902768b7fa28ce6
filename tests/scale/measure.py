"""What a daemon and its children take of a box, read from /proc, and how fast it answers."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from middlewatch.daemon.client import Client
from middlewatch.daemon.system.errors import DaemonUnreachable
from middlewatch.daemon.system.processes import Processes

PING_EVERY_S = 0.5
PING_PATIENCE_S = 60.0
"""Seconds after which a ping counts as not answered, and as having taken so long."""


def tree(pid: int) -> list[int]:
    """A process and everything below it."""
    return [pid, *(one.pid for one in Processes("/proc").descendants(pid))]


def cpu_s(pid: int) -> float:
    """Seconds on a CPU so far, all threads of the tree, and what was waited for of ended children."""
    total, ended = 0, 0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{one}/task"):
                total += int(Path(f"/proc/{one}/task/{task}/schedstat").read_text().split()[0])
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ended += int(fields[13]) + int(fields[14])  # cutime, cstime
    return total / 1e9 + ended / os.sysconf("SC_CLK_TCK")


def own_pss(pid: int) -> int:
    """Proportional set size of one process, bytes; 0 once it is gone."""
    with contextlib.suppress(OSError):
        return _kib(f"/proc/{pid}/smaps_rollup", "Pss:")
    return 0


def own_rss(pid: int) -> int:
    """Resident set size of one process, bytes; 0 once it is gone."""
    with contextlib.suppress(OSError):
        return _kib(f"/proc/{pid}/status", "VmRSS:")
    return 0


def _kib(path: str, field: str) -> int:
    for line in Path(path).read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def pss_bytes(pid: int) -> int:
    """Proportional set size of the tree."""
    return sum(map(own_pss, tree(pid)))


def descriptors(pid: int) -> int:
    """Open descriptors of one process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid: int) -> int:
    """Threads of one process."""
    return len(os.listdir(f"/proc/{pid}/task"))


def part(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of all lie (0.5: the median); NaN without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class Pinger:
    """Asks the daemon for a sign of life twice a second, in a thread, and notes how long that took."""

    def __init__(self, socket: Path) -> None:
        self.took: list[float] = []
        """Seconds until each answer; :data:`PING_PATIENCE_S` where none came."""
        self._client = Client(str(socket), PING_PATIENCE_S)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Pinger:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(PING_EVERY_S):
            began = time.monotonic()
            try:
                self._client.ask("ping")
                self.took.append(time.monotonic() - began)
            except DaemonUnreachable:
                self.took.append(PING_PATIENCE_S)

    def figures(self) -> dict[str, Any]:
        """Median, 99 % and longest, in seconds, and how many pings there were."""
        took = self.took
        return {
            "pings": len(took),
            "ping_p50_s": round(part(took, 0.5), 4),
            "ping_p99_s": round(part(took, 0.99), 4),
            "ping_longest_s": round(max(took, default=float("nan")), 4),
        }
