"""Exceptions that a program has caught, by how it ended."""

from __future__ import annotations

from .observations import LogEvent, ProcessEnded
from .progress import plan_reached
from .view import View

FEW_LINES = 2
"""Lines after an exception that are a farewell at most (our choice)."""


def caught(view: View, ending: ProcessEnded, cause: LogEvent) -> bool:
    """True for an exception in the log of a program that ended with exit status 0.

    Python ends with 1 after one that is not caught, so the program has gone on: a search that leaves a
    candidate out, say. The status must be that of Python itself, not of a shell or of ``tee`` behind it,
    and the run must not have stopped short of its plan. Where its plan is not known, more than a word or
    two must have followed: a program that says "all done" after a traceback has broken off.
    """
    reached = plan_reached(view)
    if "exception" not in cause.details or reached is False:
        return False
    last = view.last_words.get(cause.file)
    if reached is None and last is not None and 0 <= last.line - cause.line <= FEW_LINES:
        return False
    since = [e for e in view.endings if e.at >= cause.at and not e.main]
    ended = [e for e in (ending, *since) if e.name.startswith(("python", "pt_"))]
    return bool(ended) and all(e.exit_code == 0 for e in ended)
