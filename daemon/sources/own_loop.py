"""The daemon's own loop as a source: a standstill in which nothing was watched is told."""

from __future__ import annotations

from collections.abc import Iterable

from middlewatch.sentinels.kit import Observation

from ..system.loop_watch import LoopWatch
from ..system.source import Source

TOLD_FROM_S = 30.0
"""Seconds of standstill from which it is told as a blind time: the rule `blind` also waits 30 s. A
shorter one stands in the daemon's log and in the notes of `status`."""
TOLD_FOR_S = 60.0
"""Seconds for which it is told afterwards: long enough for the rule to see it."""


class OwnLoop(Source):
    """``impaired`` for a minute after the loop stood still for long."""

    name = "loop"
    every_s = 10.0

    def __init__(self, watch: LoopWatch) -> None:
        self._watch = watch
        self._now = 0.0

    def read(self, now: float) -> Iterable[Observation]:
        """Nothing; the state of this source says it all."""
        self._now = now
        return ()

    @property
    def impaired(self) -> str:
        """The newest long standstill, while it is fresh."""
        for past in reversed(self._watch.past):
            ago_s = self._now - past.at - past.for_s
            if past.for_s >= TOLD_FROM_S and ago_s < TOLD_FOR_S:
                return f"nothing was watched meanwhile: {past}"
        return ""
