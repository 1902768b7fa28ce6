"""How fast a run is: by the rates or step times that it reports, else by the time stamps of its log
lines. All speeds are kept as seconds per token, sample or step."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from ..accumulator import Accumulator, LoggedValue
from ..loss.finite import FORGOTTEN
from ..numbers import median
from ..observations import Observation, Phase, Step

RATES = ("tokens_per_s", "samples_per_s")
"""Preferred metrics: unlike step times they do not change with the batch size."""
BLOCK = 16
"""Reports in a block; their median is one measurement of the speed, which evaluations and saves do
not affect."""
FIRST = 5
"""First reports that are left out, because of compiling and cold caches."""
ENOUGH = 3
"""Blocks needed before the speed is known."""
BATCH = ("global batch size", "batch size", "global_batch_size", "batch_size")
SLOW = 2.0
"""Times the usual time, in two consecutive blocks, from which the run is slow enough for the rule
to be called."""
SUDDEN = 6.0
"""Times the longest time so far that each of ``IN_A_ROW`` consecutive reports must take to be a
sudden drop, which needs no full blocks. (Any pause before makes the longest time long.)"""
IN_A_ROW = 8
KNOWN = 8
"""Reports needed before a sudden drop."""
FADES = 0.7
"""The second half of those reports must still take this part of the time of the first half: the
rate on a progress bar is a running mean, which one pause affects for a while."""
HOLE_S = 1800.0
"""Seconds between two reports from which there is a gap in the log, if nothing was announced: the
longest healthy silence in 79 real logs was 1,027 seconds."""
HOLE_TIMES = 20.0
"""Times the longest interval so far, per step, that a gap must take."""
BEFORE_HOLE = 2
"""Intervals that must be known before a gap."""


class Speed:
    """One series of seconds per unit of work (token, sample or step), in blocks."""

    __slots__ = (
        "_left",
        "before",
        "blocks",
        "count",
        "file",
        "longest",
        "metric",
        "newest",
        "others",
        "rank",
        "sudden",
        "usual",
    )

    def __init__(self, metric: str, file: str) -> None:
        self.metric = metric
        self.file = file
        self.rank: int | None = None
        """The rank that is followed; ``None`` if the log has no ranks."""
        self.others = 0
        """Number of reports of other ranks since its last one."""
        self.newest: deque[LoggedValue] = deque(maxlen=BLOCK)
        self.blocks = 0
        self.usual = 0.0
        """The median of the best block so far, in seconds."""
        self.before: tuple[float, LoggedValue] | None = None
        """The block before: (its time divided by the usual one, its first report)."""
        self.count = 0
        self.longest = 0.0
        """The longest time of all reports, except the first and the sudden ones."""
        self.sudden: list[LoggedValue] = []
        """Consecutive reports that took much longer than any before."""
        self._left = FIRST + BLOCK

    def add(self, mark: LoggedValue) -> bool:
        """Take in one report; True when a block is full."""
        self.newest.append(mark)
        self.count += 1
        if self.count > 1:
            value = mark.value
            if self.count > KNOWN and value > SUDDEN * self.longest:
                if len(self.sudden) < IN_A_ROW:
                    self.sudden.append(mark)
            else:
                self.sudden.clear()
                if value > self.longest:
                    self.longest = value
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

    def dropped(self) -> float:
        """For a sudden drop of the speed, the factor by which the newest reports take longer than
        the longest before; 0 without a drop."""
        if len(self.sudden) != IN_A_ROW:
            return 0.0
        first, second = self.sudden[: IN_A_ROW // 2], self.sudden[IN_A_ROW // 2 :]
        late = median(m.value for m in second)
        return late / self.longest if late >= FADES * median(m.value for m in first) else 0.0


class LogGap:
    """A long time between two reports in which the log has nothing."""

    __slots__ = ("after", "before", "over", "seconds", "usual")

    def __init__(self, before: Step, after: LoggedValue, seconds: float, usual: float) -> None:
        self.before = before
        self.after = after
        self.seconds = seconds
        self.usual = usual
        """The longest time in seconds that as many steps took before."""
        self.over = 0
        """Number of reports since, at the usual speed."""


class _Times:
    """Intervals of one log, by the time stamps of its lines."""

    __slots__ = ("known", "last", "lines", "longest")

    def __init__(self, first: Step) -> None:
        self.last: Step | None = first
        self.longest = 0.0
        """Seconds per step in the slowest interval."""
        self.known = 0
        self.lines = 1
        """Largest number of lines between two reports."""


class Throughput(Accumulator):
    """The usual speed of a run, and a time in which it was much slower."""

    stored_as = "Tempo"

    takes: ClassVar[tuple[type, ...]] = (Step, Phase)

    def __init__(self) -> None:
        self.slow: Speed | None = None
        self.since: LoggedValue | None = None
        """The first report of the slow blocks."""
        self.decided: LoggedValue | None = None
        self.times = 0.0
        """Factor by which two consecutive blocks were slower than usual, at worst."""
        self.over = False
        self.quick = False
        """True when it was found as a sudden drop, and not by two blocks yet."""
        self.hole: LogGap | None = None
        """The first gap."""
        self._speed: dict[str, Speed] = {}
        self._times: dict[str, _Times] = {}

    @property
    def quiet(self) -> bool:
        """True while it was never much slower than usual."""
        return self.slow is None and self.hole is None

    def add(self, seen: Observation) -> None:
        """Take in the speed in one report."""
        if not isinstance(seen, Step):
            if isinstance(seen, Phase) and seen.file in self._times:
                self._times[seen.file].last = None  # it may take any time
            return
        values = seen.values
        passed = None if seen.clock is None else self._passed(seen)
        for metric in RATES:
            rate = values.get(metric)
            if rate is not None and rate > 0.0:
                self._take(seen, metric, 1.0 / rate)
                return
        took = values.get("step_time_s")
        if took is None or not took > 0.0 or took - took != 0.0:
            if passed is not None:
                self._take(seen, "clock", passed)
            return
        for name in BATCH:
            size = values.get(name)
            if size:
                took /= size
                break
        self._take(seen, "step_time_s", took)

    # -- what the lines' own times say ---------------------------------------------------------

    def _passed(self, seen: Step) -> float | None:
        """Seconds per step since the report before, by the time stamps of both lines; ``None`` when
        they cannot be compared."""
        times = self._times.get(seen.file)
        if times is None:
            if seen.number is not None and len(self._times) < BLOCK:
                self._times[seen.file] = _Times(seen)
            return None
        last = times.last
        if last is not None and last.number == seen.number:
            if "eval_loss" in seen.values:
                times.last = None
            return None
        times.last = seen
        if last is None or last.number is None or seen.number is None:
            return None
        steps = seen.number - last.number
        seconds = (seen.clock or 0.0) - (last.clock or 0.0)
        if steps <= 0 or seconds < 0 or last.epoch != seen.epoch or "eval_loss" in seen.values:
            return None
        each = seconds / steps
        lines = seen.line - last.line
        if seconds >= HOLE_S and self._is_hole(times, each, lines):
            if self.hole is None:
                usual = times.longest * steps
                self.hole = LogGap(last, LoggedValue.of(seen, each), seconds, usual)
            return None
        if self.hole is not None and self.hole.before.file == seen.file:
            self.hole.over += 1
        times.known += 1
        times.longest = max(times.longest, each)
        times.lines = max(times.lines, lines)
        return each or None

    def _is_hole(self, times: _Times, each: float, lines: int) -> bool:
        return (
            times.known >= BEFORE_HOLE
            and 0 < lines <= times.lines
            and each > HOLE_TIMES * times.longest > 0.0
        )

    # -- what the program says -------------------------------------------------------------------

    def _take(self, seen: Step, metric: str, seconds: float) -> None:
        speed = self._speed.get(seen.file)
        if speed is None or (speed.metric != metric and metric in RATES):
            if speed is None and len(self._speed) >= BLOCK:
                return
            speed = self._speed[seen.file] = Speed(metric, seen.file)
        if speed.metric != metric:
            return
        if seen.rank != speed.rank:
            speed.others += 1
            if speed.rank is not None and speed.others < FORGOTTEN:
                return  # one of several ranks is enough
            speed.rank = seen.rank
        speed.others = 0
        full = speed.add(LoggedValue.of(seen, seconds))
        if speed.sudden and self.slow is None:
            self._sudden(speed)
        if full:
            self._look(speed)

    def _sudden(self, speed: Speed) -> None:
        times = speed.dropped()
        if times:
            self.slow, self.since, self.decided = speed, speed.sudden[0], speed.sudden[-1]
            self.times, self.over, self.quick = times, False, True

    def _look(self, speed: Speed) -> None:
        now = speed.now
        if not speed.usual or now < speed.usual:
            speed.usual = now
        if speed.blocks <= ENOUGH:
            return
        ratio = now / speed.usual
        before, speed.before = speed.before, (ratio, speed.newest[0])
        if ratio < SLOW or before is None or before[0] < SLOW:
            if self.slow is speed and not speed.sudden:
                self.over = True
            return
        if self.slow is None or self.over or self.quick:
            self.slow, self.since, self.times = speed, before[1], 0.0
            self.over = self.quick = False
        if self.slow is speed and min(ratio, before[0]) > self.times:
            self.times, self.decided = min(ratio, before[0]), speed.newest[-1]
