"""The run's process is gone, and nothing says why.

Decides: The main process ended with status 0 or with a status that nobody saw, and neither its
    counters nor its last words show that it meant to: the plan was not reached, no early stop, no
    end and no result was announced. It is critical where evidence shows that the run was cut off (a
    reboot, a new container, a closed terminal, workers left behind), or where it exited with 0
    clearly before its plan without a word; else it is a warning that says what was seen. A finished log that
    stops clearly before its plan is a note: it may be a copy of one that still grows.
Classes: silent_end
Sources: The planned number of steps is read from the log or the command line. The last report may
    be one logging interval before the end, hence 1 % of tolerance (our choice).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, LogEvent, ProcessEnded, Sentinel, Severity, View
from .kit.classes import DECIDED_BY_NUMBERS
from .kit.ends import NEARLY, counted, end_of, last_line, place
from .kit.first_cause import KERNEL_S, kernel_fault
from .kit.numbers import number
from .kit.progress import completed, planned
from .kit.vanished import ended_by_command, killed_for_memory, vanished

__all__ = ["SENTINEL", "Limits", "check", "completed", "planned"]


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.silent_end]`."""

    settle_s: float = 2.5
    """Seconds after the end in which counters and the last log lines may still arrive."""
    slack_ratio: float = 0.01
    """Part of the planned steps that may be missing at the end (the last logging interval)."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the main process ended without a known reason, and not as it meant to."""
    ending = view.ending
    if not view.live:
        yield from _cut(view)
        return
    if ending is None or view.now - ending.at < limits.settle_s:
        return
    known = ending.exit_code is not None or ending.signal is not None
    if known and ending.exit_code != 0:
        return  # crash reports it
    if any(_may_end(e) and not view.went_on_after(e) for e in view.events):
        return  # a line of its log explains it
    if kernel_fault(view, KERNEL_S):
        return  # crash reports it
    end = end_of(view, ending, limits.slack_ratio)
    if end.well:
        return
    gone = vanished(view, ending)
    if gone and (gone.notice or killed_for_memory(view, ending)):
        return  # crash or host_oom reports it
    reached, total = counted(view)
    where, line = place(view), last_line(view)
    how = "with exit status 0" if known else "with an unknown exit status"
    at = f"at {where}" if where else "before its first step"
    command = ended_by_command(view, ending)
    if gone and gone.words:
        summary = f"the run {gone.words} {at}"
    elif known:
        why = f" through `{command}`" if command else ", and nothing says why"
        summary = f"the run ended {at} {how}" + (f"; {end.why}" if end.why else why)
    else:
        after = f" after {where}" if where else "" if line else " before its first step"
        summary = f"the process is gone{after}; its exit status is not known"
        summary += f"; {end.why}" if end.how == "cut" else ""
        summary += f"; last line: {line[:100]}" if line else ""
    yield Finding(
        trouble="silent_end",
        key="end",
        severity=Severity.CRITICAL if end.how in ("cut", "early") else Severity.WARNING,
        fatal=True,
        summary=summary,
        remedy=gone.remedy if gone else "",
        evidence=_evidence(ending, how, line),
        details={
            "exitcode": ending.exit_code,
            "step": reached,
            "total": total,
            **({"how": gone.how} if gone else {}),
        },
    )


def _cut(view: View) -> Iterator[Finding]:
    """A note about a finished log that stops before its plan: it may be a copy of one that goes on."""
    words = next(iter(view.last_words.values()), None)
    reached, total = (words and words.counted) or counted(view)
    if not view.ended or words is None or words.farewell or reached is None or total is None:
        return
    if reached >= NEARLY * total or any(
        _may_end(e) and not view.went_on_after(e) for e in view.events
    ):
        return
    yield Finding(
        trouble="silent_end",
        key="end",
        severity=Severity.INFO,
        summary=f"the log stops at {number(reached)} of {number(total)}, and nothing says why",
        evidence=(Evidence("log", words.last_line, view.now),),
        line=words.line,
        details={"step": reached, "total": total},
    )


def _evidence(ending: ProcessEnded, how: str, line: str) -> tuple[Evidence, ...]:
    shown = [Evidence("process", f"pid {ending.pid} is gone {how}", ending.at)]
    told = {
        "box": "the boot id has changed since the run was last seen: the box was rebooted",
        "container": "process 1 has changed since the run was last seen: a new container",
        "session": "its terminal was closed within the same five seconds",
    }.get(ending.gone_with)
    if told:
        shown.append(Evidence("process", told, ending.at))
    if line:
        shown.append(Evidence("log", line, ending.at))
    return tuple(shown)


def _may_end(event: LogEvent) -> bool:
    """True for a line that another rule reports as the reason of the end."""
    return event.fatal and event.file != "kernel" and event.trouble not in DECIDED_BY_NUMBERS


SENTINEL = Sentinel(
    check, Limits(), on=(ProcessEnded, LogEvent), every_tick=True, clears_after_s=30.0
)
