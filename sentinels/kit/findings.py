"""What a sentinel says: a Finding with evidence."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

LONGEST_SUMMARY = 300
"""Characters: a push shows the summary whole, in its title or its first line."""

EvidenceKind = Literal["log", "gpu", "cgroup", "disk", "process", "stack", "checkpoint"]


class Severity(enum.IntEnum):
    """How much a person has to care.

    ``CRITICAL`` wakes somebody: the run is lost, about to be, or burning money for
    nothing. ``WARNING`` waits for the morning. ``INFO`` is for the status page.
    """

    INFO = 0
    WARNING = 1
    CRITICAL = 2

    @property
    def label(self) -> str:
        """Lower-case name, as every JSON shape has it."""
        return self.name.lower()

    @classmethod
    def parse(cls, label: str) -> Severity:
        """The severity called ``label``; raises KeyError for any other word."""
        return cls[label.upper()]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing a person can check: a log line, a counter, a process state."""

    kind: EvidenceKind
    text: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement by one sentinel at one instant.

    ``trouble`` is the class of the closed vocabulary (``class`` in JSON); ``key`` tells
    apart two troubles of one class on one run (a mount, a rank) and must be stable, so
    that the same trouble stays one incident. ``file`` and ``line`` are where it first
    shows in a log; ``decided_line`` is where the reader could be sure.
    """

    trouble: str
    severity: Severity
    summary: str
    key: str = ""
    evidence: tuple[Evidence, ...] = ()
    fatal: bool = False
    remedy: str = ""
    """First step where the sentinel knows better than the page of its class. It is announced as
    safe: it ends, restarts and removes nothing."""
    file: str = ""
    line: int = 0
    decided_line: int = 0
    details: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep the summary one line, whatever a mount, a driver or a log said in it."""
        line = " ".join(self.summary.split())
        if len(line) > LONGEST_SUMMARY:
            line = line[: LONGEST_SUMMARY - 1] + "…"
        object.__setattr__(self, "summary", line)
