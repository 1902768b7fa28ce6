"""Loss and gradient norm of a young series, whose noise nobody knows yet: both together prove a jump or a fall.

Alone, each of them is unusual in the first reports of healthy runs: a loss halves and doubles, a norm goes up
and down by orders of magnitude while the weights find their scale. In the same report both do so only in trouble.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..accumulator import LoggedValue
from ..observations import Step

YOUNG = 8
"""Losses up to which the witnesses are asked; from then on the noise of the series itself is known."""
LOSS_ROSE, NORM_ROSE = 10.0, 1e4
"""Multiples of the largest before. Our choice. 416 real curves have both; begun anew at each of their 306,787
reports, three of them show this within eight; all three are labelled with a NaN or a spike."""
LOSS_FELL, NORM_FELL = 1e-4, 1e-3
"""Parts of the smallest before; none of those curves shows this."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What loss and gradient norm of one report say together."""

    what: Literal["rose", "fell"]
    loss: LoggedValue
    norm: LoggedValue
    before: float
    """Largest loss before for ``rose``, smallest for ``fell``."""
    usual: float
    """The same of the norms."""


@dataclass(slots=True)
class _Followed:
    """One of the two: its newest value, and the smallest and largest before."""

    newest: LoggedValue | None = None
    low: float = 0.0
    high: float = 0.0
    known: bool = False

    def take(self, mark: LoggedValue) -> None:
        if self.newest is not None:
            size = abs(self.newest.value)
            self.low = min(self.low, size) if self.known else size
            self.high, self.known = max(self.high, size), True
        self.newest = mark


@dataclass(slots=True)
class Witnesses:
    """The first reports of one file."""

    _loss: _Followed = field(default_factory=_Followed)
    _norm: _Followed = field(default_factory=_Followed)

    def take(self, seen: Step, loss: float | None, norm: float | None) -> Agreed | None:
        """Take in what one line reports of the two; what is not finite is left out. A report may be of several
        lines, in any order. Returns what both say together, once for each report."""
        for one, value in ((self._loss, loss), (self._norm, norm)):
            if value is not None and value - value == 0.0:
                one.take(LoggedValue.of(seen, value))
        return self._together()

    def _together(self) -> Agreed | None:
        loss, norm = self._loss.newest, self._norm.newest
        if loss is None or norm is None or not (self._loss.known and self._norm.known):
            return None
        one_line = loss.line == norm.line
        if not one_line and (loss.step is None or loss.step != norm.step):
            return None
        size, length = abs(loss.value), abs(norm.value)
        if size > LOSS_ROSE * self._loss.high > 0.0 and length > NORM_ROSE * self._norm.high > 0.0:
            return Agreed("rose", loss, norm, self._loss.high, self._norm.high)
        if size < LOSS_FELL * self._loss.low and length < NORM_FELL * self._norm.low:
            return Agreed("fell", loss, norm, self._loss.low, self._norm.low)
        return None
