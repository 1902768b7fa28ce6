"""Readers for finished logs, which may be gigabytes and are read once, in one go."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from .events import EventReader
from .matcher import INDEX
from .prefilter import AtomFinder, best_finder
from .reader import LogReader
from .sampled import SampledReader
from .shapes import BACKLOG_BYTES

OpenReader = Callable[[str, "int | None"], LogReader]
"""(name of the log, rank of its writer) -> a reader."""


def everything(file: str, rank: int | None = None) -> LogReader:
    """A reader of events, phases, claims and all metrics."""
    return LogReader(file, rank, shape_bytes=BACKLOG_BYTES)


def to_judge(file: str, rank: int | None = None) -> LogReader:
    """The same, but of long stretches in which nothing happens it gives only samples."""
    return SampledReader(file, rank, shape_bytes=BACKLOG_BYTES)


def events_alone(file: str, rank: int | None = None) -> LogReader:
    """A reader of events, phases and claims only, with the fastest search engine installed."""
    return EventReader(file, rank, shape_bytes=BACKLOG_BYTES, finder=_finder())


@cache
def _finder() -> AtomFinder | None:
    return best_finder(INDEX.atoms)
