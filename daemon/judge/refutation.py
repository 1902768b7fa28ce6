"""Whether later evidence shows that there never was a trouble."""

from __future__ import annotations

from middlewatch.sentinels.kit import View

from .incidents import Incident

SETTLED_S = 5.0
"""Seconds after an end from which its rule has seen what it waits for (it waits 2 s), so that its silence
says something. A restarted daemon sees the end again and its rule is quiet for as long. Our choice."""


def refuted(incident: Incident, view: View) -> str:
    """The evidence that an open incident was never true, as text; empty when there is none.

    For incidents that their sentinel no longer reports. One that is refuted is resolved at once,
    not after the usual seconds without a finding.
    """
    ending = view.ending
    if incident.trouble != "silent_end" or ending is None or ending.exit_code != 0:
        return ""
    if incident.details.get("exitcode") is not None:
        return ""  # it was known already when the incident was opened
    if view.now - ending.at < SETTLED_S:
        return ""
    return "its exit status arrived late: it is 0, and the run reached its end"
