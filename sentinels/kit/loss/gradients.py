"""Extremely large gradient norms: additional evidence about a loss, no alarm by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from ..accumulator import LoggedValue
from ..observations import Step
from .spikes import LEVEL
from .window import Window

LARGE = 100.0
"""A norm is extreme above this many times the median of the newest norms, if it is also more than
twice the largest so far: seen once in 119,000 healthy reports. Smaller jumps have no consequence in
half of all cases."""
KEPT = 16
"""Extreme norms kept of a run."""


@dataclass(slots=True)
class Gradient:
    """An extremely large gradient norm."""

    file: str
    mark: LoggedValue
    usual: float
    """Median of the norms before it."""


class _Norms:
    """The norms of one file."""

    __slots__ = ("largest", "newest", "usual")

    def __init__(self) -> None:
        self.usual = Window(LEVEL)
        self.largest = 0.0
        self.newest = 0.0


class Gradients:
    """The usual gradient norm of every file, and the extremely large norms."""

    def __init__(self) -> None:
        self.large: list[Gradient] = []
        self.reports = 0
        """Number of norms since the newest extreme one."""
        self._norms: dict[str, _Norms] = {}

    def add(self, seen: Step, norm: float) -> None:
        """Take in one finite norm."""
        norms = self._norms.get(seen.file)
        if norms is None:
            norms = self._norms[seen.file] = _Norms()
        usual, norms.newest = norms.usual, norm
        full = len(usual.ordered) == LEVEL
        if full and norm > 2 * norms.largest and norm > LARGE * usual.median > 0.0:
            self.keep(seen.file, LoggedValue.of(seen, norm), usual.median)
        else:
            usual.add(norm)
            self.reports += 1
        if norm > norms.largest:
            norms.largest = norm

    def keep(self, file: str, mark: LoggedValue, usual: float) -> None:
        """Keep an extreme norm. ``usual``: the size of those before."""
        if len(self.large) < KEPT:
            self.large.append(Gradient(file, mark, usual))
        self.reports = 0

    def beside(self, file: str) -> tuple[float, float] | None:
        """(newest, usual) norm of a file; ``None`` when it reports none."""
        norms = self._norms.get(file)
        if norms is None or not norms.usual.ordered:
            return None
        return norms.newest, norms.usual.median
