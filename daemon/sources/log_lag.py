"""How far the reading of a log is behind its end, and whether it will ever be there.

A log is read at a third of a core at most (:data:`..system.pump.BREATH`): some 6,000 reports of steps a
second, or 40 MiB where few lines have metrics (measured). One that grows faster is read later and later,
and what is told of it is true of an hour ago. So its middle is left out, when reading would not be level
again in some minutes.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from .log_follow import REACH_BYTES

PATIENCE_S = 30.0
"""Seconds by which reading may be late, before something is left out: half a minute is what a person waits
for an alert anyway. Our choice."""
CATCH_UP_S = 300.0
"""Seconds within which reading has to be level again, as fast as it was so far and as the log grows now;
else something is left out. Two million reports are read in that time, more than a run makes in a night in
which the daemon was down. Our choice."""
GROWTH_S = 5.0
"""Seconds over which it is measured how fast the log grows now: after a burst, what is left may be read."""
TOLD_S = 5.0
"""Seconds by which reading is late when a person is told: a burst is read within that time. Our choice."""
LAST_BYTES = 256 << 10
"""What is read of a log whose run has ended, if more is unread: thousands of lines, in which it says why it
ended. They take a second where every line has metrics, and a run is followed for eight after its end."""
LAST_S = 2.0
"""Seconds after the end of a run in which its logs are read to their end as they are."""
_MARK_EVERY_S = 1.0
_MOST_MARKS = 600
"""Marks that are kept: one a second for ten minutes, then half as many, and so on."""


class Level:
    """Whether a log was read to its end by a look that began after the last :meth:`forget`.

    No time is compared: a look and an event that is seen in the same pass have the same time, and the clock
    of the box can be set.
    """

    def __init__(self) -> None:
        self._reached = self._over = self._fresh = False

    def __bool__(self) -> bool:
        return self._reached or self._over

    def forget(self) -> None:
        """Something happened before which the log may have grown: looks that began earlier do not count."""
        self._reached = self._fresh = False

    def begin(self) -> None:
        """A look begins, or a question is asked."""
        self._fresh = True

    def end(self, *, more: bool = False) -> None:
        """It has ended; ``more``: it left something unread."""
        self._reached = self._reached or (self._fresh and not more)

    def close(self) -> None:
        """Nothing will be written into it any more."""
        self._over = True


class _Mark(NamedTuple):
    """One look at the end of the log. Bytes are counted over all its files."""

    at: float
    end: int
    read: int


class Lag:
    """What is known about the bytes of one log that are not read yet."""

    def __init__(self) -> None:
        self.bytes = 0
        """Unread at the last look."""
        self._read = 0
        self._every_s = _MARK_EVERY_S
        self._marks: deque[_Mark] = deque()
        """Looks at an end that is not reached yet, oldest first."""

    def note(self, taken: int, unread: int, now: float) -> None:
        """``taken`` bytes were read just now, and ``unread`` are left."""
        self._read += taken
        self.bytes = unread
        marks, end = self._marks, self._read + unread
        if not unread or (marks and now < marks[-1].at):  # level; or the clock was set back
            self._every_s = _MARK_EVERY_S
            marks.clear()
        while marks and marks[-1].end > end:  # what was there is gone: the log was truncated
            marks.pop()
        while marks and marks[0].end <= self._read:
            marks.popleft()
        if not unread or (marks and end <= marks[-1].end):
            return
        if (
            marks and now - marks[-1].at < self._every_s
        ):  # one mark for both, at the time of the first
            marks[-1] = marks[-1]._replace(end=end)
            return
        marks.append(_Mark(now, end, self._read))
        if len(marks) > _MOST_MARKS:
            pairs = zip(*[iter(marks)] * 2, strict=False)
            self._marks = deque(first._replace(end=second.end) for first, second in pairs)
            self._every_s *= 2

    def seconds(self, now: float) -> float | None:
        """How long ago the oldest unread byte was seen to be there; ``None`` when all is read."""
        return max(0.0, now - self._marks[0].at) if self._marks else None

    def hopeless(self, now: float) -> bool:
        """True when so much is unread, for so long, that reading on would not be level soon."""
        late = self.seconds(now)
        if late is None or late < PATIENCE_S or self.bytes < 2 * REACH_BYTES:
            return False
        then, end = self._marks[0], self._read + self.bytes
        before = next(mark for mark in reversed(self._marks) if now - mark.at >= GROWTH_S)
        growth = (end - before.end) / (now - before.at)
        gain = (self._read - then.read) / late - growth
        return gain <= 0.0 or self.bytes / gain > CATCH_UP_S

    def forget(self) -> None:
        """Reading goes on elsewhere."""
        self.bytes = 0
        self._marks.clear()
