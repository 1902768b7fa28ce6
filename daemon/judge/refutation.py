"""Whether later evidence shows that there never was a trouble."""

from __future__ import annotations

from middlewatch.sentinels.kit import View

from .incidents import Incident


def refuted(incident: Incident, view: View) -> str:
    """The evidence that an open incident was never true, as text; empty when there is none.

    For incidents that their sentinel no longer reports. One that is refuted is resolved at once,
    not after the usual seconds without a finding.
    """
    ending = view.ending
    if incident.trouble == "silent_end" and ending is not None and ending.exit_code == 0:
        return "its exit status arrived late: it is 0, and the run reached its end"
    return ""
