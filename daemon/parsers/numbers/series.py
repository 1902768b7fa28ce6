"""Two columns of numbers without any name: a counter and what was measured at it.

``10<tab>8.46`` says nothing by itself. A run of such rows whose first number rises by the
same stride is a training curve; the second column is its loss when it falls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from middlewatch.sentinels.kit.codec import UNSAVED

LEAST = 6
"""Rows in a row before anything is said: fewer are as often a table of something else."""
Name = Literal["train_loss", "column 2"]

Row = tuple[int, float, str, float]
"""(line, counter, name of the value, value)."""


@dataclass(eq=False)
class RowBuffer:
    """Holds rows back until there are enough to tell what they are."""

    _held: list[tuple[int, float, float]] = field(default_factory=list)
    _name: Name | None = None
    _last: float = 0.0
    open: bool = field(default=False, metadata=UNSAVED)
    """Some rows have come, and nothing else since."""

    def end(self) -> None:
        """Another line came: what was held back was no curve."""
        self._held = []
        self._name = None
        self.open = False

    def add(self, line: int, counter: float | None, value: float | None) -> list[Row]:
        """The rows that are known to belong to a curve now, oldest first."""
        if counter is None or value is None:
            return []
        if self._name is not None:
            if counter <= self._last:
                self.end()
            else:
                self._last = counter
                return [(line, counter, self._name, value)]
        held = self._held
        self.open = True
        if held and counter <= held[-1][1]:
            held.clear()
        held.append((line, counter, value))
        if len(held) < LEAST:
            return []
        strides = {round(b[1] - a[1], 6) for a, b in pairwise(held)}
        if len(strides) > 2:
            held.pop(0)
            return []
        self._name, self._last = _name_of([v for _, _, v in held]), counter
        rows: list[Row] = [(at, n, self._name, v) for at, n, v in held]
        held.clear()
        return rows

    def restored(self) -> None:
        """Rows that were held back may still be a curve."""
        self.open = bool(self._held) or self._name is not None


def _name_of(values: list[float]) -> Name:
    half = len(values) // 2
    first, second = sum(values[:half]) / half, sum(values[half:]) / (len(values) - half)
    return "train_loss" if 0 < second < first else "column 2"
