"""Something that the run does again and again has turned into an error, and the run goes on.

Decides: A line that came beside the reports turn after turn (`uploaded epoch03.npz`) stays away, and in
    its place, as often, comes a line that says that the same thing failed. Or complaints count on without
    a gap (`skipping batch 26: …`, `skipping batch 27: …`) in a run that has reported before, with few
    reports between them: every batch fails, though bars and epochs go on.
Classes: recurring_error
Sources: Our choice: three turns with the one line, then three with the other. A retry that works, an
    error that comes beside the usual line, and what is left out on purpose (`not improved, skipped`)
    are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, LogGrowth, Sentinel, Severity, View
from .kit.line_signs import LineSigns
from .kit.recovery import OpenIncident
from .kit.trials import all_trials_fail

FEW = 10
"""Complaints for each report that may come between them: the sum of an epoch, say."""
RECENT_S = 120.0
"""Age in seconds of the newest of them up to which the row goes on."""
AGAIN = 20
"""Reports without a failure after which it works again."""
EACH = "each:"
"""What the key of an incident of a whole row begins with."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.recurring_error]`."""

    in_a_row: int = 30
    """Complaints that count on without a gap from which every batch fails. A search of the loss scale
    skips some twenty steps at the start."""
    times: int = 3
    """Turns in which the error must have come in the place of the other line; three at least."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding for each log in which an error has taken the place of a usual line."""
    if not view.live or all_trials_fail(view):
        return
    for growth in view.logs.values():
        signs = growth.signs
        if signs is None:
            continue
        if view.steps and view.now - signs.row_at <= RECENT_S and _all_fail(signs, limits):
            yield _each(growth, signs)
        if not signs.instead or signs.instead_times < limits.times:
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


def _all_fail(signs: LineSigns, limits: Limits) -> bool:
    return signs.row >= limits.in_a_row and signs.row_reports * FEW <= signs.row


def _each(growth: LogGrowth, signs: LineSigns) -> Finding:
    return Finding(
        trouble="recurring_error",
        key=f"{EACH}{growth.file}",
        severity=Severity.WARNING,
        summary=f"{signs.row} failures in a row, one after the other: {signs.row_text}",
        evidence=(Evidence("log", signs.row_text, signs.row_at),),
        file=growth.file,
        details={"times": signs.row},
        since=signs.row_since,
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the usual line came again."""
    growth = view.logs.get(case.key.removeprefix(EACH))
    if growth is None or growth.signs is None:
        return ""
    if case.key.startswith(EACH):
        began = [step.at for step in view.steps if step.values and step.at > case.quiet_since]
        again = len(began) >= AGAIN and growth.signs.row_at < began[0]
        return "reports come again without a failure between them" if again else ""
    if growth.signs.instead:
        return ""
    back = growth.signs.instead_of
    return f"it works again: {back}" if back and growth.grown_at > case.quiet_since else ""


SENTINEL = Sentinel(check, Limits(), on=(LogGrowth,), recovered=recovered)
