"""Takes up what the store holds after a restart: a document that cannot be read costs itself only.

It is put apart in the store (kind ``unread KIND``), so that it is kept, told once, and not met again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from middlewatch.sentinels.kit import codec
from middlewatch.sentinels.kit.classes import UnknownClass, row

from ..checkpoints import index
from ..config.run_spec import RunSpec, RunState
from ..judge.incidents import Incident
from ..system.store import Store

Loaded = TypeVar("Loaded")
NAMED = 5
"""Documents that are named in the push about those that cannot be read. Our choice."""


@dataclass(frozen=True)
class _Exit:
    code: int | None
    signal: int | None


@dataclass(frozen=True)
class _Run:
    """What is stored of a run beside its spec and its history, which check themselves."""

    history: dict[str, Any]
    state: RunState
    since: float
    reason: str
    watched_since: float
    ended_at: float | None = None
    exit: _Exit | None = None
    log_tail: list[str] = field(default_factory=list)
    tails: dict[str, dict[str, Any]] = field(default_factory=dict)
    promised: dict[str, str] = field(default_factory=dict)


def spec_of(doc: Mapping[str, Any]) -> RunSpec:
    """The spec in the document of a run, if the whole document can be used. Raises ValueError,
    KeyError, TypeError or AttributeError if not."""
    codec.load(_Run, doc)
    if doc.get("index"):
        index.check(doc["index"])
    return RunSpec.from_json(doc["spec"])


def with_index(doc: dict[str, Any], own: dict[str, Any] | None) -> dict[str, Any]:
    """The document of a run with its index, which has a document of its own if it is very large."""
    known = doc.get("index") or {}
    if own and str(own.get("updated_at")) >= str(known.get("updated_at", "")):
        return {**doc, "index": own}
    return doc


class Restorer:
    """Reads documents; ``lost`` are those that could not be read and were not told yet."""

    def __init__(self, store: Store, log_line: Callable[[str], None]) -> None:
        self._store = store
        self._log_line = log_line
        self.lost: list[str] = []

    def each(self, kind: str, load: Callable[[dict[str, Any]], Loaded]) -> dict[str, Loaded]:
        """What ``load`` makes of every document of a kind, by its id."""
        found = {}
        for doc_id, doc in list(self._store.all(kind)):
            try:
                found[doc_id] = load(doc)
            except Exception as error:  # noqa: BLE001 - a document may hold anything
                self.give_up(kind, doc_id, error)
        self._take_broken()
        return found

    def incidents(self) -> list[Incident]:
        """The incidents. One of a class that only a newer release knows is left where it is."""
        found = []
        for one in self.each("incident", Incident.from_json).values():
            try:
                row(one.trouble)
            except UnknownClass as error:
                self._log_line(f"incident {one.id} of the store is not usable: {error!r}")
                continue
            found.append(one)
        return found

    def give_up(self, kind: str, doc_id: str, error: Exception) -> None:
        """Put a document apart that cannot be read."""
        self._log_line(f"{kind} {doc_id} of the store is not usable: {error!r}")
        self._store.put_apart(kind, doc_id)
        self.lost.append(f"{kind} {doc_id}")

    def _take_broken(self) -> None:
        for kind, doc_id in sorted(self._store.broken):
            self.give_up(kind, doc_id, ValueError("it is no JSON object"))
        self._store.broken.clear()

    def told(self) -> list[str]:
        """The documents that are to be told now, at most :data:`NAMED` of them by name."""
        lost, self.lost = self.lost, []
        more = len(lost) - NAMED
        return [*lost[:NAMED], f"and {more} more"] if more > 0 else lost
