"""What a sentinel reports: findings with evidence."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

LONGEST_SUMMARY = 300
"""Characters of a summary, so that a push shows it whole, in its title or its first line."""

EvidenceKind = Literal["log", "gpu", "cgroup", "disk", "process", "stack", "checkpoint"]


class Severity(enum.IntEnum):
    """How urgent a finding is.

    ``CRITICAL`` is worth waking a person: the run is lost, will soon be lost, or costs money for
    nothing. ``WARNING`` can wait for the morning. ``INFO`` is only for the status page.
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
    """One fact that a person can check: a log line, a counter, a process state."""

    kind: EvidenceKind
    text: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What one sentinel reports at one moment.

    ``trouble``: the class (``class`` in JSON). ``key``: distinguishes several troubles of one class
    on one run (such as a mount or a rank); it must stay the same for the same trouble, so that it
    remains one incident. ``file`` and ``line``: where the trouble first shows in a log.
    ``decided_line``: the line at which there was enough evidence.
    """

    trouble: str
    severity: Severity
    summary: str
    key: str = ""
    evidence: tuple[Evidence, ...] = ()
    fatal: bool = False
    remedy: str = ""
    """The first step to take, if the sentinel knows a better one than the page of the class. It is
    shown as safe, so it must not end, restart or remove anything."""
    file: str = ""
    line: int = 0
    decided_line: int = 0
    details: Mapping[str, object] = field(default_factory=dict)
    replaces: tuple[str, ...] = ()
    """Keys of earlier findings of the same rule that this one takes the place of: the rule knows
    more now, so what it said before is corrected, whatever the order of causes says."""
    place: str = ""
    """The part of the box that is in trouble, if it is no trouble of this run alone: ``mount:/data``,
    ``gpu:UUID``, ``cpu:CGROUP``, ``source:nvml``. What several runs report of one place is one
    incident of the box. Empty for a trouble of the run."""
    since: float | None = None
    """When the trouble began (epoch seconds), where that is known better than "now"."""

    def __post_init__(self) -> None:
        """Make the summary one line of limited length: it may quote a mount, a driver or a log."""
        line = " ".join(self.summary.split())
        if len(line) > LONGEST_SUMMARY:
            line = line[: LONGEST_SUMMARY - 1] + "…"
        object.__setattr__(self, "summary", line)
