"""The processes whose stacks help to judge a silence; the daemon takes them before the rule
decides."""

from __future__ import annotations

from typing import Protocol

from ..view import View
from .pools import pool_pids, waits_for_result
from .silence import SilenceLimits, case_of
from .stack_summary import unchanged
from .work import LOOKS, progress, trainers, work_of


class HangLimits(Protocol):
    """The limits of the rule ``hang`` that decide when stacks are taken."""

    @property
    def floor_s(self) -> float:
        """Shortest silence in seconds that is judged."""

    @property
    def evidence_s(self) -> float:
        """Seconds for which the processes are examined."""

    @property
    def first_step_s(self) -> float:
        """Seconds of silence that are allowed before the first steps."""

    @property
    def few_steps_s(self) -> float:
        """Seconds of silence that are allowed while few intervals are known."""

    @property
    def rendezvous_s(self) -> float:
        """Seconds that a new run may wait for the other processes of its job."""

    @property
    def busy_bytes_per_s(self) -> float:
        """Bytes read or written per second from which a run works."""

    @property
    def phase_times(self) -> float:
        """How many times as long as the longest one so far a phase may take."""


def silence_limits(limits: HangLimits) -> SilenceLimits:
    """The part of the limits that decides when a silence is judged."""
    return SilenceLimits(
        limits.floor_s,
        limits.first_step_s,
        limits.few_steps_s,
        limits.phase_times,
        limits.rendezvous_s,
    )


def suspects(view: View, limits: HangLimits) -> tuple[tuple[int, int | None], ...]:
    """(pid, rank) of every process whose stack would help to judge an open silence.

    None while any part of the run makes progress. Left out are processes that work a little, are
    stopped, wait for a disk, or make progress by the stacks that were taken already.
    """
    if not view.live or view.ending is not None:
        return ()
    case = case_of(view, silence_limits(limits))
    if not case.worth_a_look:
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
        if any(s.pid == one.pid and s.at > since and waits_for_result(s) for s in view.stacks):
            found += [(pid, None) for pid in pool_pids(work, doing)]
    return tuple(found)
