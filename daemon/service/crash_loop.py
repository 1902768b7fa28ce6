"""A command that is started again and again, and gains nothing, is one conversation.

Whatever starts it (a loop in a shell, a supervisor, a queue), each start is an attempt that goes on from
the one before (:attr:`.RunSpec.resumed_from`). What attempts die of that came no further than those before
them is told as one trouble: a phone that rings for each of them rings all night.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .watched_run import WatchedRun

LOOPS = (
    "It is started again and again, and gains nothing. What follows of it today is on the status page "
    "and in the digest; if an attempt trains further and then fails, that is pushed."
)
"""Said by the last push about it."""


class _Before(NamedTuple):
    """What came before an attempt."""

    best: float | None
    """The furthest that any attempt came."""
    gained: str
    """The newest attempt that came further than those before it; empty where there was no attempt."""


class Loops:
    """Knows of each attempt what those before it reached. ``runs``: all runs, by id."""

    def __init__(self, runs: Mapping[str, WatchedRun]) -> None:
        self._runs = runs
        self._known: dict[str, _Before] = {}

    def barren(self, run: str) -> str:
        """The attempt since which nothing was gained, for one that has come no further so far; else empty."""
        watched, before = self._runs.get(run), self._before(run)
        if watched is None or not before.gained or _gains(watched, before):
            return ""
        return before.gained

    def _before(self, run: str) -> _Before:
        chain, met = [run], {run}
        while chain[-1] not in self._known:
            watched = self._runs.get(chain[-1])
            before = watched.spec.resumed_from if watched else None
            if before is None or before not in self._runs or before in met:
                self._known[chain[-1]] = _Before(None, "")
                break
            chain.append(before)
            met.add(before)
        for older, newer in zip(chain[:0:-1], chain[-2::-1], strict=True):
            known, watched = self._known[older], self._runs[older]
            reached = _reached(watched)
            best = max((one for one in (known.best, reached) if one is not None), default=None)
            gained = older if not known.gained or _gains(watched, known) else known.gained
            self._known[newer] = _Before(best, gained)
        return self._known[run]


def _gains(watched: WatchedRun, before: _Before) -> bool:
    reached = _reached(watched)
    return reached is not None and (before.best is None or reached > before.best)


def _reached(watched: WatchedRun) -> float | None:
    """The highest step that an attempt has reported, or the highest epoch of one that counts no steps."""
    history = watched.history
    steps = [number for _, number in history.step_times]
    epochs = (step.epoch for step in history.steps if step.epoch is not None)
    return max(steps, default=None) if steps else max(epochs, default=None)
