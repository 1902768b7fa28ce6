"""A budget of descriptors with room for few, and keepers with real ones."""

from __future__ import annotations

import gc
import os

from middlewatch.daemon.system import descriptors
from middlewatch.daemon.system.descriptors import LEAST_RESERVE, Descriptors, Use


class Held:
    """Keeps ``count`` descriptors of /dev/null, as long as it may."""

    def __init__(self, budget: Descriptors, count: int, *, refuses: bool = False) -> None:
        self.use = Use.CONTROL_GROUP
        self._budget, self._count, self._refuses = budget, count, refuses
        self._fds: list[int] = []

    @property
    def held(self) -> bool:
        return bool(self._fds)

    def open(self) -> None:
        self._fds = self._fds or [os.open(os.devnull, os.O_RDONLY) for _ in range(self._count)]

    def ask(self, use: Use | None = None) -> bool:
        """Open them if they are not, and ask to keep them."""
        self.use = self.use if use is None else use
        self.open()
        if not self._budget.keep(self, self.use, self._count):
            self._close()
        return self.held

    def give_back(self) -> bool:
        if not self._refuses:
            self._close()
        return not self._refuses

    def close(self) -> None:
        self._budget.forget(self)
        self._close()

    def _close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())


class Box:
    """``budget`` has room for ``room`` kept descriptors. What this process had open before does not count:
    it may be many, left by other tests."""

    def __init__(self, room: int) -> None:
        gc.collect()  # files that a test before has left open would be closed in the middle of this one
        before = descriptors._open_now() or 0
        self.limit = room + LEAST_RESERVE
        self.budget = Descriptors(
            lambda: self.limit, lambda: (descriptors._open_now() or 0) - before
        )
        self._made: list[Held] = []

    def held(self, count: int = 1, *, refuses: bool = False) -> Held:
        """A keeper that has its descriptors open and has not asked yet."""
        made = Held(self.budget, count, refuses=refuses)
        made.open()
        self._made.append(made)
        return made

    def open(self, use: Use, *, refuses: bool = False) -> Held:
        """A keeper that has asked."""
        made = self.held(refuses=refuses)
        made.ask(use)
        return made

    def close(self) -> None:
        for one in self._made:
            one.close()
