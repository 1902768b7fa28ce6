"""Two columns of numbers without any name: a counter and what was measured at it.

``10<tab>8.46`` says nothing by itself. A run of such rows whose first number rises by the
same stride is a training curve; the second column is its loss when it falls.
"""

from __future__ import annotations

from itertools import pairwise

LEAST = 6
"""Rows in a row before anything is said: fewer are as often a table of something else."""
_LOSS = "train_loss"
_UNNAMED = "column 2"

Row = tuple[int, float, str, float]
"""(line, counter, name of the value, value)."""


class Series:
    """Holds rows back until there are enough to tell what they are."""

    def __init__(self) -> None:
        self._held: list[tuple[int, float, float]] = []
        self._name: str | None = None
        self._last = 0.0
        self.open = False
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
        rows = [(at, n, self._name, v) for at, n, v in held]
        held.clear()
        return rows

    def save(self) -> dict[str, object]:
        """State as plain JSON values."""
        return {"held": self._held, "name": self._name, "last": self._last}

    def restore(self, state: object) -> None:
        """Take back what :meth:`save` gave; what is damaged in it is passed over."""
        if not isinstance(state, dict):
            return
        held, name, last = (state.get(k) for k in ("held", "name", "last"))
        if isinstance(held, list) and all(
            isinstance(r, (list, tuple))
            and len(r) == 3
            and all(isinstance(v, (int, float)) for v in r)
            for r in held
        ):
            self._held = [(int(a), float(b), float(c)) for a, b, c in held[:LEAST]]
        self._name = name if name in (_LOSS, _UNNAMED) else None
        self.open = bool(self._held) or self._name is not None
        self._last = float(last) if isinstance(last, (int, float)) else 0.0


def _name_of(values: list[float]) -> str:
    half = len(values) // 2
    first, second = sum(values[:half]) / half, sum(values[half:]) / (len(values) - half)
    return _LOSS if 0 < second < first else _UNNAMED
