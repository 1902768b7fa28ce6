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
        self._due = sorted(due, key=_newest_ns)

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


class DataOrder:
    """Whose data is read next: of the checkpoints saved since the run is watched the newest, else the
    newest of all, and first the one that was begun: saves may come faster than one can be read.

    It is filled once a scan, as :class:`DueQueue` is.
    """

    def __init__(self) -> None:
        self._fresh: list[Followed] = []
        """Saved since the run is watched, and not read; the newest last."""
        self._newest: Followed | None = None
        self._begun: Followed | None = None

    def fill(self, known: Iterable[Followed], reads: Callable[[Followed], bool]) -> None:
        """Choose among these, as far as ``reads`` says that their data is to be read."""
        whole = [followed for followed in known if reads(followed)]
        fresh = [followed for followed in whole if followed.fresh and not followed.done]
        self._begun = next((f for f in fresh or whole if _is_begun(f)), None)
        self._newest = max(whole, key=_newest_ns, default=None)
        self._fresh = sorted(fresh, key=_newest_ns)

    def first(self, reads: Callable[[Followed], bool]) -> Followed | None:
        """The one to read now; it stays the first until it is done. ``None``: all that is to be read
        was read."""
        if self._begun is not None and _is_begun(self._begun) and reads(self._begun):
            return self._begun
        while self._fresh:
            newest = self._fresh[-1]
            if not newest.done and reads(newest):
                return newest
            self._fresh.pop()
        last = self._newest
        return last if last is not None and not last.done and reads(last) else None


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


def _newest_ns(followed: Followed) -> int:
    return followed.fingerprint.newest_ns


def _is_begun(followed: Followed) -> bool:
    return followed.began is not None and not followed.done


def _by_numbers(path: str) -> list[tuple[int, str]]:
    """A key by which ``step_9`` comes before ``step_10``."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in _NUMBER.split(path)]
