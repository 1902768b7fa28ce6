"""Whether a report comes when it is due: a counter goes on by about what it went on before.

A model that learns from bug reports writes ``loss is nan after step 400`` as a sample, in the middle of
a run whose own reports are at step 330. A single value that is not finite, at a step at which this run cannot
be, is no report of it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from middlewatch.sentinels.kit.codec import UNSAVED

KNOWN = 8
"""Counted reports by which the usual distance is known (our choice)."""
KEPT = 16
"""Counted reports that are kept."""
FAR = 4
"""Usual distances beyond which a step is not the next one (our choice: a report may be missing, or the ranks
of one log be apart)."""
RISING = 3
"""Reports out of turn, each with a higher step than the one before, from which they are a counter of their
own (our choice): the distance was changed, or the run began anew somewhere else."""


@dataclass(eq=False)
class Turn:
    """The newest steps of one log."""

    steps: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    """Append each step that was reported."""
    _strange: list[float] = field(default_factory=list)
    """Steps of the reports out of turn in a row, as long as they rise."""
    _since: float = field(default=math.nan, metadata=UNSAVED)
    """Step of the last report in turn before them."""

    def takes(self, step: float) -> bool:
        """True if the next report may have this step."""
        if len(self.steps) < KNOWN:
            return True
        last, far = self.steps[-1], FAR * _distance(self.steps)
        if abs(step - last) <= far or step <= far:
            self._strange.clear()
            return True
        if self._strange and (step <= self._strange[-1] or self._since != last):
            self._strange.clear()
        self._since = last
        self._strange.append(step)
        return len(self._strange) >= RISING


def _distance(steps: Iterable[float]) -> float:
    """The largest distance from one report to the next in the direction in which they count."""
    return max((b - a for a, b in pairwise(steps) if b > a), default=0.0)
