"""Silences: a person wants no pushes about a run or a class for a while. They outlive a restart."""

from __future__ import annotations

import secrets
from typing import Any

from ..system.clock import Clock
from ..system.store import Store
from .restoring import Restorer


class Silences:
    """The silences of a daemon, in its store."""

    def __init__(
        self, store: Store, clock: Clock, restorer: Restorer, known: list[dict[str, Any]]
    ) -> None:
        self._store = store
        self._clock = clock
        self._known = known
        """Changed in place: :attr:`.context.Context.silences` is the same list, for the notes of a run."""
        for silence_id, silence in restorer.each("silence", _silence).items():
            if silence["until"] > clock.now():
                self._known.append({"id": silence_id, **silence})
            else:
                store.drop("silence", silence_id)

    def add(self, run: str, trouble: str, for_s: float) -> dict[str, Any]:
        """Push nothing about ``run`` and class ``trouble`` (empty: any) for ``for_s`` seconds."""
        now = self._clock.now()
        made = {"id": secrets.token_hex(4), "run": run, "class": trouble, "until": now + for_s}
        self._known[:] = [*self.all(), made]
        self._store.put("silence", str(made["id"]), made, now)
        return made

    def all(self) -> list[dict[str, Any]]:
        """The silences that are not over."""
        now = self._clock.now()
        return [s for s in self._known if s["until"] > now]

    def end(self, silence_id: str) -> bool:
        """End a silence now; False when there is none with this id."""
        left = [s for s in self.all() if s["id"] != silence_id]
        known = len(left) < len(self.all())
        self._known[:] = left
        self._store.drop("silence", silence_id)
        return known

    def covers(self, run: str, trouble: str) -> bool:
        """Whether nothing is pushed about this trouble of this run now."""
        return any(s["run"] in ("", run) and s["class"] in ("", trouble) for s in self.all())

    def put_again(self) -> None:
        """Put them into a store that is new."""
        for made in self._known:
            self._store.put("silence", str(made["id"]), made, self._clock.now())


def _silence(doc: dict[str, Any]) -> dict[str, Any]:
    """A silence as it was stored. Raises KeyError, TypeError or ValueError for anything else."""
    return {"run": str(doc["run"]), "class": str(doc["class"]), "until": float(doc["until"])}
