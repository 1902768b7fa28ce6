"""Saves that are no good: known to be corrupt, or half-written and left lying."""

from __future__ import annotations

from typing import ClassVar

from ..accumulator import Accumulator
from ..observations import CheckpointSeen, Observation

KEPT = 32


def is_left_over(seen: CheckpointSeen) -> bool:
    """A temporary that nobody writes any more: not verified, so it has no level."""
    return seen.state == "incomplete" and seen.level is None


def is_nonfinite(seen: CheckpointSeen) -> bool:
    """Its bytes are what was written, and what was written is NaN or infinite."""
    return seen.state == "corrupt" and seen.level == "finite"


def written(seen: CheckpointSeen) -> bool:
    """It was written to its end, or may be: it took its room and came when a save was due.

    One that holds NaN was as well.
    """
    return seen.state not in ("corrupt", "incomplete") or is_nonfinite(seen)


class Damage(Accumulator):
    """Whether any save was ever found to be bad, and what was left half-written."""

    takes: ClassVar[tuple[type, ...]] = (CheckpointSeen,)

    def __init__(self) -> None:
        self.found = False
        """Some checkpoint was called corrupt or incomplete."""
        self.left: dict[str, CheckpointSeen] = {}
        """By path; one that goes on growing, or is removed, is forgotten."""

    @property
    def quiet(self) -> bool:
        """True while every save was whole."""
        return not self.found and not self.left

    def add(self, seen: Observation) -> None:
        """Take what is said of one save."""
        if not isinstance(seen, CheckpointSeen):
            return
        if is_left_over(seen):
            if len(self.left) < KEPT or seen.path in self.left:
                self.left[seen.path] = seen
            return
        self.left.pop(seen.path, None)
        if seen.state in ("corrupt", "incomplete"):
            self.found = True
