"""The loss curve of a run, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from middlewatch.sentinels.kit import codec

CURVE_POINTS = 480
"""Points kept of a loss curve; when full, every second one is dropped and the stride doubles."""
TIME = "(at)"
"""The curve of the times (epoch seconds) at which steps were seen: no metric has this name."""
KEPT = {"train_loss": CURVE_POINTS, "eval_loss": CURVE_POINTS, TIME: 120}
"""Curves that are kept of a run, and their points. The times are a quarter as many (our choice): between
two of them a pace hardly changes, and all of it is stored with each position in a log."""
SHOWN_POINTS = 240
"""Points of a curve that are shown, and kept of a run that has ended."""


@dataclass(eq=False)
class Curve:
    """The (step, value) points of a whole run, thinned out evenly to stay in bounded memory."""

    points: list[tuple[float, float]] = field(default_factory=list)
    stride: int = 1
    _skipped: int = field(default=0, metadata=codec.UNSAVED)

    def add(self, step: float, value: float, most: int = CURVE_POINTS) -> None:
        """Append one point, of at most ``most``; a step that goes back (a resume) drops the points from there on."""
        if self.points and step <= self.points[-1][0]:
            while self.points and self.points[-1][0] >= step:
                self.points.pop()
        self._skipped += 1
        if self._skipped < self.stride and value - value == 0:  # a NaN is never thinned out
            return
        self._skipped = 0
        self.points.append((step, value))
        if len(self.points) > most:
            del self.points[1::2]
            self.stride *= 2

    def move(self, by: float) -> None:
        """Add the same to all values."""
        self.points = [(step, value + by) for step, value in self.points]

    def thinned(self) -> Curve:
        """The curve with at most :data:`SHOWN_POINTS` points, its newest one among them."""
        stride = -(-len(self.points) // SHOWN_POINTS) or 1
        return Curve(self.points[::-1][::stride][::-1], self.stride * stride)
