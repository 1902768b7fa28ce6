"""Saves that are written again before they were still for long enough to be verified.

A program that saves to one file every two seconds never leaves it alone. At intervals such a save is verified
between two of its writings: the verdict counts if no byte changed meanwhile. Who looks in between reads when that
was, and what was found.
"""

from __future__ import annotations

from dataclasses import dataclass

from middlewatch.sentinels.kit.numbers import span

AFTER_S = 60.0
"""Seconds of changes without a verdict after which a save counts as restless. Our choice: twenty times the time
for which a save must be still; one that is being written for longer holds its file open, and is asked about in vain
once a minute."""
EVERY_S = 60.0
"""Seconds between two attempts. Our choice: one costs 10 ms."""


@dataclass(slots=True)
class _State:
    since: float
    """When it changed first after its last verdict, epoch seconds."""
    tried_at: float
    most: int
    """Bytes that it had at most: one that grows is being written, however long that takes."""
    whole_at: float | None = None
    """When it was verified last, between two of its writings."""


class Restless:
    """Which saves these are, by path."""

    def __init__(self) -> None:
        self._known: dict[str, _State] = {}

    def changed(self, path: str, size: int, now: float) -> str:
        """It was written again and has ``size`` bytes now; what to say of it."""
        known = self._known.setdefault(path, _State(now, now, size))
        if size > known.most:
            known.most, known.since = size, now
        if abs(now - known.since) < AFTER_S:
            return "being saved"
        if known.whole_at is None:
            return (
                f"written again and again for {span(abs(now - known.since))}: not verified, it is "
                "tried once a minute"
            )
        return f"written again and again: whole {span(abs(now - known.whole_at))} ago, the bytes of now are not verified"

    def due(self, path: str, now: float) -> bool:
        """Whether it is to be verified although it has just changed."""
        known = self._known.get(path)
        if known is None or abs(now - known.since) < AFTER_S:
            return False
        return abs(now - known.tried_at) >= EVERY_S

    def tried(self, path: str, now: float) -> None:
        """The verifier was asked about it."""
        if path in self._known:
            self._known[path].tried_at = now

    def judged(self, path: str, now: float, *, still: bool) -> None:
        """It has a verdict. One that was still before it is restless no more."""
        known = self._known.get(path)
        if known is not None and still:
            del self._known[path]
        elif known is not None:
            known.whole_at = now

    def gone(self, path: str) -> None:
        """It is not there any more."""
        self._known.pop(path, None)
