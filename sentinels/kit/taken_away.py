"""A container or pod that may be taken away at any time, and that has been told to end."""

from __future__ import annotations

from .container import ContainerSeen
from .observations import LogEvent
from .view import View

SIGNATURE = "pod-taken-away"
"""Of the line that the first process of a pod writes, where its job says that it may be interrupted."""


def taken_away(view: View) -> LogEvent | None:
    """The word that the run has to end now, by its engine or by its pod; ``None`` without one."""
    box = view.container
    if box is not None and box.preempted_at is not None:
        return _by_engine(box, box.preempted_at)
    return next((e for e in reversed(view.events) if e.signature == SIGNATURE), None)


def _by_engine(box: ContainerSeen, at: float) -> LogEvent:
    return LogEvent(
        at,
        "preempted",
        "root",
        "critical",
        fatal=True,
        text=f"docker: SIGTERM was sent to container {box.name}, which may be taken away at any time",
        file="docker",
        signature=SIGNATURE,
    )
