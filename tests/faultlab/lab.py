"""The vocabulary of the fault laboratory: what a row is, and what came of it.

A row is a real process in real trouble. ``arrange`` starts it on a bench; the program itself
reports the moment the trouble begins. A watcher is then judged by what it tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .bench import Bench

Kind = Literal["fault", "control", "against_us"]
Severity = Literal["note", "warning", "page"]
State = Literal["judged", "not run", "broken"]

RANK: dict[str, int] = {"note": 0, "warning": 1, "page": 2}
DELIVERY_S = 5.0
"""The way to the phone: the daemon looks once a second, and a push starts a child process."""
T1_S = 60.0
"""Silence that opens a case at the shipped defaults, once eight steps were seen."""
CORRECTION_S = 120.0
"""Time in which a first verdict may still be corrected."""
INTERRUPTED = "interrupted"


class NotRun(Exception):
    """This machine cannot make this trouble; never counted as passed."""


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    ``classes`` are the right verdicts, ``also`` true ones that may come with them. ``cause`` is
    searched in what was told, ``remedy`` in its first step (regular expressions, any case).
    ``deadline_s`` counts from the moment of injection to the arrival. A control has no classes.
    """

    number: str
    name: str
    arrange: Callable[[Bench], None]
    kind: Kind = "fault"
    classes: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    cause: str = ""
    remedy: str = ""
    least: Severity = "page"
    most: Severity = "page"
    deadline_s: float = 60.0
    after_s: float = 8.0
    """Time after the right alarm in which a second one may still come."""
    length_s: float = 0.0
    """How long a control is watched, from the start of its program."""
    weight: float = 0.1
    """Cores it burns, for the number of rows at the same time."""
    begins_within_s: float = 120.0
    """Time from the start of the program to the injection."""
    lives_on: bool = True
    """The program is still there in the end (else a push about its good end may come)."""

    @property
    def patience_s(self) -> float:
        """How long after the injection a late alarm still counts as found."""
        return self.deadline_s * 1.5 + 20


@dataclass(frozen=True)
class Alarm:
    """Something a watcher told. ``trouble`` is its class in the vocabulary of middlewatch.

    ``severity`` ``page`` wakes people; ``note`` is something that was only written down. A
    ``good`` one (resolved, finished) never counts against its watcher.
    """

    at: float
    severity: Severity | Literal["good"]
    title: str
    body: str = ""
    trouble: str | None = None
    first_step: str = ""
    corrected_to: str | None = None
    """The class this verdict was corrected to later."""
    corrected_at: float = 0.0


@dataclass
class Outcome:
    """One row, run once under one watcher."""

    fault: Fault
    watcher: str
    repeat: int
    state: State = "judged"
    reason: str = ""
    begun: float = 0.0
    injected: float | None = None
    late: float | None = None
    """When it was too late, for rows whose program says so; else ``fault.deadline_s`` counts."""
    ended: float = 0.0
    alarms: list[Alarm] = field(default_factory=list)
