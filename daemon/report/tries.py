"""The tries of messages at routes: how many there were, and when the next one is due."""

from __future__ import annotations

from collections.abc import Iterable

from .deliveries import MANY_TRIES, Queued, RouteState

PASS_S = 30.0
"""Seconds after one more failure of such a message for which those behind it, about the same incident, are
tried: it goes first again and again, so that after an outage all come in their order. Our choice."""


class Tries:
    """Of each message at each route. Times are monotonic seconds; routes are named by their marks."""

    def __init__(self) -> None:
        self._count: dict[tuple[str, str], int] = {}
        self._due: dict[tuple[str, str], float] = {}
        """Before this it is not tried again."""
        self._failed_at: dict[tuple[str, str], float] = {}
        self._released: set[tuple[str, str]] = set()
        """Those whose pause was ended by the success of another message, until they wait a whole one."""

    def begin(self, queued: Queued, mark: str) -> None:
        """A try begins."""
        at = (queued.id, mark)
        self._count[at] = self._count.get(at, 0) + 1
        queued.attempts = max(queued.attempts, self._count[at])
        if self._due.pop(at, 0.0) > 0.0:
            self._released.discard(at)  # it has waited a whole pause

    def failed(self, queued: Queued, mark: str, mono: float, pause_s: float) -> None:
        """It failed, and is not tried again before this pause is over."""
        self._due[queued.id, mark] = mono + pause_s
        self._failed_at[queued.id, mark] = mono

    def lets_pass(self, queued: Queued, mark: str, mono: float) -> bool:
        """Whether what comes after it in its incident may be tried: it failed again and again, so it may
        be one that no service takes, and has just failed once more."""
        at = (queued.id, mark)
        just = mono - self._failed_at.get(at, mono - PASS_S) < PASS_S
        return just and self._count.get(at, 0) >= MANY_TRIES

    def most(self, messages: Iterable[Queued], mark: str) -> int:
        """How often the one of these was tried that was tried most."""
        return max((self._count.get((q.id, mark), 1) for q in messages), default=1)

    def may(self, queued: Queued, line: RouteState, mono: float) -> bool:
        """Whether it may be tried now. One that was not tried there yet waits for no pause of the route."""
        at = (queued.id, line.target.mark)
        if line.busy or line.hold_until > mono or self._due.get(at, mono) > mono:
            return False
        return at not in self._count or line.pause_until <= mono or at in self._released

    def hurry(self, queued: Queued, mark: str) -> None:
        """It is due at once."""
        at = (queued.id, mark)
        if at in self._due:
            self._due[at] = 0.0
            self._released.add(at)

    def release(self, queued: Queued, mark: str) -> None:
        """The same, once in a pause: it may be one that no service will ever take."""
        if (queued.id, mark) not in self._released:
            self.hurry(queued, mark)

    def many(self, queued: Queued, mark: str) -> int:
        """How many times :data:`MANY_TRIES` it failed; 0 while the route has just worked."""
        at = (queued.id, mark)
        return 0 if at in self._released else self._count.get(at, 0) // MANY_TRIES

    def forget(self, queued: Queued, marks: Iterable[str]) -> None:
        """It is tried no more."""
        for mark in marks:
            at = (queued.id, mark)
            self._count.pop(at, None)
            self._due.pop(at, None)
            self._failed_at.pop(at, None)
            self._released.discard(at)
