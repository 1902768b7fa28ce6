"""What others ask of the part that starts runs again; where there is none, this is the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..judge.incidents import Incident
from ..system.errors import Refused

if TYPE_CHECKING:
    from .watched_run import WatchedRun


class Restarts:
    """Nothing is ever started again."""

    def holds(self, incident: Incident) -> bool:
        """True while a push about an end waits for what becomes of the run."""
        return False

    def tells_end(self, watched: WatchedRun) -> bool:
        """True for a run whose failed end is told by the push on what becomes of it."""
        return False

    def promise(self, run: str, incident: str) -> str:
        """A sentence for the first push about an end: whether the run is started again."""
        return ""

    def seed(self, watched: WatchedRun) -> None:
        """Give a new attempt what is known of the attempt before."""

    def limit(self, watched: WatchedRun, most: int) -> dict[str, Any]:
        """Set how often the run may be started again; 0 calls off what was decided."""
        raise Refused("this daemon starts no run again")

    def shown(self, watched: WatchedRun) -> dict[str, Any] | None:
        """``again`` in ``status --json``; ``None``: nobody asked for it."""
        return None
