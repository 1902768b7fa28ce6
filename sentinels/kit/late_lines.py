"""Lines that explain an end, and that are read after it on a busy box."""

from __future__ import annotations

from .classes import Lines, which
from .observations import ProcessEnded
from .view import View

ELSEWHERE = which(lambda c: c.lines is not Lines.END)
"""Classes of lines that other rules than `crash` report."""
LATE_S = 10.0
"""Seconds after the end of the main process in which its last lines are read on a busy box."""


def end_heard_at(view: View, ending: ProcessEnded) -> float:
    """When the end was seen, or, if that is later, when the line was read by which another rule explains it:
    that rule waits as long from there, and is to be heard first."""
    lines = (e.at for e in view.events if e.trouble in ELSEWHERE and e.severity != "info")
    return max((at for at in lines if ending.at < at <= ending.at + LATE_S), default=ending.at)
