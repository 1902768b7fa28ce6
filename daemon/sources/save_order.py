"""Which of thousands of checkpoints come first: the newest, and so many at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set

from middlewatch.sentinels.kit import CheckpointSeen

from ..checkpoints.followed import Followed

MEETS = 1000
"""Checkpoints that are met in one look at most: to look at the files of so many takes 0.1 s. Our choice."""

_NUMBER = re.compile(r"(\d+)")


class DueQueue:
    """Checkpoints that are due for the verifier, by the newest first.

    It is filled once a scan, so that a verdict costs the same beside ten checkpoints and beside
    twenty thousand. What becomes due between two scans waits for the next one.
    """

    def __init__(self) -> None:
        self._due: list[Followed] = []

    def fill(self, due: Iterable[Followed]) -> None:
        """Hold these instead of what was left."""
        self._due = sorted(due, key=lambda followed: followed.fingerprint.newest_ns)

    def take(self, still: Callable[[Followed], bool]) -> Followed | None:
        """The newest that is ``still`` due. What is not any more is dropped."""
        while self._due:
            newest = self._due.pop()
            if still(newest):
                return newest
        return None

    def put_back(self, followed: Followed) -> None:
        """It could not be asked about: it is the next again."""
        self._due.append(followed)


class MeetOrder:
    """Which checkpoints that are new are met in this look, and which wait because too many are.

    The newest, by the numbers in their names, come first. What waits is put in order once, so that a
    look costs the same however many wait.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, None] = {}
        """Paths, the newest last."""

    def later(self, seen: Set[str], known: Set[str]) -> Set[str]:
        """Paths that are new and wait for a later look."""
        fresh = seen - known
        if len(fresh) <= MEETS:
            self._waiting = {}
            return frozenset()
        now = fresh - self._waiting.keys()
        if len(now) > MEETS:
            self._waiting, now = dict.fromkeys(sorted(fresh, key=_by_numbers)), set()
        while self._waiting and len(now) < MEETS:
            newest, _ = self._waiting.popitem()
            if newest in fresh:
                now.add(newest)
        return fresh - now


class ByTime:
    """Checkpoints by time of save, sorted again only when they are not the same as before."""

    def __init__(self) -> None:
        self._seen: list[CheckpointSeen] = []
        self._sorted: list[CheckpointSeen] = []

    def of(self, seen: list[CheckpointSeen]) -> list[CheckpointSeen]:
        """These, oldest first: the same object as long as they are the same."""
        if seen != self._seen:
            self._seen = seen
            self._sorted = sorted(seen, key=lambda one: (one.saved_at, one.path))
        return self._sorted


def _by_numbers(path: str) -> list[tuple[int, str]]:
    """A key by which ``step_9`` comes before ``step_10``."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in _NUMBER.split(path)]
