"""Bad saves: those that are corrupt or incomplete, and temporary files that were left behind."""

from __future__ import annotations

from typing import ClassVar

from ..accumulator import Accumulator
from ..observations import CheckpointSeen, Observation

KEPT = 32


def is_left_over(seen: CheckpointSeen) -> bool:
    """True for a temporary file that is no longer written. It is not verified, so has no level."""
    return seen.state == "incomplete" and seen.level is None


def is_nonfinite(seen: CheckpointSeen) -> bool:
    """True for an undamaged save that contains NaN or infinity."""
    return seen.state == "corrupt" and seen.level == "finite"


def written(seen: CheckpointSeen) -> bool:
    """True for a save that was, or may have been, written to its end, so that its size and time are
    those of a usual save. That includes one that contains NaN.
    """
    return seen.state not in ("corrupt", "incomplete") or is_nonfinite(seen)


class Damage(Accumulator):
    """Whether any save was found to be bad, and the temporary files that were left behind."""

    takes: ClassVar[tuple[type, ...]] = (CheckpointSeen,)

    def __init__(self) -> None:
        self.found = False
        """True when some checkpoint was found to be corrupt or incomplete."""
        self.left: dict[str, CheckpointSeen] = {}
        """Path -> a temporary file left behind; dropped when it grows again or is removed."""

    @property
    def quiet(self) -> bool:
        """True while no save was bad and nothing was left behind."""
        return not self.found and not self.left

    def add(self, seen: Observation) -> None:
        """Take in what is known of one save."""
        if not isinstance(seen, CheckpointSeen):
            return
        if is_left_over(seen):
            if len(self.left) < KEPT or seen.path in self.left:
                self.left[seen.path] = seen
            return
        self.left.pop(seen.path, None)
        if seen.state in ("corrupt", "incomplete"):
            self.found = True
