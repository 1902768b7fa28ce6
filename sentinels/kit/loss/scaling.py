"""Steps that a loss scaler skipped, and whether they are more than usual."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

from ..accumulator import Accumulator, LoggedValue
from ..observations import LogEvent, Observation, Step

BURST = 5
"""Skips within :data:`BURST_STEPS` steps, in the middle of a run, that are a trouble. A scaler that
tries a larger scale and takes it back skips once in 1,000 or 2,000 steps."""
BURST_STEPS = 10
"""Number of steps within which a burst must be."""
SETTLED = 50
"""Steps after which a scaler has found its scale: it begins at 2^16 or 2^32 and halves that."""
IN_A_ROW = 8
"""Skips without a step between them that end a run, if the scale is below :data:`NO_SCALE`."""
NO_SCALE = 1e-3
"""Scale below which there is none left to use: fairseq gives up at 1e-4, DeepSpeed and Megatron at
1."""
SMALL = 1.0
"""A scale below 1 makes gradients smaller, so that it is not half precision that overflows. It is
also the smallest scale that DeepSpeed and Megatron use."""
FELL = 16.0
"""The scale must have been this many times :data:`SMALL` before: bfloat16 runs always print 1."""
AT_LEAST_FOR = 10
"""Consecutive reports at the smallest scale that are a trouble: a scaler that recovers would have
tried a larger scale by then, if its window is that short."""
SHARE = 0.25
"""Part of the steps between two reports from which skips are more than a scaler that tries larger scales often."""
SPELL = 4
"""Consecutive reports of skipped steps, in the middle of a run, that are a trouble and no trial of
a larger scale."""


@dataclass(slots=True)
class Skip:
    """One skipped step: ``step`` is the last step before it, ``scale`` the new loss scale."""

    event: LogEvent
    step: float | None
    scale: float | None


class Scaling(Accumulator):
    """The newest skips, and the first of those that prove a trouble."""

    takes: ClassVar[tuple[type, ...]] = (Step, LogEvent)

    def __init__(self) -> None:
        self.count = 0
        self.in_a_row = 0
        self.steps_since = 0
        """Steps since the newest skip."""
        self.newest: deque[Skip] = deque(maxlen=BURST)
        self.first: Skip | None = None
        self.small: Skip | None = None
        """The first skip with a scale below 1."""
        self.burst: Skip | None = None
        """The first skip of a burst in the middle of the run."""
        self.gone: Skip | None = None
        """The skip after which there was no usable scale left."""
        self.bottom: LoggedValue | None = None
        """The first report of the newest streak at the smallest scale, if that is long enough."""
        self.bottom_decided: LoggedValue | None = None
        self.spell: LoggedValue | None = None
        """The first of :data:`SPELL` or more consecutive reports of skipped steps."""
        self.skipped = 0.0
        """Number of steps skipped in the newest streak of such reports."""
        self.file = ""
        """The log with the newest of these reports."""
        self._rank: int | None = None
        self._step: float | None = None
        self._top = 0.0
        self._low: LoggedValue | None = None
        self._lows = 0
        self._spell: LoggedValue | None = None
        self._spells = 0
        self._reports = 0
        self._writer: int | None = None
        self._told = 0.0
        self._told_at: float | None = None
        self._scale = 0.0
        self._restarts = False
        """The reports count the skips anew: a count was lower than the one before."""

    @property
    def quiet(self) -> bool:
        """True while no more was skipped than a healthy scaler skips."""
        return (
            self.small is None and self.burst is None and self.bottom is None and self.spell is None
        )

    def add(self, seen: Observation) -> None:
        """Count a step, or a skip."""
        if isinstance(seen, Step):
            if seen.number is not None and seen.number != self._step:
                self._step = seen.number
                self.in_a_row = 0
                self.steps_since += 1
                scale = seen.values.get("loss_scale")
                if scale is not None and (seen.rank == self._writer or not self._reports):
                    self._report(seen, scale)
        elif isinstance(seen, LogEvent) and seen.trouble == "overflow_skip":
            self._skip(seen)

    def _report(self, seen: Step, scale: float) -> None:
        """Take in a report with the loss scale, and perhaps the number of skipped steps."""
        self._writer = seen.rank
        self._reports += 1
        self._top = max(self._top, scale)
        if scale > SMALL or self._top < FELL * SMALL:
            self._low, self._lows, self.bottom = None, 0, None
        else:
            self._low = self._low or LoggedValue.of(seen, scale)
            self._lows += 1
            if self._lows == AT_LEAST_FOR:
                self.bottom, self.bottom_decided = self._low, LoggedValue.of(seen, scale)
                self.file = seen.file
        counts = [v for n, v in seen.values.items() if "skipped" in n.lower()]
        # A report of the scale alone counts none, and does not begin the count anew.
        skipped = self._newly(sum(v for v in counts if v > 0), scale) if counts else 0.0
        before, self._told_at = self._told_at, seen.number
        if before is not None and seen.number is not None and seen.number > before:
            skipped *= skipped >= SHARE * (seen.number - before)
        if not skipped:
            self._spell, self._spells, self.skipped = None, 0, 0.0
            return
        self._spell = self._spell or LoggedValue.of(seen, skipped)
        self._spells += 1
        self.skipped += skipped
        if self._spells == SPELL and self._reports - SPELL >= SETTLED:
            self.spell, self.file = self._spell, seen.file

    def _newly(self, told: float, scale: float) -> float:
        """The steps skipped since the report before. A count that never falls may be that of the whole run: while
        it stays the same and the scale does not fall, as it does with each skip, nothing was skipped."""
        same, fell = told == self._told, scale < self._scale
        self._restarts = self._restarts or told < self._told
        self._told, self._scale = told, scale
        return told if self._restarts or fell or not same else 0.0

    def _skip(self, event: LogEvent) -> None:
        if not self.count:
            self._rank = event.rank
        elif event.rank != self._rank:
            return  # every rank reports it
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
