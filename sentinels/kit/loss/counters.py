"""Whose report it is, where two programs that tell no steps write into one log, epoch after epoch.

Two folds or two candidates at a time, by ``xargs -P 2`` say. Their reports mix, and each has its own loss. A
report belongs to the counter that it continues most closely; only one of the two is followed. A counter
that begins again alone is a new start of the same program, which shows when the old one stays away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

AWAY = 3
"""Reports of the other counter in a row after which the one that was followed has ended (our choice)."""

Whose = Literal["ours", "other", "anew"]


@dataclass(slots=True)
class EpochCounters:
    """The newest epochs of the program that is followed, and of another one in the same log."""

    ours: float | None = None
    other: float | None = None
    row: int = 0
    """Reports of the other one since our last."""
    SAVED: ClassVar[tuple[str, ...]] = ("ours", "other", "row")

    def take(self, epoch: float, *, first: bool) -> Whose:
        """Take in the epoch of the next report. ``first``: an epoch with which a training begins.

        ``anew``: from here on another start is followed.
        """
        here, there = _ahead(self.ours, epoch), _ahead(self.other, epoch)
        if there is not None and (here is None or there < here):
            self.other = epoch
            return self._strange()
        if here is None and self.ours is not None and first and self.other is None:
            self.other = epoch
            return self._strange()
        anew = here is None and self.ours is not None and first
        self.ours, self.row = epoch, 0
        return "anew" if anew else "ours"

    def _strange(self) -> Whose:
        self.row += 1
        if self.row <= AWAY:
            return "other"
        self.ours, self.other, self.row = self.other, None, 0
        return "anew"


def _ahead(counter: float | None, epoch: float) -> float | None:
    """Epochs from the newest of a counter to this one; ``None`` where it would go back."""
    return None if counter is None or epoch < counter else epoch - counter
