"""Whether a finished log shows that its run reached its end: by numbers, else by what it says.

The planned steps or epochs decide first. A claim ("Training completed") counts only where no plan
is known, where at least :data:`ALL_BUT` of the plan was reached, or where it is one that a trainer
writes only when it leaves its loop. Where none of this is known, the last lines decide, as they do for a
run whose process is gone.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from itertools import pairwise

from middlewatch.sentinels.kit import Observation, Phase, Step, View
from middlewatch.sentinels.kit.last_words import LastWords
from middlewatch.sentinels.kit.numbers import median
from middlewatch.sentinels.kit.progress import planned

ALL_BUT = 0.9
"""Fraction of the plan from which a claim of the end is believed: a log may lack the last steps."""
SETTINGS = 8
"""Different run lengths kept from settings in the log; more of them are a sweep."""
GAPS = 9
"""Newest differences between logged steps; their median is the logging interval."""
WENT_ON = 3
"""So many training reports after a claim show that it was about another end (a fold, an epoch)."""
OF_AN_EPOCH = 0.9
"""The last epoch is complete when it has this fraction of the reports of the epoch before it."""
NEWEST = 16
"""Newest reports of which the lines are kept: more than an error has lines that look like one."""
EVALUATIONS = 4
"""After so many evaluations at one interval, one at a shorter interval is the final evaluation."""
PEAK = 1e-3
"""A learning rate that fell steadily to this fraction of its peak has come to the end of its
schedule: a cosine is there after 98 % of its steps, a linear one after 99.9 %."""
FALLING = 20
"""Newest learning rates, each of which must be lower than the one before: a decay in few large
steps says nothing about the end."""

# Written only when a trainer leaves its loop. After early stopping the plan means nothing.
_CERTAIN = re.compile(
    r"train_runtime|\bmax_(?:steps|epochs|iters)\b.{0,20}reached|(?i:early.?stop|signal+ing trainer to stop)|提前停止|早停"
)


class Completion:
    """How far the log got: its last step, and where it says that the run is over."""

    def __init__(self) -> None:
        self.last_step: float | None = None
        self.last_step_line = 0
        self.done_line: int | None = None
        self._certain = False
        self._since_done = 0
        self._gaps: deque[float] = deque(maxlen=GAPS)
        self._epoch: float | None = None
        self._first_epoch: float | None = None
        self._epochs: float | None = None
        self._reports = 0
        self._reports_before = 0
        self._batch: float | None = None
        self._batch_before: float | None = None
        """Newest step within this epoch and the one before, for logs that count per epoch."""
        self._set_totals: set[float] = set()
        self._set_epochs: set[float] = set()
        """Steps and epochs named by settings in the log: they may mean something else."""
        self._last_line = 0
        self._newest: deque[tuple[int, bool]] = deque(maxlen=NEWEST)
        """(line, whether it has a value that is no whole number) of the newest reports."""
        self._rate_peak = 0.0
        self._rates: deque[float] = deque(maxlen=FALLING)
        self._evaluated: deque[float] = deque(maxlen=EVALUATIONS + 1)
        self._evaluation_line = 0
        self._trained: float | None = None
        self._words = LastWords()

    def close(self, words: LastWords) -> None:
        """Take what the last lines of the log say. An error before the last report was overcome; what
        counts something in the error itself, or behind it without a measure, is no report."""
        reports = (
            line
            for line, measured in self._newest
            if line != words.error_line and (measured or line < words.error_line)
        )
        last = max(reports, default=0 if self._newest else self._last_line)
        self._words = words if words.error_line > last else replace(words, error="")

    @property
    def error(self) -> str:
        """The error with which the log ends; empty if it does not."""
        return self._words.error

    @property
    def error_line(self) -> int:
        """The line of this error; 0 for none."""
        return self._words.error_line if self._words.error else 0

    def add(self, one: Observation) -> None:
        """Look at one observation, in order."""
        if isinstance(one, Step):
            self._step(one)
        elif isinstance(one, Phase):
            if one.name == "done":
                self._claim(one.line, certain=_CERTAIN.search(one.text) is not None)
            elif one.name == "start":
                self.done_line = None

    def _claim(self, line: int, *, certain: bool) -> None:
        if self.done_line is None or certain > self._certain:
            self.done_line = line
        self._certain = certain or (self._certain and self._since_done == 0)
        self._since_done = 0

    def _step(self, one: Step) -> None:
        values = one.values
        number = one.number
        if number is None and not values:
            self._setting(one)
            return
        self._last_line = one.line
        self._newest.append((one.line, any(v % 1 != 0 for v in values.values())))
        if number is not None:
            last = self.last_step
            if last is not None and number > last:
                self._gaps.append(number - last)
            self.last_step, self.last_step_line = number, one.line
        if one.epoch is not None:
            self._epoch_report(one.epoch, number if "train_loss" in values else None)
        if one.epochs is not None:
            self._epochs = one.epochs
        if "train_loss" in values:
            if self.done_line is not None and "train_runtime" not in values:
                self._since_done += 1
                if self._since_done >= WENT_ON:
                    self.done_line, self._certain = None, False
            if number is not None:
                self._trained = number
        elif "eval_loss" in values and number is not None:
            if not self._evaluated or number != self._evaluated[-1]:
                self._evaluated.append(number)
            self._evaluation_line = one.line
        if "train_runtime" in values:
            self._claim(one.line, certain=True)
        rate = values.get("lr")
        if rate is not None:
            self._rates.append(rate)
            if rate > self._rate_peak:
                self._rate_peak = rate

    def _setting(self, one: Step) -> None:
        for known, length in ((self._set_totals, one.total), (self._set_epochs, one.epochs)):
            if length is not None and len(known) < SETTINGS:
                known.add(length)

    def _epoch_report(self, epoch: float, number: float | None) -> None:
        whole = float(int(epoch)) if epoch - epoch == 0 else epoch
        if self._first_epoch is None:
            self._first_epoch = whole
        if whole != self._epoch:
            self._reports_before, self._reports, self._epoch = self._reports, 0, whole
            self._batch_before, self._batch = self._batch, None
        self._reports += 1
        if number is not None:
            self._batch = number

    def finished_line(self, view: View) -> int | None:
        """The line where the log shows that the run reached its end; ``None`` if none does."""
        total = planned(view)
        through = self._through_plan(total)
        if through is not None:
            return through
        if self._short_of(total) and not self._certain:
            return None
        if self.done_line is not None:
            return self.done_line
        if self._as_set():
            return self._last_line
        if not total and (self._last_evaluation() or self._rate_ran_out()):
            return self._last_line
        return None

    def came_through(self, view: View, after: int) -> bool:
        """Whether training went on below a line and reached the last step or epoch of its plan: what had ended there was
        an earlier start, or part of the job."""
        went_on = sum(line > after for line, _ in self._newest) >= WENT_ON
        return went_on and self._through_plan(planned(view)) is not None

    def _through_plan(self, total: float | None) -> int | None:
        """The line where the last step or epoch of the plan was reached; ``None`` if none was."""
        if total and self.last_step is not None and self._reached(total):
            return self.last_step_line
        if self._epochs and self._through_epochs(self._epochs):
            return self.done_line or self._last_line
        return None

    def closed_line(self, view: View) -> int | None:
        """The last line, where the lines after the loop or its counters show that it was left; for a
        log without a trouble that ended it."""
        words = self._words
        if self._short_of(planned(view)) or words.reached is False:
            return words.line if words.farewell == "stop" else None
        return words.line if words.reached or words.farewell else None

    def _short_of(self, total: float | None) -> bool:
        """The last step is far from the plan, or the last epoch from the epochs that its own line announces."""
        if self._epochs and self._epoch is not None and self._epoch < ALL_BUT * self._epochs - 1:
            return True
        return (
            bool(total) and self.last_step is not None and self.last_step < ALL_BUT * (total or 0)
        )

    def _reached(self, total: float) -> bool:
        """The last step is the last one of the plan, or the next report would come after it."""
        last = self.last_step or 0.0
        interval = median(self._gaps) if len(self._gaps) == GAPS else 1.0
        return last >= total - 1 or (last + interval > total and last >= ALL_BUT * total)

    def _as_set(self) -> bool:
        """The last step or epoch equals a length that a setting names."""
        last = self.last_step
        if last is not None and any(last <= t and self._reached(t) for t in self._set_totals):
            return True
        return any(
            self._epoch is not None and self._epoch <= e and self._through_epochs(e)
            for e in self._set_epochs
        )

    def _through_epochs(self, epochs: float) -> bool:
        if self._epoch is None or self._epoch < epochs - (self._first_epoch == 0):
            return False
        if self._batch is not None and self._batch < OF_AN_EPOCH * (self._batch_before or 0.0):
            return False
        return self._epoch != self._first_epoch and (
            self._reports >= OF_AN_EPOCH * self._reports_before
        )

    def _last_evaluation(self) -> bool:
        """The log ends with an evaluation at a shorter interval, once training has ended."""
        evaluated = list(self._evaluated)
        if len(evaluated) <= EVALUATIONS or self._evaluation_line != self._last_line:
            return False
        gaps = {b - a for a, b in pairwise(evaluated[:-1])}
        if len(gaps) != 1 or self._trained is None:
            return False
        every = gaps.pop()
        gap = evaluated[-1] - evaluated[-2]
        return 0 < gap < every and evaluated[-1] >= self._trained

    def _rate_ran_out(self) -> bool:
        """The learning rate fell steadily from its peak to almost zero."""
        rates = list(self._rates)
        if len(rates) < FALLING or self._rate_peak <= 0:
            return False
        falling = all(b < a for a, b in pairwise(rates))
        return falling and rates[-1] <= PEAK * self._rate_peak
