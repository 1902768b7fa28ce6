"""The clock: the only place that asks the system for the time.

Deadlines use ``monotonic``. Records use ``now`` (wall clock, epoch seconds), which can be set: the
history of a run corrects the times it keeps when that happens.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Protocol


class Clock(Protocol):
    """Wall and monotonic time in seconds."""

    def now(self) -> float:
        """Epoch seconds (wall clock)."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait. For commands only; the resident loop waits in its selector."""
        ...


class SystemClock:
    """The clock of the system."""

    def now(self) -> float:
        """Epoch seconds (wall clock)."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def iso(at: float | None) -> str | None:
    """Epoch seconds as ISO 8601 with zone, to the millisecond; ``None`` stays ``None``."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, timezone.utc).astimezone().isoformat(timespec="milliseconds")


def epoch(text: str) -> float:
    """Epoch seconds of an ISO 8601 date and time; without a zone it is local time of the box.

    Raises ValueError for anything else.
    """
    told = text.strip()
    if told[-1:] in ("Z", "z"):  # Python 3.10 cannot parse it
        told = f"{told[:-1]}+00:00"
    return datetime.fromisoformat(told).timestamp()
