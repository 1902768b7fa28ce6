"""Reports in a row of a loss of (next to) zero."""

from __future__ import annotations

from dataclasses import dataclass

from ..accumulator import LoggedValue
from ..observations import Step

AGREED = 2
"""Reports that are enough where the gradient norm has vanished with the loss."""


@dataclass(slots=True)
class Zeros:
    """Consecutive reports of a loss of (next to) zero."""

    metric: str
    file: str
    first: LoggedValue
    decided: LoggedValue
    """The report at which there were enough of them."""
    count: int
    before: float | None
    """Level before the first of them; ``None`` when the run began with them."""
    began: float | None
    """Level of the first reports of the run."""
    over: bool = False
    all_right: bool = False
    """A report with it has an accuracy of 100 %."""
    agreed: bool = False
    """The gradient norm has vanished with it."""


def all_right(seen: Step) -> bool:
    """True when the report says that every prediction was right: then nothing is left to lose."""
    kinds = (value for name, value in seen.values.items() if "acc" in name.lower())
    return any(0.999 <= value <= 1.0 or 99.9 <= value <= 100.0 for value in kinds)
