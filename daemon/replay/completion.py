"""Whether a finished log shows that its run reached its end: by numbers, else by what it says.

Numbers come first. A claim ("Training completed") counts where no plan is known, or where the
plan was all but reached; where the numbers contradict it, it is only a line.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import pairwise

from middlewatch.sentinels.kit import Observation, Phase, Step, View
from middlewatch.sentinels.kit.numbers import median
from middlewatch.sentinels.kit.progress import planned

ALL_BUT = 0.9
"""Part of its plan at which a claim of the end is believed: the last steps need not be logged."""
SETTINGS = 8
"""Different lengths that settings may name; more are a sweep."""
GAPS = 9
"""Step gaps whose median is the logging interval."""
WENT_ON = 3
"""Training reports after a claim that show that it was about something else (a fold, an epoch)."""
OF_AN_EPOCH = 0.9
"""Part of the reports of the epoch before that the last epoch must have to be a whole one."""
EVALUATIONS = 4
"""Evaluations in one rhythm after which one out of it is the last of all."""
PEAK = 1e-3
"""Part of its peak that a learning rate must have fallen to, evenly, for its schedule to be
run through: a cosine is there after 98 % of its steps, a line after 99.9 %."""
FALLING = 20
"""Newest learning rates that must all differ for a schedule, not a step-wise decay."""

# Said only where a trainer leaves its loop; early stopping makes the plan void.
_CERTAIN = re.compile(
    r"train_runtime|\bmax_(?:steps|epochs|iters)\b.{0,20}reached|(?i:early.?stop)|提前停止|早停"
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
        """Newest step of this epoch and of the one before, where each counts anew."""
        self._set_totals: set[float] = set()
        self._set_epochs: set[float] = set()
        """What settings say about the length: they may mean something else."""
        self._last_line = 0
        self._rate_peak = 0.0
        self._rates: deque[float] = deque(maxlen=FALLING)
        self._evaluated: deque[float] = deque(maxlen=EVALUATIONS + 1)
        self._evaluation_line = 0
        self._trained: float | None = None

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
        for known, told in ((self._set_totals, one.total), (self._set_epochs, one.epochs)):
            if told is not None and len(known) < SETTINGS:
                known.add(told)

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
        """Where the log shows that the run reached its end, if it does."""
        total = planned(view)
        if total and self.last_step is not None:
            if self._reached(total):
                return self.last_step_line
            if self.last_step < ALL_BUT * total and not self._certain:
                return None
        if self._epochs and self._through_epochs(self._epochs):
            return self.done_line or self._last_line
        if self.done_line is not None:
            return self.done_line
        if self._as_set():
            return self._last_line
        if not total and (self._last_evaluation() or self._rate_ran_out()):
            return self._last_line
        return None

    def _reached(self, total: float) -> bool:
        """The last step is the last one planned, or the next report would lie behind it."""
        last = self.last_step or 0.0
        interval = median(self._gaps) if len(self._gaps) == GAPS else 1.0
        return last >= total - 1 or (last + interval > total and last >= ALL_BUT * total)

    def _as_set(self) -> bool:
        """The last step or epoch is just the number that a setting asked for."""
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
        """The log closes with an evaluation out of its rhythm, behind the last training step."""
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
        """The learning rate fell evenly from its peak to nothing."""
        rates = list(self._rates)
        if len(rates) < FALLING or self._rate_peak <= 0:
            return False
        falling = all(b < a for a, b in pairwise(rates))
        return falling and rates[-1] <= PEAK * self._rate_peak
