"""Something that the run does again and again has turned into an error, and the run goes on.

Decides: A line that came beside the reports turn after turn (`uploaded epoch03.npz`) stays away, and in
    its place, as often, comes a line that says that the same thing failed.
Classes: recurring_error
Sources: Our choice: three turns with the one line, then three with the other. A retry that works, an
    error that comes beside the usual line, and what is left out on purpose (`not improved, skipped`)
    are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, LogGrowth, Sentinel, Severity, View
from .kit.recovery import OpenIncident


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.recurring_error]`."""

    times: int = 3
    """Turns in which the error must have come in the place of the other line; three at least."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding for each log in which an error has taken the place of a usual line."""
    if not view.live:
        return
    for growth in view.logs.values():
        signs = growth.signs
        if signs is None or not signs.instead or signs.instead_times < limits.times:
            continue
        yield Finding(
            trouble="recurring_error",
            key=growth.file,
            severity=Severity.WARNING,
            summary=f"fails each time, {signs.instead_times} times so far: {signs.instead}",
            evidence=(
                Evidence("log", signs.instead, growth.at),
                Evidence("log", f"before it came instead: {signs.instead_of}"),
            ),
            file=growth.file,
            details={"times": signs.instead_times},
            since=signs.instead_since,
        )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the usual line came again."""
    growth = view.logs.get(case.key)
    if growth is None or growth.signs is None or growth.signs.instead:
        return ""
    back = growth.signs.instead_of
    return f"it works again: {back}" if back and growth.grown_at > case.quiet_since else ""


SENTINEL = Sentinel(check, Limits(), on=(LogGrowth,), recovered=recovered)
