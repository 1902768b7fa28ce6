"""Metrics that do not change while the run goes on: a constant loss, a learning rate of zero, a
plateau."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from ..accumulator import Accumulator, LoggedValue
from ..codec import Keyed
from ..observations import Observation, Step
from .manners import manner

FILES = 8
"""Logs that are followed at most."""
SAME = 50
"""Consecutive reports with exactly the same loss from which it is constant. Programs that print
four digits repeat values, so the gradient norm has to be the same too; in a log without gradient
norms the loss must have changed before."""
ALL_SAME = 12
"""The same where the reports have three or more measured values and every one of them is the same,
to the last digit: one of them may be clipped or rounded, not all (our choice)."""
MEASURED = re.compile(r"loss|acc|f1|auc|perplexity|ppl|grad_norm|error|score")
LONGEST = 3
"""The streak must also be this many times as long as the longest one before: a progress bar repeats
its loss until the next is computed."""
LEARNT = 0.05
"""Part of the first loss below which a constant loss is not reported: so small a loss is often
rounded to the same few digits."""
BLOCK = 64
"""Losses in a block; its mean is one point of the course of the loss."""
BETTER = 0.005
"""Part of the best point by which a new point must be lower to be the best."""
FADED = 1e-3
"""Part of the highest learning rate below which it is next to nothing: cosine schedules are there in
the last 2 % of their steps, three drops to a tenth lead there."""
LEARNS = 8
"""Losses whose mean is compared: the first ones of a run whose learning rate was never above zero,
and the newest."""
LOWER = 0.97
"""Part of the first mean below which the newest one shows that something is learnt: the rate is then
printed with too few digits."""
STALE_BLOCKS = 16
"""Points since the best one from which there is a plateau, if they are also at least half of all
points."""


@dataclass(slots=True)
class Constant:
    """A streak of reports with exactly the same loss and gradient norm."""

    file: str
    first: LoggedValue
    decided: LoggedValue | None = None
    count: int = 1
    norm: float | None = None
    values: tuple[float, ...] | None = None
    """All measured values, while they are the same in every report; ``None``: they are not."""


@dataclass(slots=True)
class NoRate:
    """A learning rate of zero, or next to nothing."""

    file: str
    first: Step
    before: float
    """The last rate that was not next to nothing; 0 if there was none."""
    count: int = 0
    rate: float = 0.0
    """The newest one."""
    first_losses: list[float] = field(default_factory=list)
    last_losses: deque[float] = field(default_factory=lambda: deque(maxlen=LEARNS))

    def take(self, loss: float) -> None:
        """Take in a finite loss."""
        if len(self.first_losses) < LEARNS:
            self.first_losses.append(loss)
        self.last_losses.append(loss)

    @property
    def learns(self) -> bool:
        """True when the loss has gone down all the same, or is not known well enough."""
        if len(self.last_losses) < LEARNS or self.count < 2 * LEARNS:
            return True
        (first, noise), (last, noise_now) = _mean(self.first_losses), _mean(self.last_losses)
        # Twice the standard error of the difference of two means of so many values.
        unsure = 2.0 * math.hypot(noise, noise_now) / math.sqrt(LEARNS)
        return first - last > max((1 - LOWER) * abs(first), unsure)


@dataclass(slots=True)
class Plateau:
    """A loss whose best value was long ago."""

    file: str
    best: LoggedValue
    """The end of its best block, with the mean of that block."""
    now: float
    reports: int
    """Number of reports since the best block."""


@dataclass(slots=True, eq=False)
class _Log:
    """State of one log."""

    file: str
    rank: int | None
    special: bool
    """True for adversarial and reinforcement learning, whose loss is no measure of progress."""
    first: float | None = None
    rate: float = 0.0
    peak: float = 0.0
    """The highest learning rate since the daemon began."""
    blocks: int = 0
    since_best: int = 0
    longest: int = 0
    best: LoggedValue | None = None
    step: float | None = None
    constant: Constant | None = None
    no_rate: NoRate | None = None
    total: float = 0.0
    wide: int = 0
    SAVED: ClassVar[Any] = (
        *("file", "rank", "special", "first", "rate"),
        *("blocks", "since_best", "longest", "best"),
    )
    """The course of the loss, which takes hundreds of reports to learn."""


@dataclass(eq=False)
class FlatMetrics(Accumulator):
    """Finds losses and learning rates that do not change."""

    stored_as = "Stillness"

    takes: ClassVar[tuple[type, ...]] = (Step,)
    SAVED: ClassVar[Any] = {"logs": "_logs"}
    constant: Constant | None = None
    """The newest streak that is long enough."""
    no_rate: NoRate | None = None
    plateau: Plateau | None = None
    _logs: Annotated[dict[str, _Log], Keyed("file")] = field(default_factory=dict)

    @property
    def quiet(self) -> bool:
        """True while everything changes."""
        return self.constant is None and self.no_rate is None and self.plateau is None

    def add(self, seen: Observation) -> None:
        """Take in one report; of each file only those of the first rank that was seen."""
        if not isinstance(seen, Step):
            return
        values = seen.values
        loss, rate = values.get("train_loss"), values.get("lr")
        if loss is None and rate is None:
            return
        log = self._logs.get(seen.file)
        if log is None:
            if len(self._logs) >= FILES:
                return
            log = self._logs[seen.file] = _Log(seen.file, seen.rank, bool(manner(values)))
        if seen.rank != log.rank or (seen.number is not None and seen.number == log.step):
            return
        log.step = seen.number
        if rate is not None:
            if max(0.0, FADED * log.peak) < rate < math.inf:
                log.rate, log.peak = rate, max(rate, log.peak)
                if log.no_rate is not None:
                    if self.no_rate is log.no_rate:
                        self.no_rate = None
                    log.no_rate = None
            elif 0.0 <= rate < math.inf:
                self._no_rate(seen, log, rate)
            if log.no_rate is not None and loss is not None and loss - loss == 0.0:
                log.no_rate.take(loss)
        if loss is not None and loss - loss == 0.0:
            self._loss(seen, log, loss, values.get("grad_norm"))

    @property
    def enough(self) -> int:
        """Reports from which the streak counts."""
        return SAME if self.constant is None else _enough(self.constant)

    def _no_rate(self, seen: Step, log: _Log, rate: float) -> None:
        old = log.no_rate
        if old is None or (old.rate and rate == 0.0):  # zeros are counted for themselves
            log.no_rate = NoRate(seen.file, seen, log.rate)
            self.no_rate = None if self.no_rate is old else self.no_rate
        assert log.no_rate is not None
        log.no_rate.rate = rate
        log.no_rate.count += 1
        if log.no_rate.count == 1:
            return
        never = log.no_rate.before == 0.0
        if self.no_rate is None and (never or rate or exact(log.no_rate.before)):
            self.no_rate = log.no_rate

    def _loss(self, seen: Step, log: _Log, loss: float, norm: float | None) -> None:
        if log.first is None:
            log.first = loss
        constant = log.constant
        if constant is not None and constant.first.value == loss and constant.norm == norm:
            constant.count += 1
            if constant.values != _measured(seen):
                constant.values = None
            # A bar repeats all its values until it gets new ones; how long, the first streak tells.
            enough = _enough(constant) if log.longest else SAME
            least = max(enough, LONGEST * log.longest)
            if constant.count >= least and constant.decided is None:
                self._decide(seen, log, constant)
        else:
            if constant is not None:
                log.longest = max(log.longest, constant.count)
                if self.constant is constant:
                    self.constant = None
            log.constant = Constant(
                seen.file, LoggedValue.of(seen, loss), norm=norm, values=_measured(seen)
            )
        log.total += loss
        log.wide += 1
        if log.wide == BLOCK:
            self._block(seen, log)

    def _decide(self, seen: Step, log: _Log, constant: Constant) -> None:
        value = constant.first.value
        moved = log.longest > 0 or constant.norm is not None
        if moved and value and abs(value) > LEARNT * abs(log.first or 0.0):
            constant.decided = LoggedValue.of(seen, value)
            self.constant = constant

    def _block(self, seen: Step, log: _Log) -> None:
        mean = log.total / BLOCK
        log.total, log.wide = 0.0, 0
        log.blocks += 1
        best = log.best
        if best is None or mean < best.value - BETTER * abs(best.value):
            log.best, log.since_best = LoggedValue.of(seen, mean), 0
            if self.plateau is not None and self.plateau.file == seen.file:
                self.plateau = None
            return
        log.since_best += 1
        if log.special or log.since_best < max(STALE_BLOCKS, log.blocks / 2):
            return
        self.plateau = Plateau(seen.file, best, mean, BLOCK * log.since_best)


def _measured(seen: Step) -> tuple[float, ...] | None:
    """The measured values of a report in the order of their names; ``None`` for less than three."""
    found = tuple(value for name, value in sorted(seen.values.items()) if MEASURED.search(name))
    return found if len(found) >= 3 else None


def _enough(constant: Constant) -> int:
    return SAME if constant.values is None else ALL_SAME


def _mean(values: Collection[float]) -> tuple[float, float]:
    """(mean, standard deviation)"""
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))


def exact(before: float) -> bool:
    """False when a rate of zero after the rate ``before`` may be a small one, printed with too few
    digits. In that case ``before`` has one significant digit: it went down to the last printed
    one."""
    digits = f"{before:.6e}".partition("e")[0].replace(".", "").rstrip("0")
    return len(digits) > 1
