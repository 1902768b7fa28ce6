"""Whose stack would help to judge a silence: asked by the daemon before the rule decides."""

from __future__ import annotations

from typing import Protocol

from ..view import View
from .silence import SilenceLimits, case_of
from .stack_summary import unchanged
from .work import LOOKS, progress, trainers, work_of


class HangLimits(Protocol):
    """The limits of the rule ``hang`` that say when a silence is worth a closer look."""

    @property
    def floor_s(self) -> float:
        """Shortest silence that opens a case."""

    @property
    def evidence_s(self) -> float:
        """How long the processes are looked at."""

    @property
    def first_step_s(self) -> float:
        """Patience before the first steps."""

    @property
    def few_steps_s(self) -> float:
        """Patience while few intervals are known."""

    @property
    def busy_bytes_per_s(self) -> float:
        """Bytes read or written per second that count as working."""

    @property
    def phase_times(self) -> float:
        """How many times its longest a phase may take."""


def silence_limits(limits: HangLimits) -> SilenceLimits:
    """What of the limits says when a case opens."""
    return SilenceLimits(
        limits.floor_s, limits.first_step_s, limits.few_steps_s, limits.phase_times
    )


def suspects(view: View, limits: HangLimits) -> tuple[tuple[int, int | None], ...]:
    """(pid, rank) of every process whose stack would help to judge an open case.

    Nobody while anything of the run gets on. A process is left alone that works a little,
    that is stopped or waits for a disk, or whose stacks have shown that it gets on.
    """
    if not view.live or view.ending is not None:
        return ()
    case = case_of(view, silence_limits(limits))
    if not case.open:
        return ()
    work = work_of(view.process_samples, view.now, limits.evidence_s)
    since = view.now - case.silent_s
    look_s = limits.evidence_s / LOOKS
    if work is None or progress(view, work, since, look_s, limits.busy_bytes_per_s):
        return ()
    found = []
    for doing in trainers(view, work):
        one = doing.sample
        if one.state not in "RS" or not (doing.waits or doing.never_rests):
            continue
        taken = sum(s.pid == one.pid and s.at > since for s in view.stacks)
        if doing.never_rests and taken >= 3 and not unchanged(view, since, one.pid):
            continue
        found.append((one.pid, one.rank))
    return tuple(found)
