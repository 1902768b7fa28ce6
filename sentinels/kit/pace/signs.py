"""The signs of progress of a run that reports no step numbers, and how its failures compare.

Progress is whatever a run usually shows: steps, else reports without a step (one per logging
interval, or one an epoch), else lines of the same shape. Each is a series of (time, count), as the
steps are a series of (time, step).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..accumulator import Accumulator
from ..line_signs import LineSigns
from ..observations import LogGrowth, Observation, Step
from .pauses import Pauses

KEPT = 128
"""Times kept of each series."""
AT_ONCE_S = 1.0
"""Seconds within which reports and lines count once: what is read at one instant is one sign."""

Marks = list[tuple[float, float]]


SPEAKS_S = 30.0
"""Seconds before the newest complaint in which another log must have grown to count beside it. Our choice."""


class ReportPauses(Pauses):
    """:class:`.Pauses` between reports without a step, which are counted instead."""

    stored_as = "report_pauses"
    _count: int = 0

    def add(self, seen: Observation) -> None:
        """Take in a phase, or the pause that a report ends."""
        if isinstance(seen, Step):
            if seen.number is not None or not shows_training(seen):
                return
            self._count += 1
            seen = seen._replace(number=float(self._count))
        super().add(seen)


@dataclass(eq=False)
class Signs(Accumulator):
    """When reports without a step and usual lines came, and what failed since."""

    takes: ClassVar[tuple[type, ...]] = (Step, LogGrowth)
    SAVED: ClassVar[Any] = {"reports": "reports", "lines": "lines"}
    reports: Marks = field(default_factory=list)
    """(epoch seconds, count) of the newest reports without a step."""
    lines: Marks = field(default_factory=list)
    """(epoch seconds, count) of the newest usual lines without a report."""
    reported_at: float | None = None
    """Time of the newest report without a step that had values."""
    _number: float | None = None
    _by_file: dict[str, LineSigns] = field(default_factory=dict)
    _then: dict[str, LineSigns] = field(default_factory=dict)
    """What was counted in each log when the newest step or report came."""

    @property
    def quiet(self) -> bool:
        """Always True: it only sets limits, and is never a reason to call a rule."""
        return True

    def add(self, seen: Observation) -> None:
        """Take in a report, or what was counted of the lines of a log."""
        if isinstance(seen, Step):
            self._step(seen)
        elif isinstance(seen, LogGrowth) and seen.signs is not None:
            before = self._by_file.get(seen.file)
            self._by_file[seen.file] = seen.signs
            if before is not None and seen.signs.usual > before.usual:
                _mark(self.lines, seen.signs.usual_at)

    def _step(self, seen: Step) -> None:
        if seen.number is None:
            if not shows_training(seen):
                return
            _mark(self.reports, seen.at)
            if seen.values:
                self.reported_at = seen.at
        elif seen.number == self._number:
            return
        else:
            self._number = seen.number
        if seen.values or seen.number is not None:
            self._then = dict(self._by_file)

    @property
    def goes_on_at(self) -> float:
        """The latest time at which the run goes on, by the newest line of a log; 0 when none names one."""
        return max((signs.goes_on_at for signs in self._by_file.values()), default=0.0)

    def failures(self) -> tuple[int, int, float, str]:
        """(complaints, other lines, time of the newest complaint, its text) since the newest step
        or report, over all logs."""
        failed = other = 0
        last = max(
            self._by_file.values(), key=lambda signs: signs.complaint_at, default=LineSigns()
        )
        newest, text = last.complaint_at, last.complaint
        for file, signs in self._by_file.items():
            then = self._then.get(file, LineSigns())
            complaints = signs.complaints - then.complaints
            failed += complaints
            # a log that fell silent as the complaints began tells of the time before
            if complaints or max(signs.fresh_at, signs.usual_at) >= newest - SPEAKS_S:
                other += signs.fresh - then.fresh + signs.usual - then.usual
        return failed, other, newest, text

    def mark_gap(self) -> None:
        """The clock may have been set: the times mean nothing any more."""
        self.lines.clear()
        self.reports.clear()
        self.reported_at = None


def shows_training(seen: Step) -> bool:
    """True for a report that says how the training does, or which epoch it is in."""
    return bool(seen.values) or seen.epoch is not None


def _mark(series: Marks, at: float) -> None:
    if series and at - series[-1][0] < AT_ONCE_S:
        return
    series.append((at, series[-1][1] + 1.0 if series else 1.0))
    if len(series) > KEPT:
        del series[: KEPT // 2]
