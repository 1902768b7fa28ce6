"""The form of a signature: how a line of text is known to speak of a trouble."""

from __future__ import annotations

from dataclasses import dataclass

from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.observations import Role, SeverityName


@dataclass(frozen=True, slots=True)
class Signature:
    """One row of knowledge.

    ``pattern`` is searched in the cleaned line without its rank prefix, one wording to each line
    of source. Named groups become details: ``rank gpu xid exitcode signal pid count`` as
    integers, ``requested`` as ``requested_bytes``, others as text.
    """

    id: str
    trouble: str
    """Class of the closed vocabulary; UnknownClass is raised for one that has no row there."""
    pattern: str
    narrow: tuple[str, ...] = ()
    """Lower-case texts to look for where those taken from the pattern are in too many healthy
    lines; the walk over the pattern has to prove each (:mod:`..literals`)."""
    role: Role = "root"
    severity: SeverityName = "critical"
    fatal: bool = True
    source: str = ""
    """Where the wording is from: a source file, a manual, a public issue."""

    def __post_init__(self) -> None:
        row(self.trouble, f"the signature {self.id}")
