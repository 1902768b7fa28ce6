"""A streaming detector for a loss that jumps above its own noise.

It takes one reported value at a time. The *level* is the median of the newest accepted values: few,
so that it follows a steep descent. The *spread* is the upper tail of the deviations from the level:
of many values, so that it reflects the noise. Every threshold is a ratio or a number of spreads, so
that a loss of 1e-4 and one of 1e4 are judged alike. *Progress* is how far the level has come down.

Measured on 1,033 real curves (914,000 values): it found 91 % of the labelled spikes, resets,
divergences and NaNs at a median delay of one value, with 0.09 alarms per 10,000 values of healthy
supervised runs. The losses of adversarial and reinforcement learning jump in healthy runs (4 to 10
alarms per 10,000 values): for them only ``nonfinite`` and ``gross`` mean something.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from .extremes import Extremes
from .window import Window, widened

LEVEL = 11
"""Number of newest accepted values whose median is the level."""
SPREAD = 96
"""Number of newest deviations from the level whose upper tail is the spread: the distance from
their median to their 95 % quantile."""
OUT = 4.0
"""A value is out of the noise at this many spreads above the level. For a ``spike``, ``AT_LEAST``
of the newest ``OF_LAST`` values must be."""
OF_LAST = 3
AT_LEAST = 2
FLOOR = 0.01
"""The spread is at least this part of the level, and of the progress."""
FIRST = 8
"""Number of first values: the largest of them is the measure for ``gross``, their median is the
start of the series."""
GROSS = 5.0
"""A value is gross above this many times the largest of the first values, if it is also twice
``OUT`` spreads above the level."""
WARM_UP = 24
"""Number of values, at the beginning and after a restart, before there can be a ``spike``."""
RELEARN = 16
"""The same after a change of the logging interval, when level and progress are known."""
KNOWN = 5
"""Number of values after which a young series can be judged a little. From then to ``WARM_UP`` a
value is out of the noise if it is ``YOUNG`` times the largest of the newest ``LEVEL`` values, and
``RANGES`` times their range above it. In a descent that range is wide, so only a flat series can
jump."""
YOUNG = 1.5
RANGES = 4.0
ALONE = 0b10
"""Pattern of the newest values: only the one before the last was out of the noise."""
LONE_UNTIL = 3 * WARM_UP
"""Number of values until which such a single value is learnt as noise: the losses of two kinds of
batches may alternate."""
HOLD = 40
"""Number of values out of the noise that are held back before they are learnt: so a spike does not
become noise at once, but a new lasting level is accepted in the end."""
LOST = 0.15
"""A value that undoes this part of the progress is out of the noise too, if it is also ``WORST``
times the worst of the newest ``RECENT`` deviations: after a steep descent the long window of
deviations still makes the spread too wide."""
NOTHING = 1e-3
"""A fall to this part from one value to the next is not learnt: the higher one was a peak of the noise."""
RECENT = 24
WORST = 3.0
BELOW = 0.5
"""Weight of a downward deviation among those: it is rather a part of the descent than noise."""
STREAK = 3
"""This many consecutive values are out of the noise as well, if they undo ``LOST`` of the progress
and are ``SUSTAINED`` spreads above the level, and the first of them rose so much in one report. If
earlier jumps have widened the spread, single values do not show."""
SUSTAINED = 1.5
MOST_LOST, MORE_LOST = 0.6, 1.5
"""Part of the progress between which lopsided noise excuses no streak: a reset goes back to about the start,
while a peak of the noise knows no such bound."""
CADENCE = 4.0
"""When the logging interval changes by more than this factor, two times in a row, the spread is
learnt again: means over 500 steps have less noise than single steps."""
EXCURSION, EXCESS, CLUSTER = 2.0, 0.35, 4
"""Spreads from which the second largest of the newest values is an excursion, the mean by which that is
exceeded in independent noise (measured), and the reports below it that end one."""
FAR = 1e6
"""Spreads that are counted at most."""
TINY = 1e-12

RECORD = 4.0
"""A value is a ``record`` at this many times the spreads of the highest before, in at least ``SPREAD``
values, and ``RECORD * OUT`` spreads. In tails up to the Pareto one with exponent 3 there is one in 64
records of that kind, and a run has few records."""

Kind = Literal["nonfinite", "gross", "lone", "spike", "record"]


@dataclass(frozen=True, slots=True)
class Alarm:
    """The newest value is out of the noise."""

    kind: Kind
    level: float
    spread: float
    since: int
    """Number of values since the first one of this jump; 0 when that is the newest."""


@dataclass(slots=True, eq=False)
class SpikeDetector:
    """The detector for one series; its state is about 200 numbers."""

    _level: Window = field(default_factory=lambda: Window(LEVEL))
    _residuals: Window = field(default_factory=lambda: Window(SPREAD))
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    _held: list[float] = field(default_factory=list)
    _out: int = 0
    """A bit for each of the newest ``OF_LAST`` values: 1 if it was out of the noise."""
    _count: int = 0
    _quiet: int = 0
    _largest: float = 0.0
    _peak: float = 0.0
    _start: float | None = None
    _best: float | None = None
    _step: float | None = None
    _gap: float | None = None
    _last: float = 0.0
    _before: float = math.inf
    """The value before the last, among the first ones."""
    _streak: int = 0
    _high: float = 0.0
    """How far above the level the values of the streak must be, by the noise before it."""
    _changes: int = 0
    _above: deque[float] = field(default_factory=lambda: deque(maxlen=OF_LAST))
    """How many spreads each of the newest values was above the level."""
    _usual: Extremes = field(default_factory=lambda: Extremes(EXCURSION, EXCESS, 1e-4))
    """How high the second largest of these comes in this run by itself."""
    _singles: Extremes = field(default_factory=lambda: Extremes(2 * OUT, 2 * EXCESS, 1e-4))
    """How high single ones come, in a run that has had gross ones which came back."""
    _highest: float = 0.0
    """The largest size so far."""
    _tallest: float = 0.0
    """The largest number of spreads above the level so far."""
    SAVED: ClassVar[Any] = {
        "level": "_level",
        "residuals": "_residuals",
        "recent": "_recent",
        "held": "_held",
        "numbers": ("_out", "_count", "_quiet", "_changes", "_streak"),
        "marks": ("_largest", "_high", "_last", "_start", "_best", "_step", "_gap"),
        "above": "_above",
        "usual": "_usual",
        "singles": "_singles",
        "highest": "_highest",
        "tallest": "_tallest",
    }

    @property
    def level(self) -> float | None:
        """The present level; ``None`` before the first value."""
        return self._level.median if self._count else None

    @property
    def start(self) -> float | None:
        """The level at the beginning: the median of the first values; ``None`` before them."""
        return self._start

    @property
    def low(self) -> float:
        """The lowest of the newest values; 0 before there are :data:`KNOWN`."""
        known = self._level.ordered
        return known[0] if len(known) >= KNOWN else 0.0

    @property
    def known(self) -> bool:
        """True after the warm-up, when level and spread mean something."""
        return self._count > WARM_UP and not self._quiet

    @property
    def relearns(self) -> bool:
        """True while it reports no spikes, after a restart or a change of the logging interval."""
        return self._quiet > 0

    def fell_below(self, part: float) -> bool:
        """True when the level is below this part of its start.

        False for a loss with values of zero or less (such as a log likelihood of a density), for
        which a part of the start means nothing.
        """
        start, level = self._start, self._level
        return start is not None and level.ordered[0] > 0.0 and level.median < part * start

    @property
    def spread(self) -> float:
        """Upper tail of the noise around the level; only when :attr:`known`."""
        level = self._level.median
        return self._spread(level, self._progress(level))

    @property
    def progress(self) -> float:
        """How far the level has come down from its start; 0 while that is not known."""
        return self._progress(self._level.median) if self._count else 0.0

    def restart(self, quiet: int = WARM_UP) -> None:
        """After a restart of the training, or a change of its reports: keep the level, learn the
        spread again, and report no spikes for ``quiet`` values."""
        self._residuals = Window(SPREAD)
        self._held.clear()
        self._out = self._streak = 0
        self._quiet = quiet

    def is_gross(self, value: float) -> bool:
        """True for a value that is out of all proportion to the first ones."""
        return abs(value) > GROSS * self._largest > 0.0

    def push(self, value: float, step: float | None = None) -> Alarm | None:
        """Take in the next reported value; returns the alarm, if it raises one."""
        if step is not None:
            self._pace(step)
        if value - value != 0.0:
            return Alarm("nonfinite", self.level or 0.0, 0.0, 0)
        self._count += 1
        if self._count <= FIRST and not (self._count > KNOWN and self._stands_out(value)):
            self._begin(value)
            self._out = (self._out << 1) & ((1 << OF_LAST) - 1)
            if self._out == ALONE:
                self._learn_outlier()
            return None
        level = self._level.median
        progress = self._progress(level)
        spread = self._spread(level, progress)
        above = value - level
        self._above.append(min(above / spread, FAR))
        one, pair = self._above[-1], sorted(self._above)[-2] if len(self._above) == OF_LAST else 0.0
        far = one > RECORD * max(OUT, self._tallest)
        if one > self._tallest and self._count > FIRST + LEVEL:
            self._tallest = one
        limit, single = self._usual.level, self._singles.level
        if self.known and len(self._above) == OF_LAST:
            self._usual.see(pair, CLUSTER)
            self._singles.see(one, CLUSTER)
        if abs(value) > GROSS * self._highest:
            single = 0.0
        self._highest = max(self._highest, abs(value))
        gross = above > 2 * OUT * spread and abs(value) > GROSS * self._largest
        out = gross
        skew = self._residuals.lopsided if one > 0.5 and self._residuals.ordered else 1.0
        if self._quiet:
            self._quiet -= 1
        elif self._count <= WARM_UP:
            out = gross or self._stands_out(value)
            self._out = ((self._out << 1) | out) & ((1 << OF_LAST) - 1)
        else:
            out = gross or one > widened(OUT, skew) or self._relapsed(above, level, progress, skew)
            self._out = ((self._out << 1) | out) & ((1 << OF_LAST) - 1)
            back = MOST_LOST < above / progress < MORE_LOST if progress > 0.0 else False
            wide = SUSTAINED if back else widened(SUSTAINED, skew)
            self._count_streak(value, above, spread * wide, progress)
        self._last = value
        if not out:
            self._level.add(value)
            self._residuals.add(above)
            self._recent.append(above if above > 0.0 else -above * BELOW)
            if self._best is None or level < self._best:
                self._best = level
            if not self._out and self._streak < STREAK:
                return None
            if self._count <= LONE_UNTIL and self._out == ALONE:
                self._learn_outlier()
        else:
            self._hold(value, level)
        enough = self._out.bit_count() >= AT_LEAST or self._streak >= STREAK
        if enough and ((gross and one >= single) or pair >= limit):
            since = max(0, self._out.bit_length() - 1, min(self._streak, OF_LAST) - 1)
            return Alarm("gross" if gross else "spike", level, spread, since)
        if gross and far and self._is_lone(value, skew):
            return Alarm("lone", level, spread, 0)
        return Alarm("record", level, spread, 0) if far and self._count > SPREAD else None

    def _is_lone(self, value: float, skew: float) -> bool:
        """True for a single gross value of a series whose noise has shown nothing like it: its first values
        are of one size, and its deviations symmetric."""
        even = self._largest < 2.0 * abs(self._start or 0.0)
        return even and skew <= 1.0 and abs(value) > 2 * GROSS * max(self._largest, self._peak)

    def _begin(self, value: float) -> None:
        fell = self._last * NOTHING > abs(value)
        if fell or self._last > YOUNG * max(value, self._before) > 0.0:
            self._peak = max(self._peak, self._last)  # the noise has such peaks from the beginning
        if self._level.ordered:
            self._before = self._last
        self._last = value
        self._largest = max(self._largest, abs(value))
        self._level.add(value)
        if len(self._level.ordered) == FIRST:
            self._start = self._level.median

    def _learn_outlier(self) -> None:
        """Learn a single high value, after which the series came back at once, as noise."""
        value, above = self._held[-2:]
        self._peak = max(self._peak, value)
        self._residuals.add(above)

    def _stands_out(self, value: float) -> bool:
        """True for a value far above all that a young series has reported so far."""
        known = self._level.ordered
        low, high = known[0], max(known[-1], self._peak)
        return value - high > RANGES * (high - low) and value > YOUNG * high > 0.0

    def _progress(self, level: float) -> float:
        start = level if self._start is None else self._start
        return start - (level if self._best is None else self._best)

    def _relapsed(self, above: float, level: float, progress: float, skew: float) -> bool:
        recent = self._recent
        if len(recent) < RECENT or above <= LOST * progress or progress <= 0.0:
            return False
        return above > widened(WORST, skew) * max(max(recent), FLOOR * abs(level))

    def _count_streak(self, value: float, above: float, high: float, progress: float) -> None:
        """Count consecutive high values; the first must have risen there in one report."""
        if not self._streak:
            if value - self._last <= high:
                return
            self._high = high
        if above > self._high and above > LOST * progress > 0.0:
            self._streak += 1
        else:
            self._streak = 0

    def _spread(self, level: float, progress: float) -> float:
        if not self._residuals.ordered:
            return max(abs(level), TINY)
        return max(self._residuals.tail, FLOOR * abs(level), FLOOR * progress, TINY)

    def _hold(self, value: float, level: float) -> None:
        self._held += (value, value - level)
        if len(self._held) >= 2 * HOLD:
            self._level.add(self._held[0])
            self._residuals.add(self._held[1])
            del self._held[:2]

    def _pace(self, step: float) -> None:
        before, self._step = self._step, step
        if before is None or step <= before:
            return
        gap = step - before
        known = self._gap
        if known is None:
            self._gap = gap
        elif gap > CADENCE * known or gap * CADENCE < known:
            self._changes += 1
            if self._changes >= 2:
                self._gap, self._changes = gap, 0
                self.restart(RELEARN)
        else:
            self._changes = 0

    def restored(self) -> None:
        """Raises ValueError when the stored state has values but no level."""
        if self._count > 0 and not self._level.ordered:
            raise ValueError("is no guard: it has no level")
