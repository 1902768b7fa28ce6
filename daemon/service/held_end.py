"""The end of a main process, kept back until the last lines of the run were read.

A process says why it ends, and ends; both are seen within a second where the box is quiet. On a busy box,
or where a log is far, the end is seen first, and an end that is judged without its last lines has no cause.
"""

from __future__ import annotations

from typing import Protocol

from middlewatch.sentinels.kit import ProcessEnded

from ..judge.history import RunHistory
from ..system.clock import Clock

MOST_S = 10.0
"""Seconds for which an end waits for its last lines. Our choice."""


class Logs(Protocol):
    """What is used here of :class:`.run_logs.RunLogs`."""

    def forget_level(self) -> None:
        """The logs have to be read to their end again."""
        ...

    def level(self) -> bool:
        """Whether every log was read to its end since then."""
        ...


class HeldEnd:
    """The end of the main process of one run, on its way into its history."""

    def __init__(self, history: RunHistory, clock: Clock) -> None:
        self._history, self._clock = history, clock
        self._held: ProcessEnded | None = None
        self._since = 0.0
        """Monotonic."""

    @property
    def at(self) -> float | None:
        """When the main process was seen to be gone (epoch seconds); ``None`` while it lives."""
        return self._held.at if self._held is not None else self._known()

    def _known(self) -> float | None:
        return next((end.at for end in self._history.endings if end.main), None)

    def add(self, end: ProcessEnded, logs: Logs) -> None:
        """One more end of a process of the run; a status that is learnt late corrects an earlier one."""
        if not end.main or self._known() is not None:
            self._history.add(end)
            return
        if self._held is None:
            self._since = self._clock.monotonic()
            logs.forget_level()
        self._held = end

    def release(self, logs: Logs) -> bool:
        """Let the end be judged, if it is time for that; true if it was."""
        held = self._held
        if held is None:
            return False
        if self._clock.monotonic() - self._since < MOST_S and not logs.level():
            return False
        self._history.add(held)
        self._held = None
        return True
