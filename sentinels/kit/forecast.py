"""What runs out, how fast, and when: minute values of an hour, memory, and given ends."""

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
"""Values kept: an hour, as measured for memory and disks."""
REACH = 4.0
"""A forecast reaches no further than so many times what it was made from: the usual disk
rule looks four hours ahead, and ours has seen one at most."""
LAG = 5
"""Minutes between two values whose difference is one look at the rate."""


@dataclass(slots=True, eq=False)
class Trend:
    """Minute values of something that runs out, oldest first, for an hour."""

    values: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MINUTES))
    """(at, what is left)."""
    SAVED: ClassVar[Any] = "values"

    def add(self, at: float, left: float) -> bool:
        """Take one value a minute; True when it was taken. A clock set back begins anew."""
        values = self.values
        if values and 0 <= at - values[-1][0] < 60:
            return False
        if values and at < values[-1][0]:
            values.clear()
        values.append((at, left))
        return True

    def fall(self, lag: int = LAG, newest: int = MINUTES, since: float = 0.0) -> float | None:
        """Median fall per second over ``lag`` minutes; positive while it runs out.

        What comes and goes within the hour (a save and its pruning) drops out. ``None``
        before there are as many differences as ``lag`` has minutes, and at least five.
        """
        kept = [v for v in self.values if v[0] >= since][-newest:]
        rates = [
            (before[1] - after[1]) / (after[0] - before[0])
            for before, after in zip(kept, kept[lag:], strict=False)
            if after[0] - before[0] < 120 * lag
        ]
        return median(rates) if len(rates) >= max(lag, 5) else None

    def slope(self, since: float = 0.0) -> float | None:
        """Fall per second: the median of all slopes between the best values of five minutes.

        Sees steps (a leak with every evaluation) that medians of differences drop, and is not
        moved by humps of less than a quarter of the time. ``None`` before half an hour.
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
        """The most that was left between two instants; ``None`` where nothing was seen."""
        return max((left for at, left in self.values if start <= at <= end), default=None)

    def span_s(self, since: float = 0.0) -> float:
        """Seconds that the values reach over."""
        kept = [at for at, _ in self.values if at >= since]
        return kept[-1] - kept[0] if kept else 0.0


def clock(at: float, now: float) -> str:
    """An instant for a person, in UTC: ``03:40 UTC``, with its day when that is not near."""
    try:
        return datetime.fromtimestamp(at, timezone.utc).strftime(
            "%H:%M UTC" if abs(at - now) < 72000 else "%b %d %H:%M UTC"
        )
    except (OverflowError, OSError, ValueError):
        return "never"


# -- memory --------------------------------------------------------------------------------------


def room(sample: MemorySample) -> tuple[int, int] | None:
    """(bytes until the kernel has to kill, bytes in all); ``None`` where neither is known.

    Page cache is none of the use, not even its active part: the kernel drops both. Where no
    limit is set, what the box has available is what is left.
    """
    if sample.limit_bytes:
        held = sample.working_set_bytes - (sample.active_file_bytes or 0)
        return sample.limit_bytes - max(0, held), sample.limit_bytes
    if sample.host_available_bytes is None:
        return None
    return sample.host_available_bytes, sample.host_available_bytes + sample.working_set_bytes


@dataclass(eq=False)
class MemoryUse(Accumulator):
    """How memory went over the last hour, against the limit that kills."""

    takes: ClassVar[tuple[type, ...]] = (MemorySample, Step)

    QUIET: ClassVar[float] = 0.5
    """While so much of all is left no forecast is made."""
    SQUEEZED_LEFT: ClassVar[float] = 0.05
    SQUEEZED_PERCENT: ClassVar[float] = 20.0
    """Less than this part left and more than this part of the last 10 s spent waiting for
    memory: no measurement of ours, but the page rule of the research this is built on."""
    SURVIVED_AFTER: ClassVar[int] = 10
    """Minutes after which a low is one that the run survived."""
    SAVED: ClassVar[Any] = {"of": "_of", "trend": "trend", "lowest": "lowest", "began": "began"}
    trend: Trend = field(default_factory=Trend)
    left: int = 0
    """The next sample says how much."""
    total: int = 0
    began: float | None = None
    """When the first step was seen: growth before it is loading."""
    squeezed_since: float | None = None
    lowest: float | None = None
    """The least that was left and survived."""
    _best: int = 0
    """The most that was left in this minute: noise and short humps are no trend."""
    _of: tuple[str, int | None] | None = None

    @property
    def quiet(self) -> bool:
        """True while much is left, or nothing is known."""
        return self.left >= self.QUIET * self.total

    def add(self, seen: Observation) -> None:
        """Write down the most that was left in each minute, and whether it is waited for."""
        if not isinstance(seen, MemorySample):
            if self.began is None and isinstance(seen, Step) and seen.number is not None:
                self.began = seen.at
            return
        found = room(seen)
        if found is None:
            return
        if self._of != (seen.cgroup, seen.limit_bytes):
            if self._of is not None:  # another limit, or another group: another story
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
    """The instants at which somebody else ends the run, by who told them."""

    takes: ClassVar[tuple[type, ...]] = (Deadline,)

    def __init__(self) -> None:
        self.known: dict[str, Deadline] = {}

    @property
    def quiet(self) -> bool:
        """True while no end is known."""
        return not self.known

    def next(self, now: float) -> Deadline | None:
        """The first of those to come."""
        coming = (d for d in self.known.values() if d.ends_at > now)
        return min(coming, key=lambda d: d.ends_at, default=None)

    def add(self, seen: Observation) -> None:
        """Take the newest word of each origin (there are five at most)."""
        if isinstance(seen, Deadline) and (seen.origin in self.known or len(self.known) < 8):
            self.known[seen.origin] = seen
