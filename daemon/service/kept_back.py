"""Pushes that were kept back: warnings in quiet hours or beyond the budget, what flaps, what no route
takes. The next digest tells them. They are in the store, so that a restart forgets none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ..config.secrets import mask_lines
from ..report.messages import Message
from ..system.store import Store
from ..text.moments import past
from .restoring import Restorer

MOST = 100
"""Kept at most, the newest: a digest names a few and counts the rest. Our choice."""

TOLD_S = 86400.0
"""Seconds for which the status tells of one: without a digest nothing else does."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One push that nobody got."""

    title: str
    at: float
    """Epoch seconds."""
    why: str


class KeptBack:
    """What was kept back since the last digest, oldest first."""

    def __init__(self, store: Store, restorer: Restorer, new_id: Callable[[], str]) -> None:
        self._store = store
        self._new_id = new_id
        found = restorer.each("kept", _kept)
        self._known = dict(sorted(found.items(), key=lambda item: item[1].at))

    def add(self, message: Message, why: str, now: float) -> None:
        """Keep a message back."""
        name, one = message.key or self._new_id(), Kept(mask_lines(message.title), now, why)
        self._known.pop(name, None)
        self._known[name] = one
        self._store.put("kept", name, asdict(one), now)
        while len(self._known) > MOST:
            self._drop(next(iter(self._known)))
        self._store.flush()  # nothing else will tell it

    def sentence(self, now: float) -> str:
        """What was kept back in the last day and is still to be told; empty without any."""
        some = [one for one in self._known.values() if now - one.at < TOLD_S]
        if not some:
            return ""
        count = "1 push was" if len(some) == 1 else f"{len(some)} pushes were"
        reasons = ", ".join(dict.fromkeys(one.why for one in some))
        newest = some[-1]
        return f"{count} kept back ({reasons}); the newest, {past(newest.at, now)}: {newest.title}"

    def all(self) -> dict[str, Kept]:
        """By name, oldest first."""
        return dict(self._known)

    def told(self, names: list[str]) -> None:
        """These were told."""
        for name in names:
            if name in self._known:
                self._drop(name)

    def put_again(self) -> None:
        """Put all into a store that is new."""
        for name, one in self._known.items():
            self._store.put("kept", name, asdict(one), one.at)

    def _drop(self, name: str) -> None:
        del self._known[name]
        self._store.drop("kept", name)


def _kept(doc: dict[str, Any]) -> Kept:
    """One as it was stored. Raises KeyError, TypeError or ValueError for anything else."""
    return Kept(str(doc["title"]), float(doc["at"]), str(doc["why"]))
