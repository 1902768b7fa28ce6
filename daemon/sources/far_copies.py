"""Copies the status files into a folder that may be on a far file system, through a guard."""

from __future__ import annotations

from collections.abc import Iterable

from middlewatch.sentinels.kit import Observation

from ..system.far import Far
from ..system.guard import WRITES, Guard, Guards
from ..system.source import Source


class FarCopies(Source):
    """Writes the newest version of each wanted file, as soon as the file system answers.

    Trouble with it is no trouble of a run: it is said in :attr:`trouble`, and never a blind spot.
    """

    name = "status_dir"
    every_s = 2.0

    def __init__(self, guards: Guards) -> None:
        self._guards = guards
        self._guard: Guard | None = None
        self._far: Far | None = None
        self._wanted: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._error = ""

    def want(self, source: str, target: str, far: Far) -> None:
        """Copy the local file ``source`` to ``target`` on ``far``; replaces earlier wishes."""
        if far != self._far:
            self.close()
            self._far, self._guard = far, self._guards.guard(far, WRITES)
        self._wanted[target] = source

    def fds(self) -> Iterable[int]:
        """The pipe of the guard."""
        fd = self._guard.fileno() if self._guard is not None else None
        return () if fd is None else (fd,)

    def read(self, now: float) -> Iterable[Observation]:
        """Hand over what is wanted."""
        self.ready(-1, now)
        if self._guard is not None and self._wanted:
            files = {source: target for target, source in self._wanted.items()}
            if self._guard.ask(self.name, {"do": "copy", "files": files}):
                self._asked, self._wanted = self._wanted, {}
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the answer."""
        answer = self._guard.take(self.name) if self._guard is not None else None
        if answer is not None:
            self._error = answer["error"]
            self._asked = {}
        return ()

    @property
    def trouble(self) -> str:
        """Why the newest files are not there; empty if they are."""
        if self._guard is not None and self._guard.late_s(self.name):
            return f"{self._far} does not answer: the status files there are old"
        return self._error

    def close(self) -> None:
        """Let the guard go."""
        if self._guard is not None:
            self._guard.leave(self.name)
        self._guard, self._far = None, None
