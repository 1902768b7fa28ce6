"""The observation of the container that a run lives in, as its engine tells it."""

from __future__ import annotations

from dataclasses import dataclass

FRESH_S = 30.0
"""Seconds for which the word of an engine counts: it is asked every two, and one that has not answered
for longer than a source may be broken says nothing about now."""


@dataclass(frozen=True, slots=True)
class ContainerSeen:
    """The container of a run at one instant. What follows its start is of the start in which the run
    lives: the same container may be started again. Times are epoch seconds."""

    at: float
    name: str
    status: str = ""
    """``running``, ``paused``, ``restarting``, ``exited``, ``dead``; ``removed``: it is gone."""
    paused_at: float | None = None
    """Since when it is paused; ``None``: it is not."""
    oom_at: float | None = None
    """When the engine saw last that the kernel killed one of its processes for memory."""
    limit_bytes: int | None = None
    """The limit of memory that its engine has set; ``None``: it has set none."""
    exit_code: int | None = None
    """Exit status of its main process; ``None`` while it runs, and when that is not known."""
    ended_at: float | None = None
    ended_by: str = ""
    """The command through which the engine ended it (``docker stop``); empty: it was not that."""
    again_at: float | None = None
    """When the engine has started it again after its end."""
    policy: str = ""
    """Its restart policy, as ``docker run --restart`` takes it; empty: it is not started again."""
    restarts: int = 0
    """How often the policy has started it again."""

    preempted_at: float | None = None
    """When its engine sent it SIGTERM, if it is one that may be taken away at any time."""

    def paused(self, now: float) -> bool:
        """True while it is known to be paused."""
        return self.paused_at is not None and now - self.at <= FRESH_S

    def ended_near(self, at: float, near_s: float) -> bool:
        """True when it ended within so many seconds of ``at``."""
        return self.ended_at is not None and abs(self.ended_at - at) <= near_s
