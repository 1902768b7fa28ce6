"""Gradient norms out of all proportion: evidence beside a loss, no alarm of their own."""

from __future__ import annotations

from dataclasses import dataclass

from ..accumulator import LoggedValue
from ..observations import Step
from .spikes import LEVEL, Window

LARGE = 100.0
"""Times the median of the newest gradient norms, and more than twice the largest so far: seen
once in 119,000 healthy reports. Smaller jumps lead nowhere in half of all cases."""
KEPT = 16
"""Of a run."""


@dataclass(slots=True)
class Gradient:
    """A gradient norm out of all proportion."""

    file: str
    mark: LoggedValue
    usual: float
    """Median of those before it."""


class _Norms:
    """The norms of one file."""

    __slots__ = ("largest", "newest", "usual")

    def __init__(self) -> None:
        self.usual = Window(LEVEL)
        self.largest = 0.0
        self.newest = 0.0


class Gradients:
    """The usual gradient norm of every file, and the norms far from it."""

    def __init__(self) -> None:
        self.large: list[Gradient] = []
        self.reports = 0
        """Norms since the newest of them."""
        self._norms: dict[str, _Norms] = {}

    def add(self, seen: Step, norm: float) -> None:
        """Look at one finite norm."""
        norms = self._norms.get(seen.file)
        if norms is None:
            norms = self._norms[seen.file] = _Norms()
        usual, norms.newest = norms.usual, norm
        full = len(usual.ordered) == LEVEL
        if full and norm > 2 * norms.largest and norm > LARGE * usual.median > 0.0:
            if len(self.large) < KEPT:
                self.large.append(Gradient(seen.file, LoggedValue.of(seen, norm), usual.median))
            self.reports = 0
        else:
            usual.add(norm)
            self.reports += 1
        if norm > norms.largest:
            norms.largest = norm

    def beside(self, file: str) -> tuple[float, float] | None:
        """(newest, usual) norm of a file; ``None`` where it tells none."""
        norms = self._norms.get(file)
        if norms is None or not norms.usual.ordered:
            return None
        return norms.newest, norms.usual.median
