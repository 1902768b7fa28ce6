"""Trends of what runs out (disks, memory), kept as a value a minute; and announced deadlines."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import combinations
from typing import Any, ClassVar

from .accumulator import Accumulator
from .numbers import median
from .observations import Deadline, MemorySample, Observation, Step

MINUTES = 61
"""Values kept: an hour, one a minute, as measured for memory and disks."""
REACH = 4.0
"""A forecast looks ahead at most this many times the time that its values cover. The usual disk
rule looks four hours ahead, and a trend here covers at most one."""
LAG = 5
"""Minutes between two values whose difference gives one rate."""


@dataclass(slots=True, eq=False)
class Trend:
    """Values of something that runs out, one a minute, of the last hour, oldest first."""

    values: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MINUTES))
    """(epoch seconds, amount left)."""
    SAVED: ClassVar[Any] = "values"

    def add(self, at: float, left: float) -> bool:
        """Add a value, unless the last is less than a minute old; True when it was added.

        When the clock was set back, the older values are dropped.
        """
        values = self.values
        if values and 0 <= at - values[-1][0] < 60:
            return False
        if values and at < values[-1][0]:
            values.clear()
        values.append((at, left))
        return True

    def fall(self, lag: int = LAG, newest: int = MINUTES, since: float = 0.0) -> float | None:
        """Median fall per second between values ``lag`` minutes apart; positive while it runs out.

        Uses the ``newest`` values after ``since`` (epoch seconds). As a median, it is not affected
        by what comes and goes within the hour (a save and its pruning). ``None`` for fewer than
        ``lag`` differences, or fewer than five.
        """
        kept = [v for v in self.values if v[0] >= since][-newest:]
        rates = [
            (before[1] - after[1]) / (after[0] - before[0])
            for before, after in zip(kept, kept[lag:], strict=False)
            if after[0] - before[0] < 120 * lag
        ]
        return median(rates) if len(rates) >= max(lag, 5) else None

    def slope(self, since: float = 0.0) -> float | None:
        """Fall per second: the median of the slopes between all pairs of five-minute maxima.

        Unlike :meth:`fall` it sees steps (memory lost with every evaluation). Short dips in less
        than a quarter of the time do not change it. ``None`` for less than half an hour.
        """
        blocks: dict[int, tuple[float, float]] = {}
        for at, left in self.values:
            if at >= since:
                place = int(at // (60 * LAG))
                best = blocks.get(place)
                if best is None or left > best[1]:
                    blocks[place] = (at, left)
        marks = list(blocks.values())
        if len(marks) < 7:
            return None
        return median((a[1] - b[1]) / (b[0] - a[0]) for a, b in combinations(marks, 2))

    def best(self, start: float, end: float) -> float | None:
        """The most that was left between two times (epoch seconds); ``None`` without values."""
        return max((left for at, left in self.values if start <= at <= end), default=None)

    def span_s(self, since: float = 0.0) -> float:
        """Seconds between the first value after ``since`` and the last one."""
        kept = [at for at, _ in self.values if at >= since]
        return kept[-1] - kept[0] if kept else 0.0


def clock(at: float, now: float) -> str:
    """A time for a person, in UTC: ``03:40 UTC``; with the day if it is 20 hours or more away."""
    try:
        return datetime.fromtimestamp(at, timezone.utc).strftime(
            "%H:%M UTC" if abs(at - now) < 72000 else "%b %d %H:%M UTC"
        )
    except (OverflowError, OSError, ValueError):
        return "never"


# -- memory --------------------------------------------------------------------------------------


def room(sample: MemorySample) -> tuple[int, int] | None:
    """(bytes left until the kernel has to kill, bytes in all); ``None`` when not known.

    Page cache, active or not, does not count as use: the kernel drops it first. Without a limit the
    memory available on the box is what is left.
    """
    if sample.limit_bytes:
        held = sample.working_set_bytes - (sample.active_file_bytes or 0)
        return sample.limit_bytes - max(0, held), sample.limit_bytes
    if sample.host_available_bytes is None:
        return None
    return sample.host_available_bytes, sample.host_available_bytes + sample.working_set_bytes


@dataclass(eq=False)
class MemoryUse(Accumulator):
    """Memory use of the last hour, against the limit at which the kernel kills."""

    takes: ClassVar[tuple[type, ...]] = (MemorySample, Step)

    QUIET: ClassVar[float] = 0.5
    """Part of all memory; while at least this is left, no forecast is made."""
    SQUEEZED_LEFT: ClassVar[float] = 0.05
    SQUEEZED_PERCENT: ClassVar[float] = 20.0
    """Memory is short when less than this part of it is left, and more than this percentage of the
    last 10 s was spent waiting for memory. Not measured by us: it is the alert rule of the research
    this is built on."""
    SURVIVED_AFTER: ClassVar[int] = 10
    """Minutes after which the run has survived a low value."""
    SAVED: ClassVar[Any] = {"of": "_of", "trend": "trend", "lowest": "lowest", "began": "began"}
    trend: Trend = field(default_factory=Trend)
    left: int = 0
    """Bytes left in the newest sample (0 before the first)."""
    total: int = 0
    began: float | None = None
    """When the first step was seen: growth before that is loading."""
    squeezed_since: float | None = None
    lowest: float | None = None
    """The least memory that was left and that the run survived, in bytes."""
    _best: int = 0
    """The most that was left within this minute, so that noise and short dips do not count."""
    _of: tuple[str, int | None] | None = None

    @property
    def quiet(self) -> bool:
        """True while much is left, or nothing is known."""
        return self.left >= self.QUIET * self.total

    def add(self, seen: Observation) -> None:
        """Take in a sample: the most that was left in each minute, and whether memory is short."""
        if not isinstance(seen, MemorySample):
            if self.began is None and isinstance(seen, Step) and seen.number is not None:
                self.began = seen.at
            return
        found = room(seen)
        if found is None:
            return
        if self._of != (seen.cgroup, seen.limit_bytes):
            if self._of is not None:  # another limit or group: begin again
                self.trend, self.lowest, self._best = Trend(), None, 0
            self._of = (seen.cgroup, seen.limit_bytes)
        self.left, self.total = found
        pressure = max(seen.pressure_some_avg10 or 0.0, seen.pressure_full_avg10 or 0.0)
        if pressure > self.SQUEEZED_PERCENT and self.left < self.SQUEEZED_LEFT * self.total:
            self.squeezed_since = seen.at if self.squeezed_since is None else self.squeezed_since
        else:
            self.squeezed_since = None
        self._best = max(self._best, self.left)
        if not self.trend.add(seen.at, self._best):
            return
        self._best, values = 0, self.trend.values
        if len(values) > self.SURVIVED_AFTER:
            low = values[-1 - self.SURVIVED_AFTER][1]
            self.lowest = low if self.lowest is None else min(low, self.lowest)


# -- given ends ----------------------------------------------------------------------------------


class Deadlines(Accumulator):
    """The times at which the run will be ended from outside, by their origin."""

    takes: ClassVar[tuple[type, ...]] = (Deadline,)

    def __init__(self) -> None:
        self.known: dict[str, Deadline] = {}

    @property
    def quiet(self) -> bool:
        """True while no end is known."""
        return not self.known

    def next(self, now: float) -> Deadline | None:
        """The next deadline after ``now`` (epoch seconds)."""
        coming = (d for d in self.known.values() if d.ends_at > now)
        return min(coming, key=lambda d: d.ends_at, default=None)

    def add(self, seen: Observation) -> None:
        """Take in a deadline; the newest of each origin counts (five origins occur)."""
        if isinstance(seen, Deadline) and (seen.origin in self.known or len(self.known) < 8):
            self.known[seen.origin] = seen
