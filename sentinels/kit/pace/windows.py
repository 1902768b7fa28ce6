"""How fast a live run is now, in a long and a short time window, compared with its own best.

The speed is measured by the clock of the daemon, so that every run that counts steps has one. If
reports have a rate of tokens or samples, that is used instead, because it does not change with the
size of a step. A finished log has no such clock; :mod:`.throughput` judges that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..accumulator import Accumulator
from ..numbers import median, quantile
from ..observations import Observation, Phase, ProcessesSeen, Step
from .throughput import BATCH, RATES

LONG_S, SHORT_S = 1800.0, 300.0
"""Seconds of the two windows (measured practice: the long one shows that the change is significant,
the short one that it still lasts). For a younger run they are half and a quarter of its age."""
YOUNGEST_S = 120.0
"""Shortest long window, for a run that has just begun; seconds."""
WARM_S = 20.0
"""Seconds left out after the first report and after a restart of the daemon, because of reading a
log from its beginning, compiling, and cold caches."""
MARK_S = 2.0
"""Reports closer together than this many seconds count as one: logs are read in bursts."""
BIN_S = 20.0
BIN_MARKS = 3
"""A bin ends after so many seconds and so many measurements; one long pause does not change its
median."""
BINS = 96
"""Bins kept: a little more than half an hour."""
ENOUGH = 3
"""Bins needed before the speed is known."""
LOOKS = 288
"""Medians of the long window kept: a day at one in five minutes."""
FIRST_PART = 0.05
"""Part of the run, at its beginning, whose speed is not used (the same source)."""
SLOW = 0.8
"""Part of the usual speed below which a window is slow; both must be."""
OFTEN = 0.9
"""Quantile: a short window that is no slower than this part of all before is usual for the run."""
ACCEPTED_S = 6 * 3600.0
"""Seconds after which a slow speed becomes the usual one. Our choice."""
STAGES = 20
"""Stages that the log may announce, each of which may be other work: what is announced more often than
that is no stage (our choice)."""
CONTEXT = frozenset(
    (
        *BATCH,
        *("seq_len", "seqlen", "seq_length", "sequence_length", "sequence length"),
        *("context_length", "max_length", "block_size", "curriculum_seqlen", "resolution"),
        *("image_size", "img_size", "world_size", "num_gpus", "gradient_accumulation_steps"),
    )
)
"""Metrics that determine the work of a step: when one changes, speeds before and after cannot be
compared."""


class Bin:
    """About twenty seconds of the run: median seconds per unit of work, and CPU cores used."""

    __slots__ = ("at", "cores", "seconds")

    def __init__(self, at: float, seconds: float, cores: float | None) -> None:
        self.at = at
        self.seconds = seconds
        self.cores = cores


@dataclass(eq=False)
class Windows(Accumulator):
    """Medians, over a long and a short window, of the seconds per unit of work (token, sample or
    step)."""

    takes: ClassVar[tuple[type, ...]] = (Step, Phase, ProcessesSeen)
    SAVED: ClassVar[Any] = {
        "file": "_file",
        "rank": "_rank",
        "metric": "metric",
        "context": "_context",
        "age_s": "age_s",
        "looks": "_looks",
    }
    """What is usual for the run. The windows themselves are not stored: they fill up again."""
    long_s: float = 0.0
    """Median seconds per unit of work in the long window; 0 while not known."""
    short_s: float = 0.0
    usual_s: float = 0.0
    """The best median of the long window so far."""
    usual_cores: float | None = None
    slow_since: float | None = None
    slow_at_step: float | None = None
    age_s: float = 0.0
    _bins: deque[Bin] = field(default_factory=lambda: deque(maxlen=BINS))
    _looks: deque[tuple[float, float, float, float | None]] = field(
        default_factory=lambda: deque(maxlen=LOOKS)
    )
    """(epoch seconds, long median, short median, cores), while the long window was not slow."""
    _file: str | None = None
    _rank: int | None = None
    metric: str | None = None
    """The rate that is followed; ``None`` when steps are counted."""
    _context: dict[str, float] = field(default_factory=dict)
    _begun: float | None = None
    _stages: int = 0
    _mark: tuple[float, float] | None = None
    _marks: list[float] = field(default_factory=list)
    _bin_at: float = 0.0
    _reported: float = 0.0
    _spent: tuple[float, float, frozenset[int]] | None = None
    _cores: list[float] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """True while the short window is not slow."""
        return self.slow_since is None and not self.behind

    @property
    def behind(self) -> bool:
        """True while the short window is slow, even if the long one is not."""
        return self.short_ratio < SLOW

    @property
    def known_since(self) -> float | None:
        """When the usual speed was first known; ``None`` while it is not."""
        return self._looks[0][0] if self._looks else None

    @property
    def short_ratio(self) -> float:
        """Speed in the short window as a part of the usual one; 1 while not known."""
        return self.usual_s / self.short_s if self.short_s > 0 < self.usual_s else 1.0

    @property
    def long_ratio(self) -> float:
        """Speed in the long window as a part of the usual one; 1 while not known."""
        return self.usual_s / self.long_s if self.long_s > 0 < self.usual_s else 1.0

    @property
    def cores_ratio(self) -> float | None:
        """CPU use of the processes now as a part of the usual one; ``None`` while not known."""
        now = [one.cores for one in list(self._bins)[-ENOUGH:] if one.cores is not None]
        if len(now) < ENOUGH or not self.usual_cores:
            return None
        return median(now) / self.usual_cores

    def add(self, seen: Observation) -> None:
        """Take in a report, an announced phase, or a sample of the processes."""
        if isinstance(seen, Step):
            self._step(seen)
        elif isinstance(seen, ProcessesSeen):
            self._look(seen)
        elif isinstance(seen, Phase) and seen.file == self._file:
            self._mark = None  # it may take any time
            self._stages += seen.name == "stage"
            if seen.name == "start":
                self._settle_down(seen.at)
            elif seen.name == "stage" and self._stages <= STAGES:
                self._forget(seen.at)

    # -- reports ------------------------------------------------------------------------------

    def _step(self, seen: Step) -> None:
        number = seen.number
        if number is None or not self._followed(seen):
            return
        self._reported = seen.at
        values = seen.values
        if not CONTEXT.isdisjoint(values) and self._other_work(values):
            self._forget(seen.at)
        mark = self._mark
        if mark is None or number < mark[1]:
            self._mark = (seen.at, number)
            return
        if "eval_loss" in values:
            self._mark = None
            return
        seconds = seen.at - mark[0]
        if seconds < MARK_S or number == mark[1]:
            return
        self._mark = (seen.at, number)
        if self._begun is None:
            self._begun = mark[0]
        if seen.at - self._begun < WARM_S:
            self._bin_at = seen.at
            return
        unit = self._unit(seen, seconds / (number - mark[1]))
        if unit is None:
            return
        self._marks.append(unit)
        if len(self._marks) >= BIN_MARKS and seen.at - self._bin_at >= BIN_S:
            self._close(seen)

    def _followed(self, seen: Step) -> bool:
        """True for the rank and file that are followed; another one takes over when those are
        silent for :data:`SHORT_S`."""
        if (seen.file, seen.rank) == (self._file, self._rank):
            return True
        if self._file is not None and seen.at - self._reported < SHORT_S:
            return False
        self._file, self._rank = seen.file, seen.rank
        self._forget(seen.at)
        return True

    def _unit(self, seen: Step, seconds: float) -> float | None:
        """Seconds per token or sample if reports have a rate, else per step."""
        if self.metric is None:
            self.metric = next((m for m in RATES if seen.values.get(m, 0.0) > 0.0), None)
            if self.metric is None:
                return seconds
            self._forget(seen.at)
            return None
        rate = seen.values.get(self.metric, 0.0)
        return 1.0 / rate if rate > 0.0 else None

    def _other_work(self, values: Mapping[str, float]) -> bool:
        now = {name: values[name] for name in CONTEXT & values.keys()}
        changed = any(self._context.get(name, value) != value for name, value in now.items())
        self._context |= now
        return changed

    def _forget(self, at: float) -> None:
        """Forget the usual speed too: it cannot be compared with the present one."""
        self._settle_down(at)
        self._looks.clear()
        self.usual_s = 0.0
        self.usual_cores = None

    def _settle_down(self, at: float) -> None:
        """Begin the windows again; the usual speed is kept."""
        self._begun, self._mark, self._bin_at = None, None, at
        self._marks, self._cores = [], []
        self._bins.clear()
        self.long_s = self.short_s = self.age_s = 0.0
        self.slow_since = self.slow_at_step = None

    # -- processes ------------------------------------------------------------------------------

    def _look(self, seen: ProcessesSeen) -> None:
        before = self._spent
        if before is not None and seen.at - before[0] < BIN_S / 4:
            return
        pids = frozenset(p.pid for p in seen.processes)
        spent = sum(p.cpu_s for p in seen.processes)
        self._spent = (seen.at, spent, pids)
        if before is not None and before[2] == pids and spent >= before[1]:
            self._cores = [*self._cores[-15:], (spent - before[1]) / (seen.at - before[0])]

    # -- windows ------------------------------------------------------------------------------

    def _close(self, seen: Step) -> None:
        at = seen.at
        cores = median(self._cores) if self._cores else None
        self._bins.append(Bin(at, median(self._marks), cores))
        self._marks, self._cores, self._bin_at = [], [], at
        if self._begun is None or len(self._bins) < ENOUGH:
            return
        self.age_s = max(self.age_s, at - self._begun)
        long = min(LONG_S, max(YOUNGEST_S, self.age_s / 2))
        self.long_s = median(self._within(at, long, ENOUGH))
        self.short_s = median(self._within(at, min(SHORT_S, long / 2), 1))
        self._judge(seen, long)

    def _within(self, at: float, window_s: float, least: int) -> list[float]:
        recent = [one.seconds for one in self._bins if one.at > at - window_s]
        return recent if len(recent) >= least else [one.seconds for one in self._bins][-least:]

    def _judge(self, seen: Step, long: float) -> None:
        if self.long_ratio >= SLOW:
            self._learn(seen.at, long)
        elif (
            self.behind and self.slow_since is None and self.short_s > self._slowest(seen.at, long)
        ):
            self.slow_since, self.slow_at_step = seen.at, seen.number
        if not self.behind:
            self.slow_since = self.slow_at_step = None
        elif self.slow_since is not None and seen.at - self.slow_since > ACCEPTED_S:
            self._forget(seen.at)

    def _slowest(self, at: float, long: float) -> float:
        """The :data:`OFTEN` quantile of earlier medians of the short window, in seconds per unit: a
        box or volume that is shared with others is slow at times."""
        return quantile([look[2] for look in self._looks if look[0] < at - long] or [0.0], OFTEN)

    def _learn(self, at: float, long: float) -> None:
        if self._looks and at - self._looks[-1][0] < long / 6:
            return
        looks = self._looks
        looks.append((at, self.long_s, self.short_s, self._bins[-1].cores))
        first = at - self.age_s * (1 - FIRST_PART)
        if len(looks) > 2 * ENOUGH and looks[0][0] < first:
            looks.popleft()
        self._know_usual()

    def _know_usual(self) -> None:
        self.usual_s = min(look[1] for look in self._looks)
        cores = [look[3] for look in self._looks if look[3] is not None]
        self.usual_cores = median(cores) if cores else None

    # -- a restart of the watch ---------------------------------------------------------------

    def restored(self) -> None:
        """Compute the usual speed again."""
        if self._looks:
            self._know_usual()
            self._reported = self._looks[-1][0]
