"""Which trouble is the cause and which the symptom, when several come together.

What is known of a class stands in its row; the order is that of its groups. A cause explains
what stands below it; forecasts explain nothing and are explained only by what they foretold.
"""

from __future__ import annotations

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.classes import Group, row, which

JOIN_S = 120.0
"""Findings on one run within two minutes of each other are one trouble
(measured policy: symptoms follow their cause within that time)."""

FORECASTS = which(lambda c: c.forecasts)


def cause_rank(trouble: str) -> int:
    """Place in the order of causes; a smaller number is nearer to the root. Raises UnknownClass."""
    return row(trouble).rank


def linked(cause: str, symptom: str) -> bool:
    """True where one class explains the other whenever both are open."""
    known = row(symptom)
    return cause in known.part_of or cause in known.forecasts


def explains(
    cause: str, cause_severity: Severity, symptom: str, severity: Severity, key: str, *, near: bool
) -> bool:
    """True when what is told of ``cause`` tells ``symptom`` too.

    ``near``: they came within :data:`JOIN_S` of each other.
    """
    if linked(cause, symptom):
        return True
    above, below = row(cause), row(symptom)
    if not near or above.forecasts or below.forecasts:
        return False
    if above.group is Group.SAVE or (below.group is Group.SAVE and not above.hardware):
        return symptom == cause
    if symptom in above.explains_not or cause_severity is not Severity.CRITICAL:
        return False
    if severity is Severity.CRITICAL:
        return above.rank <= below.rank
    if symptom == "blind" and key.startswith("self:"):
        return False  # a rule of ours is broken: nothing on the box explains that
    if below.numbers and not (above.numbers or above.hardware):
        return False
    return symptom == cause or (below.fallout and above.rank < below.rank)


def ends_hang(trouble: str) -> bool:
    """True for what shows that a run does not stand still any more: see :attr:`Group.ends_hang`."""
    return row(trouble).group.ends_hang
