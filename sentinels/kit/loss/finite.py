"""Which metrics are NaN or infinite now, and since when."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from ..accumulator import Accumulator, LoggedValue
from ..codec import Keyed
from ..observations import Observation, Step

METRICS = ("train_loss", "eval_loss", "grad_norm")
KEPT = 16
"""First reports that are kept of a streak: enough for every limit that a person may configure."""
FORGOTTEN = 96
"""Reports of other ranks after which a stream (a metric of one rank) that stopped reporting is no
longer counted: three of each of 32 interleaved ranks."""
EARLY = 64
"""First reports in which it is noted which parts of a loss were finite. Our choice: afterwards one that
becomes NaN has been finite before."""
PART = 0.5
"""Part of the values of a report that names no loss, from which they say that the model is not finite
(our choice: a correlation without variance, or a mean of nothing, is one of several)."""
SELDOM = 2
"""Usual reports for each that has a metric, from which it is not one of theirs (our choice)."""
STREAMS = 256
"""Streams whose open streak is kept at most; further ones are ignored."""


@dataclass(slots=True)
class Streak:
    """Consecutive reports of one metric, by one rank in one file, that were not finite."""

    metric: str
    file: str
    rank: int | None
    marks: list[LoggedValue] = field(default_factory=list)
    """The first :data:`KEPT` reports."""
    count: int = 0
    heard: int = 0
    """Number of the newest report of the streak, among all reports."""
    over: LoggedValue | None = None
    """The first finite report after it."""
    alone: bool = False
    """True when another loss in the newest report was finite."""
    beside: bool = False
    """True when the newest report has a finite training loss as well."""
    without: int = 0
    """Reports of a finite training loss since the first one that do not have this metric."""
    SAVED: ClassVar[Any] = ("metric", "file", "rank", "count", "alone", "marks", "without")

    @property
    def first(self) -> LoggedValue:
        """The first report."""
        return self.marks[0]

    @property
    def only_when_bad(self) -> bool:
        """True when the metric is named with what is wrong with it (``overflow (grad_norm=nan), step skipped``),
        and not in the usual report: nothing is said of the steps between, whose loss is finite."""
        return self.without > SELDOM * self.count

    def decided(self, in_a_row: int) -> LoggedValue:
        """The report with which it became ``in_a_row`` reports long."""
        return self.marks[min(in_a_row, len(self.marks)) - 1]


@dataclass(eq=False)
class Finiteness(Accumulator):
    """The open streaks, and the longest ended one of each metric."""

    takes: ClassVar[tuple[type, ...]] = (Step,)
    SAVED: ClassVar[Any] = {"total_seen": "_total_seen", "open": "_open"}
    _open: Annotated[dict[tuple[str, int | None, str], Streak], Keyed("file", "rank", "metric")] = (
        field(default_factory=dict)
    )
    _ended: dict[str, Streak] = field(default_factory=dict)
    _returns: Counter[str] = field(default_factory=Counter)
    _reports: int = 0
    _total_seen: bool = False
    _finite: set[str] = field(default_factory=set)

    @property
    def quiet(self) -> bool:
        """True while every metric has always been finite."""
        return not self._open and not self._ended

    def add(self, seen: Observation) -> None:
        """Take in the values of one report."""
        if not isinstance(seen, Step):
            return
        self._reports += 1
        values = seen.values
        for metric in METRICS:
            value = values.get(metric)
            if metric == "train_loss" and value == 0.0 and _lost(values):
                value = math.nan
            if value is None and metric == "grad_norm" and self._open:
                self._without(seen)
            if value is None or (metric == "grad_norm" and _skipped(values)):
                continue
            if value - value != 0.0:
                self._bad(seen, metric, value)
            else:
                self._finite.add(metric)
                if self._open:
                    self._good(seen, metric, value)
        if "train_loss" in values:
            self._total_seen = True
        elif not self._total_seen:
            self._components(seen)

    def _without(self, seen: Step) -> None:
        streak = self._open.get((seen.file, seen.rank, "grad_norm"))
        if streak is not None and math.isfinite(seen.values.get("train_loss", math.nan)):
            streak.without += 1

    def _components(self, seen: Step) -> None:
        """Take in the several losses of a program that reports no total loss (adversarial,
        reinforcement learning), or the values of one that names no loss at all."""
        values = seen.values
        if not self._open and math.isfinite(sum(values.values())):
            if self._reports <= EARLY and len(self._finite) < STREAMS:
                self._finite.update(values)
            return
        parts = {n: v for n, v in values.items() if is_component(n)}
        alone = any(map(math.isfinite, parts.values()))
        if not parts:
            parts = {n: v for n, v in values.items() if n in self._finite and n not in METRICS}
            bad = [n for n, v in values.items() if n in self._finite and not math.isfinite(v)]
            if not bad or len(bad) < PART * len(values):
                parts = {n: v for n, v in parts.items() if math.isfinite(v)}
            alone = len(bad) == 1
        for name, value in parts.items():
            if math.isfinite(value):
                if len(self._finite) < STREAMS:
                    self._finite.add(name)
                self._good(seen, name, value)
            else:
                self._bad(seen, name, value, alone=alone)

    def _bad(self, seen: Step, metric: str, value: float, *, alone: bool = False) -> None:
        stream = (seen.file, seen.rank, metric)
        streak = self._open.get(stream)
        if streak is None:
            if len(self._open) >= STREAMS:
                return
            streak = self._open[stream] = Streak(metric, seen.file, seen.rank)
        streak.count += 1
        streak.heard = self._reports
        streak.alone = alone
        loss = seen.loss
        streak.beside = loss is not None and math.isfinite(loss)
        if len(streak.marks) < KEPT:
            streak.marks.append(LoggedValue.of(seen, value))

    def _good(self, seen: Step, metric: str, value: float) -> None:
        streak = self._open.pop((seen.file, seen.rank, metric), None)
        if streak is None:
            return
        streak.over = LoggedValue.of(seen, value)
        self._returns[metric] += 1
        longest = self._ended.get(metric)
        if longest is None or streak.count > longest.count:
            self._ended[metric] = streak

    def ever_finite(self, metric: str) -> bool:
        """True when a value of this metric was finite since the watch began."""
        return metric in self._finite

    def lasting(self, metric: str | None = None) -> list[Streak]:
        """Open streaks of a metric, longest first; with ``None``, of the losses that are only
        components."""
        old = self._reports - FORGOTTEN
        found = [
            s
            for s in self._open.values()
            if s.heard > old
            and (s.metric == metric or (metric is None and s.metric not in METRICS))
        ]
        return sorted(found, key=lambda s: -s.count)

    def ended(self, metric: str) -> Streak | None:
        """The longest streak of a metric after which it was finite again."""
        return self._ended.get(metric)

    def returns(self, metric: str) -> int:
        """How many streaks of a metric there were after which it was finite again."""
        return self._returns[metric]

    def restored(self) -> None:
        """Raises ValueError when a stored streak has no report."""
        if not all(streak.marks for streak in self._open.values()):
            raise ValueError("a streak without its first report")


def _lost(values: Mapping[str, float]) -> bool:
    """True for the report of a trainer that leaves NaN out of the mean that it prints: of no losses it is 0
    (Hugging Face's ``logging_nan_inf_filter``). Then the gradient shows it."""
    return math.isnan(values.get("grad_norm", 0.0))


def is_component(name: str) -> bool:
    """True for a metric name that says "loss", other than a loss scale or a time."""
    low = name.lower()
    return "loss" in low and "scale" not in low and "time" not in low


def _skipped(values: Mapping[str, float]) -> bool:
    """True for the report of a loss scaler that skips this step: it tried a scale that was too
    large, as it does by design."""
    return any("skipping" in name.lower() or "overflow" in name.lower() for name in values)
