"""Is the run a search of hyperparameters, and how do its trials go?

A search tries settings of which some diverge. It sees that itself, ends the trial and begins the
next one. What the numbers of one trial show is nothing to be told about the run.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .accumulator import Accumulator
from .observations import LogEvent, Observation, Phase, Step
from .view import View

ALL_BAD = 3
"""Trials, the last that reported, of which none has a finite loss: then it is not the setting of one
(our choice: searches in steps of ten may begin with two that diverge)."""
CHANCE = 0.05
"""How likely it may be at most that a search with its share of bad trials has had so many in a row by
chance, once in all its trials: a wide search has them, and goes on well."""
GOES_ON_S = 120.0
"""Seconds since the newest failed trial after which a search may stand still as well (our choice)."""
KEPT = 16
"""Trials that are remembered: as many may report in turns. So many bad ones in a row are always told."""
_RESULT = re.compile(
    r"(?i)\btrial\W{1,3}#?(?P<trial>[\w-]{1,16})\b.{0,60}?"
    r"\b(?:(?:finished|completed?|ended|done)\b.{0,30}?\b(?:values?|objective|score|loss)\W{1,4}"
    r"(?P<value>[-+]?(?:nan|inf|\d+(?:\.\d+)?(?:e[-+]?\d+)?))|(?P<failed>failed|crashed))"
)
"""The line with which a search ends a trial: ``Trial 6 finished with value: inf``. One that was pruned or
stopped early is none."""
LASTS = 2.0
"""Times the longest wait for a result, for which all trials must have failed: one that fails at once costs
nothing, and four of them may come within a second (our choice)."""


@dataclass(eq=False)
class Trials(Accumulator):
    """The trials that the log names, and which of them have no finite loss."""

    takes: ClassVar[tuple[type, ...]] = (Step, Phase, LogEvent)
    SAVED: ClassVar[Any] = {
        "search": "search",
        "bad": "_bad",
        "unnamed": "_unnamed",
        "past": "_past",
        "past_bad": "_past_bad",
        "good_at": "_good_at",
        "wait_s": "_wait_s",
        "rounds": "rounds",
        "epoch": "_epoch",
    }
    search: bool = False
    """A line has named a trial."""
    _bad: dict[str, bool] = field(default_factory=dict)
    _unnamed: int = 0
    _step: float = -math.inf
    _past: int = 0
    """Trials before those that are remembered, ..."""
    _past_bad: int = 0
    """... and how many of them were bad."""
    _good_at: float | None = None
    """When the newest result came."""
    _wait_s: float = 0.0
    """The longest time between two results."""
    rounds: int = 0
    """How many trainings have begun again at the first epoch without an error between them: trials, folds, seeds."""
    _epoch: float | None = None
    newest: Phase | None = None
    """The newest line with which a trial ended without a finite result."""

    @property
    def quiet(self) -> bool:
        """True for a run that is no search."""
        return not self.search

    def add(self, seen: Observation) -> None:
        """Take in a report, or a line that begins or ends a trial."""
        if isinstance(seen, Phase):
            if seen.name == "trial":
                self.search = True
                self._unnamed += 1
                self._ended(seen)
        elif isinstance(seen, LogEvent):
            if seen.fatal:
                self.rounds, self._epoch = 0, None
        elif isinstance(seen, Step):
            self._round(seen.epoch)
            name = seen.values.get("trial")
            if name is not None:
                self.search = True
            if self.search:
                self._report(seen, name)

    def _round(self, epoch: float | None) -> None:
        if epoch is None:
            return
        if self._epoch is not None and epoch < self._epoch and epoch < 2.0:
            self.rounds += 1
        self._epoch = epoch

    def _report(self, seen: Step, name: float | None) -> None:
        losses = [seen.values[m] for m in ("train_loss", "eval_loss") if m in seen.values]
        if not losses:
            return
        if name is None and seen.number is not None:
            self._unnamed += seen.number < self._step  # it counts from the beginning again
            self._step = seen.number
        trial = f"after {self._unnamed}" if name is None else f"{name:g}"
        self._note(trial, not all(map(math.isfinite, losses)))

    def _ended(self, line: Phase) -> None:
        result = _RESULT.search(line.text)
        if result is not None:
            value = result["value"]
            bad = value is None or not math.isfinite(float(value))
            if not bad:
                if self._good_at is not None:
                    self._wait_s = max(self._wait_s, line.at - self._good_at)
                self._good_at = line.at
            self.newest = line if bad else None
            # Its own reports are under the same name, if they name it at all.
            self._bad.pop(f"after {self._unnamed - 1}", None)
            self._note(result["trial"], bad)

    def _note(self, trial: str, bad: bool) -> None:
        self._bad.pop(trial, None)
        self._bad[trial] = bad
        while len(self._bad) > KEPT:
            self._past += 1
            self._past_bad += self._bad.pop(next(iter(self._bad)))

    def lasts(self, now: float) -> bool:
        """Whether there was time enough for another result since the newest one."""
        return self._good_at is None or now - self._good_at >= LASTS * self._wait_s

    @property
    def failing(self) -> bool:
        """True when the newest trial without a result had an error, and no bad value."""
        result = None if self.newest is None else _RESULT.search(self.newest.text)
        return result is not None and result["value"] is None

    @property
    def bad_in_a_row(self) -> int:
        """How many of the last trials, without a finite one between them, have no finite loss."""
        newest = reversed(self._bad.values())
        return next((n for n, bad in enumerate(newest) if not bad), len(self._bad))

    @property
    def hopeless(self) -> bool:
        """True when none of the last trials has a finite loss, and it is more than bad luck."""
        row = self.bad_in_a_row
        if row < ALL_BAD or row >= KEPT:
            return row >= KEPT
        before = self._past + len(self._bad) - row
        bad = self._past_bad + sum(self._bad.values()) - row
        return ((bad + 0.5) / (before + 2)) ** row * (before + 1) <= CHANCE


def trials_of(view: View) -> Trials | None:
    """The trials of a live search; ``None`` for any other run."""
    trials = view.accumulator(Trials)
    return trials if view.live and trials is not None and trials.search else None


def all_trials_fail(view: View) -> bool:
    """True for a live search that goes from one failed trial to the next: that is one trouble, and no stall."""
    trials = trials_of(view)
    if trials is None or trials.newest is None or not (trials.failing and trials.hopeless):
        return False
    return view.now - trials.newest.at <= GOES_ON_S
