"""The connection to one daemon: asked once a second; what it said last, and how old that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .desk import Link
from .poll import Poller, Reply

Ask = Callable[..., Any]
"""``ask(op, **args)`` returns the data of the daemon's answer; it blocks, and raises MiddlewatchError."""

LATE_S = 3.0
"""Age of the last answer in seconds from which the header shows it: two answers are missing."""


class Connection:
    """One box."""

    def __init__(
        self, name: str, ask: Ask, tell: Callable[[str, Reply], object], period_s: float
    ) -> None:
        self.name = name
        self.ask = ask
        self._poller = Poller(lambda: ask("overview"), lambda reply: tell(name, reply), period_s)
        self._last = Reply(None)
        self._failed = Reply(None)
        self._answered_at = 0.0

    def start(self, mono: float) -> None:
        """Ask from now on (seconds of a monotonic clock)."""
        self._answered_at = mono
        self._poller.start()

    def stop(self) -> None:
        """Ask no more."""
        self._poller.stop()

    def take(self, reply: Reply, mono: float) -> None:
        """An answer, or that there was none."""
        if reply.answer is None:
            self._failed = reply
        else:
            self._last, self._failed = reply, Reply(None)
            self._answered_at = mono

    def link(self, mono: float) -> Link:
        """The last answer with its age, and why there is no newer one."""
        age = mono - self._answered_at
        silent = bool(self._failed.reason) or age >= LATE_S
        return Link(self._last.answer, age, silent, self._failed.reason, self._failed.hint)
