"""Which of thousands of checkpoints come first: the newest, and so many at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

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


def met_later(seen: Collection[str], known: Collection[str]) -> Collection[str]:
    """Paths that are new and wait for a later look, because too many are: the newest, by the
    numbers in their names, come first."""
    if len(seen) - len(known) <= MEETS:
        return ()
    fresh = sorted(set(seen) - set(known), key=_by_numbers, reverse=True)
    return frozenset(fresh[MEETS:])


def _by_numbers(path: str) -> list[tuple[int, str]]:
    """A key by which ``step_9`` comes before ``step_10``."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in _NUMBER.split(path)]
