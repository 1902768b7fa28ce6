"""The run is gone and nothing says why.

Decides: the main process ended with status 0 before its planned end, or nobody saw its status; no
    fatal line tells why, and no other rule does. The boot id, process 1, the terminal and the
    processes that are left tell a reboot, a new container, a hang-up and a kill apart.
Classes: silent_end
Sources: the planned number of steps is read from the log or the command line; the last
    report may lag one logging interval behind the end, hence 1 % of slack (our choice).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, LogEvent, ProcessEnded, Sentinel, Severity, View
from .kit.classes import DECIDED_BY_NUMBERS
from .kit.numbers import number
from .kit.progress import completed, planned
from .kit.vanished import killed_for_memory, vanished

__all__ = ["SENTINEL", "Limits", "check", "completed", "planned"]


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.silent_end]`."""

    settle_s: float = 2.5
    """Seconds after the end in which last log lines and counters may still arrive."""
    slack_ratio: float = 0.01
    """Part of the planned steps that may be missing at the end (the last log interval)."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak when the main process ended without a reason and before its planned end."""
    ending = view.ending
    if not view.live or ending is None or view.now - ending.at < limits.settle_s:
        return
    known = ending.exit_code is not None or ending.signal is not None
    if known and ending.exit_code != 0:
        return  # crash tells it
    if any(_may_end(e) and not view.went_on_after(e) for e in view.events):
        return  # its log tells why
    reached = view.last_step.number if view.last_step else None
    if reached is None and view.step_times:
        reached = view.step_times[-1][1]
    total = planned(view)
    if completed(view, limits.slack_ratio):
        return
    if known and (total is None or reached is None):
        return  # exit status 0, and no plan that it fell short of
    gone = vanished(view, ending)
    if gone and (gone.notice or killed_for_memory(view, ending)):
        return  # crash or host_oom tells it
    how = "with exit status 0" if known else "and nobody saw its exit status"
    at = "before its first step" if reached is None else f"at step {number(reached)}"
    of = "" if total is None else f" of {number(total)}"
    yield Finding(
        trouble="silent_end",
        key="end",
        severity=Severity.CRITICAL,
        fatal=True,
        summary=(
            f"the run {gone.words} {at}{of}"
            if gone and gone.words
            else f"the run ended {at}{of} {how}, and nothing says why"
        ),
        remedy=gone.remedy if gone else "",
        evidence=_evidence(ending, how),
        details={
            "exitcode": ending.exit_code,
            "step": reached,
            "total": total,
            **({"how": gone.how} if gone else {}),
        },
    )


def _evidence(ending: ProcessEnded, how: str) -> tuple[Evidence, ...]:
    shown = [Evidence("process", f"pid {ending.pid} is gone {how}", ending.at)]
    told = {
        "box": "the boot id is another one than when the run was last seen",
        "container": "process 1 is another one than when the run was last seen",
        "session": "its terminal was closed within the same five seconds",
    }.get(ending.gone_with)
    if told:
        shown.append(Evidence("process", told, ending.at))
    return tuple(shown)


def _may_end(event: LogEvent) -> bool:
    """True for a line that another rule tells as the end."""
    return event.fatal and event.file != "kernel" and event.trouble not in DECIDED_BY_NUMBERS


SENTINEL = Sentinel(
    check, Limits(), on=(ProcessEnded, LogEvent), every_tick=True, clears_after_s=30.0
)
