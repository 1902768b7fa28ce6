"""The journal and the roster computed from it: what is written is read back, so that there is one truth."""

from __future__ import annotations

from typing import Any

from ..system.clock import Clock
from .journal import Journal
from .places import QueuePlace
from .roster import QueueState


class QueueStore:
    """Of one queue. Every change goes through the journal into the roster."""

    def __init__(self, place: QueuePlace, clock: Clock) -> None:
        self.clock = clock
        self.roster = QueueState()
        self._journal = Journal(place.journal)
        self.refresh()

    def refresh(self) -> None:
        """Take over what others have written as well."""
        self.roster.take(self._journal.news())

    def note(self, kind: str, **fields: Any) -> None:
        """Write a record, on the disk, and take it over. Raises OSError: then nothing has changed."""
        self._journal.add(kind, self.clock.now(), **fields)
        self.refresh()
