"""The form of a signature: a pattern of log text and the class of trouble that it shows."""

from __future__ import annotations

from dataclasses import dataclass

from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.observations import Role, SeverityName


@dataclass(frozen=True, slots=True)
class Signature:
    """One pattern of log text and what a match means.

    ``pattern`` is searched in the cleaned line without its rank prefix. Each wording has a line
    of its own in the source. Named groups become details: ``rank gpu xid exitcode signal pid
    count`` as integers, ``requested`` as ``requested_bytes``, others as text.
    """

    id: str
    trouble: str
    """Class of trouble (``sentinels/kit/classes.py``). Raises UnknownClass for any other."""
    pattern: str
    narrow: tuple[str, ...] = ()
    """Lower-case atoms to use in place of those derived from the pattern, where these are in too
    many healthy lines. Each must be part of the pattern, which :mod:`..literals` checks."""
    role: Role = "root"
    severity: SeverityName = "critical"
    fatal: bool = True
    source: str = ""
    """Where the wording comes from: a source file, a manual, a public issue."""

    def __post_init__(self) -> None:
        row(self.trouble, f"the signature {self.id}")
