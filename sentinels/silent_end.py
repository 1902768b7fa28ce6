"""The run's process is gone, and nothing says why.

Decides: The main process ended with status 0 before its planned end, or its exit status is unknown;
    no fatal line explains it, and no other rule does. The boot id, process 1, the terminal and the
    remaining processes distinguish a reboot, a new container, a closed terminal and a kill.
Classes: silent_end
Sources: The planned number of steps is read from the log or the command line. The last report may
    be one logging interval before the end, hence 1 % of tolerance (our choice).
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
    """Seconds after the end in which counters and the last log lines may still arrive."""
    slack_ratio: float = 0.01
    """Part of the planned steps that may be missing at the end (the last logging interval)."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the main process ended without a known reason before its planned end."""
    ending = view.ending
    if not view.live or ending is None or view.now - ending.at < limits.settle_s:
        return
    known = ending.exit_code is not None or ending.signal is not None
    if known and ending.exit_code != 0:
        return  # crash reports it
    if any(_may_end(e) and not view.went_on_after(e) for e in view.events):
        return  # a line of its log explains it
    reached = view.last_step.number if view.last_step else None
    if reached is None and view.step_times:
        reached = view.step_times[-1][1]
    total = planned(view)
    if completed(view, limits.slack_ratio):
        return
    if known and (total is None or reached is None):
        return  # exit status 0, and it is not known that steps are missing
    gone = vanished(view, ending)
    if gone and (gone.notice or killed_for_memory(view, ending)):
        return  # crash or host_oom reports it
    how = "with exit status 0" if known else "with an unknown exit status"
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
        "box": "the boot id has changed since the run was last seen: the box was rebooted",
        "container": "process 1 has changed since the run was last seen: a new container",
        "session": "its terminal was closed within the same five seconds",
    }.get(ending.gone_with)
    if told:
        shown.append(Evidence("process", told, ending.at))
    return tuple(shown)


def _may_end(event: LogEvent) -> bool:
    """True for a line that another rule reports as the reason of the end."""
    return event.fatal and event.file != "kernel" and event.trouble not in DECIDED_BY_NUMBERS


SENTINEL = Sentinel(
    check, Limits(), on=(ProcessEnded, LogEvent), every_tick=True, clears_after_s=30.0
)
