"""Whether a loss is the mean of its epoch so far, as Keras and many bars print it.

At the beginning of each epoch such a mean is a single batch, and it moves by less and less: the k-th report changes it
by the noise of a batch divided by k. What it shows there is no level, and a hard first batch no spike. So the first
quarter of an epoch is left out, once an epoch has shown that its reports are such a mean. Where the log has no epochs, they
are known by their equal lengths from the third on.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

LONG = 4
"""Doublings of the number of reports that an epoch must have, to be judged: thirty-two reports."""
FIRST = 2
"""Doublings that are compared with the last one: the reports 2 to 7, whose changes are a quarter of a batch's noise in
a mean (the mean of 1 / 2 to 1 / 7)."""
ENOUGH = 0.65
"""How far on the way from the noise of single batches (1) to what is expected of a mean the changes must have shrunk, on a
logarithmic scale: one epoch of single batches in a thousand does so by chance (measured)."""
NO_MORE = 1.3
"""Times as large as the last changes that the first ones are at least in a log that was known as a mean before (our
choice: by chance alone one epoch in twenty looks less like one than that)."""
RECENT, FARTHER = 16, 6.0
"""Newest changes, and times the largest of them that a change is where a mean begins again (our choice: in a mean of so many
batches that change is some ten times as large)."""
SHORTEST = 32
"""Reports of a stretch at least."""
LATE, SAME = 3, 0.03
"""Reports, or part of a stretch, by which two of one length may differ: the first batches may lie near the mean."""
UNSETTLED = 0.25
"""Part of an epoch that is left out: from there on a report moves the mean by at most 4 / n of a batch's noise."""


@dataclass(slots=True)
class Restarts:
    """Where a mean begins again, in a log that does not say so: it moves by far more than it did, and does so again after as
    many reports."""

    regular: bool = False
    """The newest two stretches were of one length."""
    _epoch: int = 0
    _since: int = 0
    _before: int = 0
    """Length of the stretch before the newest one."""
    _last: float | None = None
    _moved: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    def take(self, value: float) -> int:
        """Take in the next finite value; returns the number of the stretch that it is of."""
        moved = 0.0 if self._last is None else abs(value - self._last)
        self._last = value
        if self._since >= SHORTEST and moved > FARTHER * max(self._moved) > 0.0:
            apart = abs(self._since - self._before)
            self.regular = apart <= max(LATE, SAME * self._since)
            self._epoch, self._before, self._since = self._epoch + 1, self._since, 0
        self._since += 1
        self._moved.append(moved)
        return self._epoch


@dataclass(slots=True)
class EpochMean:
    """How the reports of the current epoch move."""

    _epoch: float | None = None
    _count: int = 0
    _last: float = 0.0
    _moved: list[float] = field(default_factory=list)
    """Sum of the differences from one report to the next, for the reports 2 and 3, 4 to 7, 8 to 15, ..."""
    _guess: Restarts = field(default_factory=Restarts)
    _unsettled: float = 0.0
    """First reports of an epoch that are left out; 0 where they are no means."""

    def leaves_out(self, epoch: float | None, value: float) -> bool:
        """Take in the next finite value; True when it stands for too few batches to be judged."""
        if epoch is None or not math.isfinite(epoch):
            epoch, sure = self._guess.take(value), self._guess.regular
        else:
            epoch, sure = math.floor(epoch), True
        if epoch != self._epoch:
            self._end()
            self._epoch, self._count = epoch, 0
            self._moved.clear()
        self._count += 1
        if self._count > 1:
            place = self._count.bit_length() - 2
            if place == len(self._moved):
                self._moved.append(0.0)
            self._moved[place] += abs(value - self._last)
        self._last = value
        return sure and self._count <= self._unsettled

    def _end(self) -> None:
        """The epoch is over: do its differences shrink as those of a mean do, by half with each doubling?"""
        full = self._moved[:-1] if self._count + 1 < 1 << (len(self._moved) + 1) else self._moved
        if len(full) < LONG:
            return  # too few to tell, or a part of an epoch: what was known holds
        early = sum(full[:FIRST]) / ((2 << FIRST) - 2)
        last = full[-1] / (2 << (len(full) - 1))
        expected = sum(1 / k for k in range(2, 2 << FIRST)) / ((2 << FIRST) - 2)
        expected *= (2 << (len(full) - 1)) / math.log(2)
        enough = NO_MORE if self._unsettled else expected**ENOUGH
        self._unsettled = UNSETTLED * self._count if early > enough * last else 0.0
