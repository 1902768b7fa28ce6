"""One line of the audit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One line of the audit."""

    what: str
    state: str
    """``ok``, ``warn``, ``bad`` or ``unknown``."""
    detail: str
