"""Two columns of numbers without names: a counter and a measured value.

``10<tab>8.46`` alone means nothing. Consecutive rows of which the first number rises by the same
stride are a training curve; the second column is the loss if it falls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from middlewatch.sentinels.kit.codec import UNSAVED

LEAST = 6
"""Consecutive rows that make a curve; fewer may be a table of something else."""
Name = Literal["train_loss", "column 2"]

Row = tuple[int, float, str, float]
"""(line number, counter, name of the value, value)."""


@dataclass(eq=False)
class RowBuffer:
    """Holds rows back until there are enough to know what they are."""

    _held: list[tuple[int, float, float]] = field(default_factory=list)
    _name: Name | None = None
    _last: float = 0.0
    open: bool = field(default=False, metadata=UNSAVED)
    """The last line was a row."""

    def end(self) -> None:
        """Take a line that is no row: the rows that were held back are dropped."""
        self._held = []
        self._name = None
        self.open = False

    def add(self, line: int, counter: float | None, value: float | None) -> list[Row]:
        """Take a row; returns the rows now known to belong to a curve, oldest first."""
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
        """Set :attr:`open` after a restart: rows that were held back may still be a curve."""
        self.open = bool(self._held) or self._name is not None


def _name_of(values: list[float]) -> Name:
    half = len(values) // 2
    first, second = sum(values[:half]) / half, sum(values[half:]) / (len(values) - half)
    return "train_loss" if 0 < second < first else "column 2"
