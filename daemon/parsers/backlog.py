"""Readers for logs that are complete: gigabytes at once, and then the reading ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from .events import EventReader
from .matcher import INDEX
from .prefilter import AtomFinder, best_finder
from .reader import LogReader
from .shapes import BACKLOG_BYTES

OpenReader = Callable[[str, "int | None"], LogReader]
"""(name of the log, rank of its writer) -> a reader."""


def everything(file: str, rank: int | None = None) -> LogReader:
    """Events and every number of the training."""
    return LogReader(file, rank, shape_bytes=BACKLOG_BYTES)


def events_alone(file: str, rank: int | None = None) -> LogReader:
    """Troubles, phases and claims, with the fastest engine that is installed."""
    return EventReader(file, rank, shape_bytes=BACKLOG_BYTES, finder=_finder())


@cache
def _finder() -> AtomFinder | None:
    return best_finder(INDEX.atoms)
