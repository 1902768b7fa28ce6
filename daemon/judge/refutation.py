"""How a trouble ended, and what shows that it was told wrongly: later evidence decides."""

from __future__ import annotations

from itertools import pairwise

from middlewatch.sentinels.kit import View
from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.numbers import number, span

from .incidents import Incident


def outcome(incident: Incident, view: View) -> str:
    """Why an incident that is over is over, in words for a push; empty when nobody knows."""
    if not row(incident.trouble).standstill:
        return ""
    if view.ending is not None:
        return "the run has ended"
    for (before, _), (after, step) in pairwise(view.step_times):
        if after > incident.opened_at:
            return f"it went on by itself after {span(after - before)}; step {number(step)} now"
    return ""


def refuted(incident: Incident, view: View) -> str:
    """What contradicts an open incident that its rule no longer tells; empty when nothing does.

    Such an incident is closed at once: it was never true, so there is nothing to wait for.
    """
    ending = view.ending
    if incident.trouble == "silent_end" and ending is not None and ending.exit_code == 0:
        return "its exit status came late: it is 0, and the run reached its end"
    return ""
