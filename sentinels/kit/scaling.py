"""Steps that a loss scaler skipped, against those that it did not."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

from .ledger import Ledger
from .observations import LogEvent, Observation, Step

BURST = 5
"""Skips close together, in the middle of a run, that are no growing scale that is taken back:
scalers try a larger scale once in 1,000 or 2,000 steps."""
BURST_STEPS = 10
"""Steps in which they must lie."""
SETTLED = 50
"""Steps after which a scaler has found its scale: it begins at 2^16 or 2^32 and halves."""
IN_A_ROW = 8
"""Skips without one step between them that end a run, if the scale has left all proportion."""
NO_SCALE = 1e-3
"""The scale meant: fairseq gives up at 1e-4, DeepSpeed and Megatron at 1."""
SMALL = 1.0
"""A scale below 1 makes gradients smaller: half precision is not what overflows."""


@dataclass(slots=True)
class Skip:
    """One step that was skipped."""

    event: LogEvent
    step: float | None
    scale: float | None


class Scaling(Ledger):
    """The newest skips, and the first ones that prove a trouble."""

    takes: ClassVar[tuple[type, ...]] = (Step, LogEvent)

    def __init__(self) -> None:
        self.count = 0
        self.in_a_row = 0
        self.steps_since = 0
        """Steps since the newest skip."""
        self.newest: deque[Skip] = deque(maxlen=BURST)
        self.first: Skip | None = None
        self.small: Skip | None = None
        """The first one that made the scale smaller than 1."""
        self.burst: Skip | None = None
        """The first one of several close together in the middle of the run."""
        self.gone: Skip | None = None
        """The one after which no scale was left."""
        self._rank: int | None = None
        self._step: float | None = None

    @property
    def quiet(self) -> bool:
        """True while nothing was skipped that a scaler need not skip."""
        return self.small is None and self.burst is None

    def add(self, seen: Observation) -> None:
        """Count a step, or a skip."""
        if isinstance(seen, Step):
            if seen.number is not None and seen.number != self._step:
                self._step = seen.number
                self.in_a_row = 0
                self.steps_since += 1
        elif isinstance(seen, LogEvent) and seen.trouble == "overflow_skip":
            self._skip(seen)

    def _skip(self, event: LogEvent) -> None:
        if not self.count:
            self._rank = event.rank
        elif event.rank != self._rank:
            return  # every rank says so
        told = event.details.get("loss_scale")
        scale = told if isinstance(told, float) else None
        skip = Skip(event, self._step, scale)
        self.count += 1
        self.in_a_row += 1
        self.steps_since = 0
        self.newest.append(skip)
        self.first = self.first or skip
        if scale is not None and scale < SMALL:
            self.small = self.small or skip
            if self.in_a_row >= IN_A_ROW and scale < NO_SCALE:
                self.gone = self.gone or skip
        first = self.newest[0]
        if len(self.newest) == BURST and first.step is not None and self._step is not None:
            near = 0 <= self._step - first.step <= BURST_STEPS
            if near and first.step >= SETTLED:
                self.burst = self.burst or first
