"""The evaluation loss over a whole run: when it was best, and what has become of it since."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..accumulator import Accumulator, LoggedValue
from ..numbers import median
from ..observations import Observation, Step

NEWEST = 3
"""Newest evaluations of which the median is compared: a single one has noise."""


@dataclass(eq=False)
class Evaluations(Accumulator):
    """The best evaluation, the ones since, and the training loss then and now; of one log."""

    takes: ClassVar[tuple[type, ...]] = (Step,)
    SAVED: ClassVar[Any] = {
        "file": "file",
        "first": "first",
        "best": "best",
        "since": "since",
        "newest": "newest",
        "losses": ("loss", "loss_then"),
    }
    file: str = ""
    first: float | None = None
    best: LoggedValue | None = None
    since: int = 0
    """Evaluations since the best one."""
    newest: deque[float] = field(default_factory=lambda: deque(maxlen=NEWEST))
    loss: float | None = None
    """The newest training loss."""
    loss_then: float | None = None
    """The training loss at the best evaluation."""

    @property
    def quiet(self) -> bool:
        """True while the best evaluation is one of the newest."""
        return self.since < NEWEST

    @property
    def now(self) -> float | None:
        """The median of the newest evaluations; ``None`` while there are too few."""
        return median(self.newest) if len(self.newest) == NEWEST else None

    def add(self, seen: Observation) -> None:
        """Take in a report; of several logs only that of the first evaluation is followed."""
        if not isinstance(seen, Step):
            return
        loss, told = seen.values.get("train_loss"), seen.values.get("eval_loss")
        if loss is not None and loss - loss == 0.0:
            self.loss = loss
        if told is None or told - told != 0.0 or (self.file and seen.file != self.file):
            return
        if self.first is None:
            self.file, self.first = seen.file, told
        self.newest.append(told)
        self.since += 1
        if self.best is None or told < self.best.value:
            self.best, self.since, self.loss_then = LoggedValue.of(seen, told), 0, self.loss
