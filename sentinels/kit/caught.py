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
    two must have followed: a program that says "all done" after a traceback has broken off. That is not asked
    of a program that came after the one that trained, and had ended well: it exports, or tests.
    """
    reached = plan_reached(view)
    if "exception" not in cause.details or reached is False:
        return False
    last = view.last_words.get(cause.file)
    few = last is not None and 0 <= last.line - cause.line <= FEW_LINES
    if reached is None and few and not _had_trained(view, cause):
        return False
    since = [e for e in view.endings if e.at >= cause.at and not e.main]
    ended = [e for e in (ending, *since) if _is_python(e)]
    return bool(ended) and all(e.exit_code == 0 for e in ended)


def _had_trained(view: View, cause: LogEvent) -> bool:
    """True when the program that trained ended with status 0 before the exception, and another one after
    it. Its own workers have its command line."""
    if not view.step_times:
        return False
    trained = view.step_times[-1][0]
    ended = [e for e in view.endings if e.at >= trained and _is_python(e) and e.program is not None]
    if not ended or ended[0].exit_code != 0 or ended[0].at > cause.at:
        return False
    return any(e.program != ended[0].program for e in ended)


def _is_python(ended: ProcessEnded) -> bool:
    return ended.name.startswith(("python", "pt_"))
