"""A part of the watch itself as a source: its state disk, its store, its memory, its descriptors, its code.

A trouble of the watch is told like that of any other source that cannot be read: by the rule `blind`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from middlewatch.sentinels.kit import Observation

from ..system.source import Source

LOOK_S = 10.0
"""Seconds between two looks, as for the daemon's own loop: a disk that fills up is told by its own rule
long before. Our choice."""


class OwnPart(Source):
    """``impaired`` while ``look`` says what is wrong (empty: nothing). ``look`` gets epoch seconds."""

    every_s = LOOK_S

    def __init__(self, name: str, look: Callable[[float], str]) -> None:
        self.name = f"own:{name}"
        self._look = look
        self._trouble = ""

    def read(self, now: float) -> Iterable[Observation]:
        """Nothing; the state of this source says it all."""
        self._trouble = self._look(now)
        return ()

    @property
    def impaired(self) -> str:
        """What was wrong at the last look."""
        return self._trouble
