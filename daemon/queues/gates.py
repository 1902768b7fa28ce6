"""What a cell waits for: files, saves that are good, other cells. Never what a program says of itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from ..system.clock import Clock
from ..system.worker import module_argv
from .cells import Cell, Gate
from .roster import CellState

SETTLED_S = 10.0
"""Seconds for which a file has to be unchanged: it may still be written to. Our choice."""
AGAIN_S = 60.0
"""Seconds until a save that was not good is looked at again. Our choice."""


class Gates:
    """Looks at gates. A save is verified by a child, which is asked for its answer in later turns."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: dict[str, subprocess.Popen[bytes]] = {}
        self._again: dict[str, float] = {}
        self._good_once: set[str] = set()

    def closed(self, cell: Cell, cells: Mapping[str, CellState]) -> tuple[str, bool]:
        """What the cell still waits for, in words, or empty; and whether that can never come."""
        for gate in cell.settings.after:
            words, never = self._look(gate, cells)
            if words:
                return words, never
        return "", False

    def _look(self, gate: Gate, cells: Mapping[str, CellState]) -> tuple[str, bool]:
        if gate.kind == "cell":
            other = cells.get(gate.what)
            standing = other.standing if other else "waiting"
            if standing == "finished":
                return "", False
            if standing in ("failed", "out"):
                how = "failed" if standing == "failed" else "was taken out"
                return f"{gate.what}, which {how}", True
            return f"the end of {gate.what}", False
        if not there(gate.what, self._clock.now()):
            return gate.what, False
        if gate.kind == "good" and not self._good(gate.what):
            return f"{gate.what} to be a good save", False
        return "", False

    def _good(self, path: str) -> bool:
        if path in self._good_once:
            return True
        child = self._asked.get(path)
        if child is None:
            if self._clock.monotonic() >= self._again.get(path, 0.0):
                words = [*module_argv("middlewatch.daemon.cli"), "verify", path]
                null = subprocess.DEVNULL
                self._asked[path] = subprocess.Popen(
                    words, stdin=null, stdout=null, stderr=null, cwd="/"
                )
            return False
        code = child.poll()
        if code is None:
            return False
        del self._asked[path]
        self._again[path] = self._clock.monotonic() + AGAIN_S
        if code == 0:
            self._good_once.add(path)
        return code == 0


def there(path: str, now: float) -> bool:
    """A file that is not empty, or a folder with something in it, unchanged for :data:`SETTLED_S`."""
    try:
        info = os.stat(path)
        newest, some = info.st_mtime, info.st_size > 0
        if os.path.isdir(path):
            with os.scandir(path) as entries:
                times = [entry.stat().st_mtime for entry in entries]
            newest, some = max([newest, *times]), bool(times)
    except OSError:
        return False
    # A time in the future is that of another clock: it says nothing of the moment.
    return some and (now - newest >= SETTLED_S or newest > now + SETTLED_S)
