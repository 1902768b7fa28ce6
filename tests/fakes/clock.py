"""Time that moves only when a test says so."""

from __future__ import annotations


class FakeClock:
    """A clock moved by hand; ``sleep`` moves it as well."""

    def __init__(self, now: float = 1_700_000_000.0, mono: float = 1000.0) -> None:
        self._now = now
        self._mono = mono

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._mono

    def sleep(self, seconds: float) -> None:
        self.jump(seconds)

    def jump(self, seconds: float) -> None:
        """Time goes on."""
        self._now += seconds
        self._mono += seconds

    def set_wall(self, now: float) -> None:
        """Somebody sets the clock; deadlines do not notice."""
        self._now = now
