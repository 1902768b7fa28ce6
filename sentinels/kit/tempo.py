"""How fast a run says it is: its own step times and rates, against its own best."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from .ledger import Ledger, Mark
from .numbers import median
from .observations import Observation, Step

RATES = ("tokens_per_s", "samples_per_s")
"""Preferred: they stay the same while a batch grows."""
BLOCK = 16
"""Reports whose median is one look at the speed: evaluations and saves drop out of it."""
FIRST = 5
"""First reports that are left out: compiling, warm caches."""
ENOUGH = 3
"""Blocks before a speed is known."""
BATCH = ("global batch size", "batch size", "global_batch_size", "batch_size")


SLOW = 2.0
"""Times the usual time of a step, in two blocks running, at which the rule begins to look."""


class Speed:
    """One series of seconds per unit of work, in blocks."""

    __slots__ = ("_left", "before", "blocks", "file", "metric", "newest", "usual")

    def __init__(self, metric: str, file: str) -> None:
        self.metric = metric
        self.file = file
        self.newest: deque[Mark] = deque(maxlen=BLOCK)
        self.blocks = 0
        self.usual = 0.0
        """The median of the best block so far, in seconds."""
        self.before: tuple[float, Mark] | None = None
        """The block before: times the usual, and where it began."""
        self._left = FIRST + BLOCK

    def add(self, mark: Mark) -> bool:
        """Take one report; True when a block is full."""
        self.newest.append(mark)
        self._left -= 1
        if self._left > 0:
            return False
        self._left = BLOCK
        self.blocks += 1
        return True

    @property
    def now(self) -> float:
        """Median of the newest reports."""
        return median(m.value for m in self.newest)


class Tempo(Ledger):
    """The usual speed of a run, and a block that was far slower."""

    takes: ClassVar[tuple[type, ...]] = (Step,)

    def __init__(self) -> None:
        self.slow: Speed | None = None
        self.since: Mark | None = None
        """Where the slow block began."""
        self.decided: Mark | None = None
        self.times = 0.0
        """How many times the usual both of two blocks took, at worst."""
        self.over = False
        self._speed: dict[str, Speed] = {}

    @property
    def quiet(self) -> bool:
        """True while it was never much slower than usual."""
        return self.slow is None

    def add(self, seen: Observation) -> None:
        """Look at the speed that one report states."""
        if not isinstance(seen, Step):
            return
        values = seen.values
        for metric in RATES:
            rate = values.get(metric)
            if rate is not None and rate > 0.0:
                self._take(seen, metric, 1.0 / rate)
                return
        took = values.get("step_time_s")
        if took is None or not took > 0.0 or took - took != 0.0:
            return
        for name in BATCH:
            size = values.get(name)
            if size:
                took /= size
                break
        self._take(seen, "step_time_s", took)

    def _take(self, seen: Step, metric: str, seconds: float) -> None:
        speed = self._speed.get(seen.file)
        if speed is None or (speed.metric != metric and metric in RATES):
            if speed is None and len(self._speed) >= BLOCK:
                return
            speed = self._speed[seen.file] = Speed(metric, seen.file)
        if speed.metric == metric and speed.add(Mark.of(seen, seconds)):
            self._look(speed)

    def _look(self, speed: Speed) -> None:
        now = speed.now
        if not speed.usual or now < speed.usual:
            speed.usual = now
        if speed.blocks <= ENOUGH:
            return
        ratio = now / speed.usual
        before, speed.before = speed.before, (ratio, speed.newest[0])
        if ratio < SLOW or before is None or before[0] < SLOW:
            if self.slow is speed:
                self.over = True
            return
        if self.slow is None or self.over:
            self.slow, self.since, self.times = speed, before[1], 0.0
            self.over = False
        if self.slow is speed and min(ratio, before[0]) > self.times:
            self.times, self.decided = min(ratio, before[0]), speed.newest[-1]
