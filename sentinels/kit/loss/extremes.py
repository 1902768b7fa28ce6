"""How high a statistic comes in a run that is well, learnt from its own excursions.

The noise of real losses depends on its past: smoothed logs, seasons, buckets, blocks of data. A limit that is
right for independent noise is then passed again and again. So each statistic keeps the highest value of each
excursion above a threshold, fits an exponential tail to them (peaks over a threshold: Pickands 1975, for
declustered peaks Leadbetter 1991), and what is told must be above the level that the run itself reaches once in
1 / ``ALPHA`` reports. It never lowers a limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

ALPHA = 1e-5
"""Share of reports at which the level may be passed by chance."""
PRIOR = 2.0
"""Weight of the excess that is assumed before there are excursions, in excursions."""
FEW = 2
"""Excursions up to which nothing is known: two jumps in a run are two jumps (our choice)."""
LEAST = 50
"""Reports from which the rate of excursions is believed."""


@dataclass(slots=True)
class Extremes:
    """The tail of one statistic. ``above``: the threshold; ``excess``: the mean excess assumed before."""

    above: float
    excess: float
    alpha: float = ALPHA
    peaks: float = 0.0
    """Excursions so far, ..."""
    total: float = 0.0
    """... the sum of their excesses, ..."""
    reports: int = 0
    """... and the reports in which they came."""
    peak: float = 0.0
    """The highest value of the excursion that goes on; 0 for none."""
    calm: int = 0
    """Reports since the statistic was below the threshold, within an excursion."""
    SAVED: ClassVar[Any] = ("peaks", "total", "reports", "peak", "calm")

    def see(self, value: float, gap: int) -> None:
        """Take the statistic at the next report. An excursion is over after ``gap`` reports below the
        threshold."""
        self.reports += 1
        if value > self.above:
            self.peak, self.calm = max(self.peak, value), 0
        elif self.peak:
            self.calm += 1
            if self.calm >= gap:
                self.peaks += 1.0
                self.total += self.peak - self.above
                self.peak, self.calm = 0.0, 0

    @property
    def level(self) -> float:
        """The level that is reached once in 1 / ``alpha`` reports; 0 while nothing is known."""
        if self.peaks <= FEW:
            return 0.0
        mean = (self.total + PRIOR * self.excess) / (self.peaks + PRIOR)
        rate = self.peaks / max(self.reports, LEAST)
        return self.above + mean * math.log(max(1.0, rate / self.alpha))

    def restored(self) -> None:
        """Begin again if a stored number is not finite."""
        if not all(map(math.isfinite, (self.peaks, self.total, self.peak))):
            self.peaks = self.total = self.peak = 0.0
            self.reports = self.calm = 0
