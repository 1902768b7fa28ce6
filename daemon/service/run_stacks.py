"""The stacks of the processes of one run, taken while its silence may be a hang."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from middlewatch.sentinels.kit import Observation, View
from middlewatch.sentinels.kit.pace.suspects import HangLimits, suspects

from ..judge.history import RunHistory
from ..sources.stacks import Stacks, Suspect
from ..system.clock import Clock
from ..system.pump import Pump, Pumped

SUSPECT_S = 5.0
"""Seconds between two choices of the processes whose stacks are taken during a silence."""


class Run(Protocol):
    """What is used here of a :class:`.watched_run.WatchedRun`."""

    history: RunHistory
    clock: Clock

    def add_observations(self, seen: Iterable[Observation]) -> None:
        """Take what a source saw."""
        ...


class RunStacks:
    """The source of the stacks; it exists only while it is needed."""

    def __init__(self, run: Run, name: str) -> None:
        self._run, self._name = run, name
        self._source: tuple[Stacks, Pumped] | None = None
        self._chosen_at = 0.0

    def choose(self, view: View, limits: HangLimits, pump: Pump) -> None:
        """Take those of the processes that are odd by ``limits``, chosen anew every few seconds."""
        if view.now < self._chosen_at + SUSPECT_S:
            return
        self._chosen_at = view.now
        wanted = tuple(Suspect(*one) for one in suspects(view, limits))
        if self._source is None:
            if not wanted:
                return
            source = Stacks(self._run.clock)
            source.wanted = wanted
            self._source = source, pump.add(source, self._run.add_observations, self._name)
        self._source[0].wanted = wanted

    def forget(self, pump: Pump | None) -> None:
        """Take none any longer, and forget those that were taken."""
        if self._source is not None and pump is not None:
            pump.remove(self._source[1])
            self._source = None
            self._run.history.stacks.clear()
