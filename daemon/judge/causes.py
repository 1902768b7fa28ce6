"""When several troubles come together: which one is the cause, and which are its symptoms.

The facts about a class are its row in ``sentinels/kit/classes.py``; the order of causes is that of
the class groups there. A cause explains the classes at its own place in the order and after it. A
forecast explains nothing, and only the trouble that it predicted explains it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.classes import Group, row, which

JOIN_S = 120.0
"""Seconds: findings on one run that are no further apart are one trouble. Our choice: longer than
it usually takes from a cause to its symptoms."""

FORECASTS = which(lambda c: c.forecasts)


def cause_rank(trouble: str) -> int:
    """Place in the order of causes; a smaller number is nearer to the root. Raises UnknownClass."""
    return row(trouble).rank


def linked(cause: str, symptom: str) -> bool:
    """True where one class explains the other whenever both are open."""
    known = row(symptom)
    return cause in known.part_of or cause in known.forecasts


LOGIC = frozenset(
    [
        *("KeyError", "IndexError", "LookupError", "TypeError", "AttributeError", "NameError"),
        *("UnboundLocalError", "AssertionError", "ZeroDivisionError", "NotImplementedError"),
        *("SyntaxError", "IndentationError", "ImportError", "ModuleNotFoundError"),
        "RecursionError",
    ]
)
"""Exceptions by which Python reports a mistake in a program: nothing outside of it raises them."""
_OF_FILES = re.compile(
    r"OSError|IOError|Errno|[Nn]o space|disk|quota|[Ww]rit|[Rr]ead-only|[Ff]ile|[Ss]torage|database"
)
"""A disk in trouble raises exceptions about files and writing."""


def can_raise(group: Group, details: Mapping[str, object]) -> bool:
    """Whether a trouble of this group can raise the exception that a finding reports.

    ``details``: those of the finding; ``exception`` and ``message`` are its Python name and text.
    """
    name = str(details.get("exception") or "").rpartition(".")[2]
    if not name or not group.outside:
        return True
    if group is Group.DISK:
        return bool(_OF_FILES.search(f"{name} {details.get('message') or ''}"))
    return name not in LOGIC


def explains(
    cause: str,
    cause_severity: Severity,
    symptom: str,
    severity: Severity,
    key: str,
    *,
    near: bool,
    details: Mapping[str, object] | None = None,
) -> bool:
    """True when a finding of class ``symptom`` belongs to an incident of class ``cause``.

    ``key`` and ``details``: those of the symptom's finding. ``near``: the two came within
    :data:`JOIN_S` of each other.
    """
    if linked(cause, symptom):
        return True
    above, below = row(cause), row(symptom)
    if not near or above.forecasts or below.forecasts or Group.OWN in (above.group, below.group):
        return False
    if above.group is Group.SAVE or (below.group is Group.SAVE and not above.hardware):
        return symptom == cause
    if symptom in above.explains_not or cause_severity is not Severity.CRITICAL:
        return False
    if symptom != cause and not above.group.can_cause(below.group):
        return False
    if below.group is Group.CRASH and not can_raise(above.group, details or {}):
        return False
    if severity is Severity.CRITICAL:
        return above.rank <= below.rank
    if symptom == "blind" and key.startswith("self:"):
        return False  # a sentinel is broken: no trouble of the run explains that
    if below.numbers and not (above.numbers or above.hardware):
        return False
    return symptom == cause or (below.fallout and above.rank < below.rank)


def ends_hang(trouble: str) -> bool:
    """True for a class that shows that a hanging run is gone or broken: :attr:`Group.ends_hang`."""
    return row(trouble).group.ends_hang
