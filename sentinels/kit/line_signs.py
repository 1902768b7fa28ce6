"""The observation of what lines without a step say about progress."""

from __future__ import annotations

from typing import NamedTuple


class LineSigns(NamedTuple):
    """What the lines of one log are about that report no step or metric, counted while it is
    followed live. Times are epoch seconds, 0 for never."""

    usual: int = 0
    """Lines of a shape that came before: the program says the same again."""
    usual_at: float = 0.0
    fresh: int = 0
    """Lines of a new shape."""
    fresh_at: float = 0.0
    """When the newest line came that is neither a complaint nor of a shape that comes between
    reports all the time (a thread that reports the memory, say)."""
    goes_on_at: float = 0.0
    """The time that the newest line names behind its own one (``paused, goes on at 06:00``); 0: none."""
    complaints: int = 0
    """Lines that say that something failed or was left out."""
    complaint_at: float = 0.0
    complaint: str = ""
    """The newest of them, at most 160 characters."""
    instead: str = ""
    """The newest line of an error that comes turn after turn in the place of another line; empty: none."""
    instead_times: int = 0
    instead_since: float = 0.0
    instead_of: str = ""
    """The line that came before in its place, as it came first; once it has come again, as it came then."""
    row: int = 0
    """Complaints of one shape that count on, one after the other: ``skipping batch 7``, ``skipping batch 8``."""
    row_reports: int = 0
    """Reports with values since the first of them."""
    row_since: float = 0.0
    row_at: float = 0.0
    row_text: str = ""
    """The newest of them."""
