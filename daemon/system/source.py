"""The contract of a source: it reads one thing of the box and says what it saw.

A source never judges and never waits. ``read`` is called every ``every_s`` seconds and
``ready`` when one of its file descriptors can be read; both return observations at once.
Whatever can block for long lives in a child process behind a deadline.

Errors have three roads: :class:`~middlewatch.daemon.system.errors.Unsupported` means that this box
does not have the thing (said once, asked again much later); any other exception means that
the source is broken now (said, tried again at its next turn); a source that has an answer
outstanding past its deadline says so itself by ``stalled``.
"""

from __future__ import annotations

from collections.abc import Iterable

from middlewatch.sentinels.kit import Observation


class TelemetryLost(RuntimeError):
    """What a source asks is there and does not answer: nothing is known about it."""


class Source:
    """Base class: one thing of the box."""

    name: str = ""
    """What it is, and what it reads where there can be several: ``log_tail:/data/a.log``."""
    every_s: float = 1.0
    """Seconds between two calls of ``read``."""
    answers_later: bool = False
    """True when ``read`` only asks and the answer comes by ``ready``: an empty first read
    then says nothing about the source."""

    def fds(self) -> Iterable[int]:
        """File descriptors to wait on now; asked again after every call."""
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """``fd`` can be read (or has hung up)."""
        return ()

    def read(self, now: float) -> Iterable[Observation]:
        """Look once. ``now`` is wall time in epoch seconds."""
        return ()

    @property
    def due_at(self) -> float | None:
        """Epoch seconds at which ``read`` is wanted before its next turn; 0 means now."""
        return None

    def stalled(self, now: float) -> str | None:
        """Why an answer is overdue, or ``None``."""
        return None

    @property
    def impaired(self) -> str:
        """What is wrong although it still works (a log that was deleted); empty if nothing."""
        return ""

    def close(self) -> None:
        """Let go of everything; safe to call twice."""
