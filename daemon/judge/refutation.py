"""How a trouble ended, and whether later evidence shows that there never was one."""

from __future__ import annotations

from itertools import pairwise

from middlewatch.sentinels.kit import View
from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.numbers import number, span

from .incidents import Incident


def outcome(incident: Incident, view: View) -> str:
    """How a resolved trouble ended, as text for a push; empty when that is not known."""
    if not row(incident.trouble).standstill:
        return ""
    if view.ending is not None:
        return "the run has ended"
    for (before, _), (after, step) in pairwise(view.step_times):
        if after > incident.opened_at:
            return f"it went on by itself after {span(after - before)}; step {number(step)} now"
    return ""


def refuted(incident: Incident, view: View) -> str:
    """The evidence that an open incident was never true, as text; empty when there is none.

    For incidents that their sentinel no longer reports. One that is refuted is resolved at once,
    not after the usual seconds without a finding.
    """
    ending = view.ending
    if incident.trouble == "silent_end" and ending is not None and ending.exit_code == 0:
        return "its exit status arrived late: it is 0, and the run reached its end"
    return ""
