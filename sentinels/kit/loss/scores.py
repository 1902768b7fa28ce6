"""Scores that were learnt and are lost: the return of an agent, an accuracy, a rate of success.

A return swings, and falls far while an agent explores; that is no trouble. A policy that has collapsed does the same
in every episode: its return is back where it began, and has lost its noise too, or its updates have become many
times as large as they ever were.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import Annotated, Any, ClassVar

from ..accumulator import Accumulator, LoggedValue
from ..codec import Keyed
from ..metric_keys import fold
from ..observations import Observation, Step

WINDOW = 8
"""Reports whose median is a level."""
FOR = 16
"""Newest reports that must all be lost, and alike (our choice)."""
LEARNT, OUT = 0.3, 2.0
"""Part of the first level, and times of the usual difference between two reports, by which the score must have
risen (our choice: returns differ by a fifth of what was learnt from one report to the next)."""
LOST = 0.8
"""Part of what was learnt that each of them must have lost."""
STILL = 0.05
"""Part of what was learnt within which they must lie: the returns of an agent that still learns swing by more."""
FAR, BEYOND = 4.0, 3
"""Times its largest size so far that another measure of the reports (a divergence, a loss of the critic) must
have, and in how many reports since the score was lost (our choice)."""
BELOW = 0.25
"""Part of what was learnt by which the newest reports must lie below all before them, where they are not alike:
a policy that is worse than it ever was, its first reports included, and does not learn."""
SERIES = 16
"""Scores that are followed at most."""
_SHAPES = 64
"""Reports with different metrics whose scores are remembered."""
_SCORE = re.compile(
    r"(?:(?:train|training|val|valid|validation|eval|evaluation|test|rollout|mean|avg|average|total|episode|ep|episodic|env|critic)[ /._])*"
    r"(?:returns?|rew(?:ard)?s?|scores?|acc(?:uracy)?|success(?: rate)?|win ?rate|回报|奖励|准确率)"
    r"(?:[ /._](?:mean|avg|average|val|eval|test|train))*"
)
"""The whole name of a score of which more is better; not that of a discriminator or of rejected answers."""


@lru_cache(maxsize=1024)
def is_score(key: str) -> bool:
    """Whether a metric of this name is a score of the whole model."""
    return _SCORE.fullmatch(fold(key)) is not None


@dataclass(slots=True)
class Score:
    """The first and the best level of one score, and the reports since it was lost."""

    name: str
    """File, rank and metric."""
    metric: str
    file: str
    step: float | None = None
    first: float | None = None
    best: float = -math.inf
    noise: float = 0.0
    """The largest of the usual differences in a window."""
    floor: float = -math.inf
    """At or below this so much is lost; only known once something was learnt."""
    window: list[float] = field(default_factory=list)
    """Values since the last level was taken: one for every :data:`WINDOW` reports, which is cheap."""
    low: float = math.inf
    """The lowest value before the newest ones that are lost, ..."""
    older: int = 0
    """... and how many were before them."""
    down: deque[float] = field(default_factory=lambda: deque(maxlen=FOR))
    """The newest values in a row that are lost."""
    fell: LoggedValue | None = None
    """The first of these."""
    line: int = 0
    """The line of the last of these."""
    still: bool = False
    """They are alike."""
    lost: bool = False
    """It has collapsed."""
    tops: dict[str, float] = field(default_factory=dict)
    """The largest size that each other measure of its reports had while it was not lost."""
    beyond: int = 0
    """Reports since it was lost in which one of these was far beyond that."""
    SAVED: ClassVar[Any] = (
        *("name", "metric", "file", "step", "first", "best", "noise", "floor", "window"),
        *("low", "older", "down", "fell", "line", "tops", "beyond"),
    )

    def restart(self) -> None:
        """What comes is another attempt."""
        self.first, self.best, self.noise, self.floor = None, -math.inf, 0.0, -math.inf
        self.low, self.older = math.inf, 0
        self.tops.clear()
        self.window.clear()
        self._rose()

    def push(self, seen: Step, value: float) -> None:
        """Take in the next finite value."""
        number = seen.number if seen.number is not None else seen.epoch
        if number is not None:
            if self.step is not None and number < self.step:
                self.restart()
            self.step = number
        self.window.append(value)
        if len(self.window) == WINDOW:
            self._level()
        if value <= self.floor:
            self._lost(seen, value)
            return
        for key, other in seen.values.items():
            if key != self.metric and abs(other) > self.tops.get(key, 0.0):
                self.tops[key] = abs(other)
        if self.down:
            self.low, self.older = min(self.low, *self.down), self.older + len(self.down)
            self._rose()
        self.older += 1
        if value < self.low:
            self.low = value

    def _level(self) -> None:
        """Take the level of the window, and what must be lost."""
        level = median(self.window)
        self.noise = max(self.noise, median(abs(b - a) for a, b in pairwise(self.window)))
        self.window.clear()
        if self.first is None:
            self.first = level
        self.best = max(self.best, level)
        learnt = self.best - self.first
        enough = learnt > max(LEARNT * abs(self.first), OUT * self.noise)
        self.floor = self.best - LOST * learnt if enough else -math.inf

    def _lost(self, seen: Step, value: float) -> None:
        if self.fell is None:
            self.fell = LoggedValue.of(seen, value)
        self.down.append(value)
        self.line = seen.line
        self.beyond += any(
            abs(v) > FAR * self.tops.get(k, math.inf) for k, v in seen.values.items()
        )
        if len(self.down) < FOR:
            return
        values, learnt = list(self.down), self.best - (self.first or 0.0)
        self.still = max(values) - min(values) <= STILL * learnt
        worse = self.older >= FOR and max(values) < self.low - BELOW * learnt
        half = FOR // 2
        rises = median(values[half:]) > median(values[:half]) + STILL * learnt
        self.lost = self.lost or self.still or ((worse or self.broken) and not rises)

    def _rose(self) -> None:
        self.down.clear()
        self.fell, self.still, self.lost, self.beyond = None, False, False, 0

    @property
    def broken(self) -> bool:
        """Lost, and the learning itself is out of all proportion: no agent that explores."""
        return self.beyond >= BEYOND


@dataclass(eq=False)
class Scores(Accumulator):
    """Follows the scores of a run."""

    known: Annotated[dict[str, Score], Keyed("name")] = field(default_factory=dict)
    _by_place: dict[tuple[str, int | None, str], Score] = field(default_factory=dict)
    """The same by file, rank and metric, so that no name is made for every report."""
    _wanted: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    """Names of the metrics of a report, and the scores among them."""
    SAVED: ClassVar[Any] = ("known",)

    @property
    def quiet(self) -> bool:
        """True while no score is lost."""
        return not any(score.lost for score in self.known.values())

    def add(self, seen: Observation) -> None:
        """Take in one observation."""
        if not isinstance(seen, Step):
            return
        keys = tuple(seen.values)
        wanted = self._wanted.get(keys)
        if wanted is None:
            if len(self._wanted) >= _SHAPES:
                self._wanted.clear()
            wanted = self._wanted[keys] = tuple(filter(is_score, keys))
        for key in wanted:
            value = seen.values[key]
            if not math.isfinite(value):
                continue
            place = (seen.file, seen.rank, key)
            score = self._by_place.get(place)
            if score is None:
                name = f"{seen.file}\t{seen.rank}\t{key}"
                score = self.known.get(name)
                if score is None:
                    if len(self.known) >= SERIES:
                        continue
                    score = self.known[name] = Score(name, key, seen.file)
                self._by_place[place] = score
            score.push(seen, value)
