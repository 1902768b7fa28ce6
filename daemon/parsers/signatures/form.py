"""The form of a signature: how a line of text is known to speak of a trouble."""

from __future__ import annotations

from dataclasses import dataclass

from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.observations import Role, SeverityName


@dataclass(frozen=True, slots=True)
class Signature:
    """One row of knowledge.

    ``pattern`` is searched in the cleaned line without its rank prefix. Named groups become
    details: ``rank gpu xid exitcode signal pid count`` as integers, ``requested`` as
    ``requested_bytes``, others as text.
    """

    id: str
    trouble: str
    """Class of the closed vocabulary; UnknownClass is raised for one that has no row there."""
    pattern: str
    atoms: tuple[str, ...]
    """Lower-case texts without digits, one of which is in every line that matches: only
    lines (in lower case) with one of them meet the pattern."""
    hits: tuple[str, ...]
    """Lines that must match: the wording, not copies of anybody's log."""
    misses: tuple[str, ...]
    """Lines that look alike and must not match."""
    role: Role = "root"
    severity: SeverityName = "critical"
    fatal: bool = True
    frameworks: tuple[str, ...] = ()
    """Programs that print it, where it is not everybody's."""
    versions: str = ""
    """Releases that word it so, where wordings changed: ``torch < 2.5``."""
    source: str = ""
    """Where the wording is from: a source file, a manual, a public issue."""

    def __post_init__(self) -> None:
        row(self.trouble, f"the signature {self.id}")
