"""Commands that a program runs and whose failure it handles: a solver that aborts, a tool that is missing.

They live for seconds, and the program goes on logging when they have failed.
"""

from __future__ import annotations

from .observations import LogEvent
from .view import View

SHORT_S = 10.0
"""Seconds that a command lives at most. Our choice: a worker that dies sooner has not begun to work."""
NEAR_S = 6.0
"""Seconds between its end and what it, or the program about it, has logged."""
HEARD_S = 5.0
"""Seconds after the error in which the program must still log."""


def of_a_command(view: View, event: LogEvent) -> bool:
    """True for an error of a command that has ended badly, after which the program has logged on.

    Some live too short to be seen at all: then others of them that ended badly since speak for it.
    """
    if (view.heard_at or 0.0) < event.at + HEARD_S:
        return False
    bad = [e for e in view.endings if e.at >= event.at - NEAR_S and (e.exit_code or e.signal)]
    if any(e.main or e.rank is not None for e in bad):
        return False
    return bool(bad) and all(e.lived_s is not None and e.lived_s < SHORT_S for e in bad)
