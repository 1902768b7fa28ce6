"""The interface of a source: it reads one thing of the box and returns observations.

A source never judges and never waits. ``read`` is called every ``every_s`` seconds, ``ready`` when
one of its file descriptors can be read; both return at once. What can block for long is done by a
worker, a child process behind a deadline.

There are three kinds of failure. :class:`~middlewatch.daemon.system.errors.Unsupported` means that
this box does not have the thing; the source is read again ten minutes later. Any other exception
means that the source fails now; it is read again at its next turn. When an answer of a worker is
overdue, ``stalled`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from middlewatch.sentinels.kit import Observation


class TelemetryLost(RuntimeError):
    """What a source reads exists, but does not answer: its values are not known now."""


class Source:
    """Base class of all sources."""

    name: str = ""
    """Its kind, and what it reads if there can be several: ``log_tail:/data/a.log``."""
    every_s: float = 1.0
    """Seconds between two calls of ``read``."""
    answers_later: bool = False
    """True when ``read`` only sends a question and ``ready`` returns the answer: an empty first
    ``read`` then does not mean that the source works."""

    urgent: bool = False
    """What it sees may have to be told at once: it is read before others when there is not the time for
    all. Of one run these are read together, in the order in which they were added: that a process has
    ended, and how, is known before the next lines of its log. Constant, as ``every_s`` is."""

    def fds(self) -> Iterable[int]:
        """File descriptors to wait on; asked for again after every ``read`` and ``ready``."""
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """``fd`` can be read, or was closed at the other end. ``now``: epoch seconds."""
        return ()

    def read(self, now: float) -> Iterable[Observation]:
        """Read once. ``now``: epoch seconds (wall clock)."""
        return ()

    @property
    def due_at(self) -> float | None:
        """Epoch seconds at which ``read`` should be called before its next turn; 0 means now;
        ``None``: not before its turn."""
        return None

    def stalled(self, now: float) -> str | None:
        """What is overdue, as a sentence; ``None`` if nothing is."""
        return None

    @property
    def impaired(self) -> str:
        """What is wrong although it still works (a log that was deleted); empty if nothing."""
        return ""

    def close(self) -> None:
        """Close files and workers; safe to call twice."""
