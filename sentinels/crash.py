"""The program failed: an error in its log, a fatal signal, or a bad exit status.

Decides: The main process ended by a signal or with a bad exit status. The class is that of the
    first cause near the end (kit/first_cause.py: an error of the program, else the first rank that
    ended badly, else an error of a collective), else the one that the signal or exit status implies, with the error that the log ends with. Or a
    fatal error is in the log, and after it come no step, no further line and no end of the process.
    An error that was followed by two steps does not count, unless the run fails in a loop: the same
    exception for the third time, and no step beyond the first time. If a program of the run ended
    with an exception or was killed, and another one began after it from its beginning, that is a
    warning (kit/again.py), and so is a thread that an exception ended, if it was one of the program's own or what it
    counted stands still since (kit/frozen.py), and a worker that ended badly and is not replaced while the rest goes
    on (kit/lost_part.py). A container that may be taken away at any time and that gets SIGTERM is told at once
    (kit/taken_away.py).
Classes: python_exception segfault process_killed rank_failed sigterm_received interrupted
    nccl_error nccl_timeout gloo_error gloo_timeout cuda_device_assert cuda_illegal_access
    cuda_launch_failure cublas_error cudnn_error launch_error dataloader_worker_killed
    host_alloc_failed shm_exhausted rendezvous_failed ckpt_mismatch fd_exhausted io_error
    cuda_unavailable network_error preempted slurm_time_limit slurm_cancelled disk_error
    fs_error mce kernel_panic tracker_network_error tracker_write_failed
Sources: A shell reports signals as 128+n, and 126 and 127 if nothing was started. In the two
    seconds after the end, counters and the last log lines are still read, so that an out-of-memory
    kill is not reported as a kill by a person. Half a minute without a step, a line or the end of
    another process is the shortest time that libraries wait before they end other ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from .kit import (
    Evidence,
    Finding,
    LogEvent,
    MemorySample,
    ProcessEnded,
    Sentinel,
    Severity,
    View,
)
from .kit.again import (
    crash_loop,
    failed_part,
    killed_part,
    of_the_last_program,
    started_again,
    tolerated,
)
from .kit.caught import caught
from .kit.classes import row
from .kit.commands import of_a_command
from .kit.first_cause import KERNEL_S, SIGNALS, first_cause, in_its_place, kernel_fault
from .kit.frozen import gone_thread
from .kit.late_lines import ELSEWHERE, end_heard_at
from .kit.leaving import as_planned, left_at_its_limit, left_in_order, may_begin_again, time_is_over
from .kit.lost_part import LostPart, computes, lost_part
from .kit.numbers import number, pace, span
from .kit.on_purpose import on_purpose
from .kit.progress import completed
from .kit.recovery import OpenIncident, went_on
from .kit.taken_away import taken_away
from .kit.trials import trials_of
from .kit.troubles import Troubles, describe_event, last_exception, raised_then
from .kit.vanished import NOTICE_S, ended_by_command, killed_for_memory, vanished

_NEVER_STARTED = (126, 127)
TAKEN = "taken"
"""Key of the finding about a container that is taken away."""
THREADS = 4
"""Newest exceptions of threads that are looked at in every tick: some programs log one with every batch."""
TIMED_OUT = 124
"""Exit status of ``timeout`` (coreutils) when it has ended its command."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.crash]`."""

    settle_s: float = 2.0
    """Seconds after the end in which counters and the last log lines may still arrive."""
    near_s: float = 120.0
    """Errors at most this long before the end, or after the last step, may be its cause."""
    stuck_s: float = 30.0
    """A process that stays alive after a fatal error has failed if there was no log line and no
    step for this long; ten times as long before the first steps."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding about the end of the main process, or a fatal error that nothing followed."""
    if not view.live:
        troubles = view.accumulator(Troubles)
        if troubles is not None:
            yield from troubles.findings_of_log(but=ELSEWHERE)
        return
    ending = view.ending
    if ending is None:
        yield from _taken(view) or _inside(view, limits) or _stuck(view, limits)
    elif view.now - end_heard_at(view, ending) >= limits.settle_s:
        yield from _ended(view, limits, ending)


def _taken(view: View) -> list[Finding]:
    """A finding about a run that has to end now, as its container is taken away, and that still saves."""
    told = taken_away(view)
    if told is None or view.now - told.at > NOTICE_S:
        return []
    summary = "its container is taken away: it got SIGTERM, and has little time to save"
    return [_part(told, TAKEN, row(told.trouble).severity, summary, told.at)]


def _troubles(view: View, since: float) -> list[LogEvent]:
    """Events since ``since`` that were not followed by two steps: others were overcome."""
    return [
        e
        for e in view.events
        if e.at >= since
        and e.severity != "info"
        and e.file != "kernel"
        and not view.went_on_after(e)
        and not on_purpose(view, e.at, text=e.text)
        and not of_a_command(view, e)
    ]


def _ended(view: View, limits: Limits, ending: ProcessEnded) -> Iterator[Finding]:
    told, how = _manner(ending)
    limited = time_is_over(view, ending)
    if limited:
        told, how = "sigterm_received", "was ended by its time limit (`timeout`)"
    command = ended_by_command(view, ending)
    how += f" through `{command}`" if command else ""
    since = ending.at - limits.near_s
    if view.step_times:
        since = min(since, view.step_times[-1][0])
    events = of_the_last_program(_troubles(view, since))
    cause = first_cause(view, [e for e in events if _may_end(e, told)], limits.near_s)
    fault = kernel_fault(view, KERNEL_S)
    if fault and (cause is None or cause.trouble == "segfault"):
        cause = fault
    gone = vanished(view, ending)
    if gone and gone.notice and (cause is None or cause.at >= gone.notice.at):
        cause = gone.notice
    if (
        ending.exit_code == 0
        and cause is not None
        and (
            view.steps_after(cause.at, cause.line, cause.file)
            or tolerated(view, cause)
            or caught(view, ending, cause)
        )
    ):
        cause = None  # it was overcome: the run has reported once more, or did so earlier
    if ending.exit_code == 0 and cause is not None and left_in_order(view, cause):
        cause = None  # asked to leave, it has saved and ended well: the push about its end says so
    cause = cause or left_at_its_limit(view, ending)
    if ending.exit_code == 0 and (cause is None or completed(view) or trials_of(view)):
        yield from _inside(view, limits)
        return  # a good end, or one that silent_end reports
    if cause is None and ending.exit_code is None and ending.signal is None:
        return  # it is not known how it ended: silent_end reports that
    if told in ("", "process_killed") and cause is None and killed_for_memory(view, ending):
        return  # host_oom reports it more exactly
    trouble = told or "python_exception"
    others = told or cause or any(e.trouble in ELSEWHERE and e.at >= since for e in view.events)
    words = None if others else next((w for w in view.last_words.values() if w.error), None)
    if words:
        trouble = SIGNALS.get(words.signal or 0, (trouble, ""))[0]
    if gone and gone.how == "reboot" and not cause:
        summary = f"the run {gone.words}"
    elif words:
        summary = f"{words.error[:200]}; the run {how}"
    elif cause is None or told == "interrupted":
        summary = f"process {ending.pid} {how}"
    else:
        trouble = in_its_place(view, cause).trouble
        summary = f"{describe_event(cause)}{raised_then(view, cause)}; the run {how}"
    planned = as_planned(view, ending, told) if told == trouble else ""
    summary += planned
    if (step := view.last_step) is not None and step.number is not None:
        summary += f" after step {number(step.number)}"
    summary += f"; {gone.left} of its processes are still alive" if gone and gone.left else ""
    last = cause or (events[-1] if events else last_exception(view, since))
    details = {} if cause is None else {**cause.details, "rank": cause.rank}
    farewell = any(words.farewell for words in view.last_words.values())
    # It says that all is done, and its status agrees: what it has caught may have been no part of the plan.
    severity = Severity.WARNING if ending.exit_code == 0 and farewell else row(trouble).severity
    if may_begin_again(view, ending, cause, told):
        details["requeued"] = True
    status = {"exitcode": ending.exit_code, "signal": ending.signal, "how": gone and gone.how}
    status["limited"] = limited or None
    yield Finding(
        trouble=trouble,
        key="end",
        severity=Severity.INFO if planned else severity,
        fatal=True,
        summary=summary,
        evidence=(
            Evidence("process", f"pid {ending.pid} {how}", ending.at),
            *((Evidence("log", last.text, last.at),) if last else ()),
            *((Evidence("log", words.error, ending.at),) if words else ()),
        ),
        remedy=gone.remedy if gone and (cause is None or cause is gone.notice) else "",
        file=cause.file if cause else "",
        line=cause.line if cause else 0,
        details={**details, **{k: v for k, v in status.items() if v is not None}},
        replaces=("error", "loop", TAKEN),
    )


def _manner(ending: ProcessEnded) -> tuple[str, str]:
    """(class implied by the exit status, or "" if it implies none; how it ended, in words)."""
    code, signal = ending.exit_code, ending.signal
    if signal is None and code is None:
        return "", "is gone (its exit status is unknown)"
    if signal is None and code is not None and code - 128 in SIGNALS:
        return SIGNALS[code - 128]
    if signal is not None:
        return SIGNALS.get(signal, ("process_killed", f"was ended by signal {signal}"))
    if code == TIMED_OUT:
        return "sigterm_received", "was ended by its time limit (`timeout`, exit status 124)"
    return "launch_error" if code in _NEVER_STARTED else "", f"ended with exit status {code}"


def _may_end(event: LogEvent, told: str) -> bool:
    """True for errors that can be the reason why a process ended."""
    if event.trouble in ELSEWHERE:
        return False
    if told in ("", "launch_error") and event.trouble == "launch_error":
        return True
    return event.fatal or "exception" in event.details


def _stuck(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding about a fatal error after which the run neither continues nor ends."""
    since = _read_live(view, limits)
    fatal = (e for e in view.events if e.fatal and e.trouble not in ELSEWHERE and e.at >= since)
    if next(fatal, None) is None:
        return  # the usual case: no work in every tick of a healthy run
    told = [e for e in _troubles(view, since) if e.fatal and e.trouble not in ELSEWHERE]
    cause = first_cause(view, told, limits.near_s)
    if cause is None or view.steps_after(cause.at, cause.line, cause.file):
        return
    cause = in_its_place(view, cause)
    rhythm = pace(view.step_times)
    bad = [e for e in view.endings if e.at >= cause.at - limits.settle_s and _badly(e)]
    beside = bool(bad) and all(e.rank is None for e in bad) and computes(view, cause.at)
    died = bool(bad) and not beside
    slow = beside or started_again(view, cause.at) or not (died or rhythm)
    slow = slow or trials_of(view) is not None or left_in_order(view, cause)
    patience = 10 if slow else 1
    wait = max(limits.stuck_s * patience, 3 * rhythm.typical_s if rhythm else 0.0)
    heard = max(cause.at, view.grown_at or 0.0)
    if view.now - cause.at < wait or (not died and view.now - heard < limits.stuck_s):
        return  # a program that still logs has handled the error, or is not yet at its end
    lives = bool(view.process_samples and view.process_samples[-1].processes)
    stands = f"no step since {span(view.now - cause.at)}"
    stands = f"the run hangs: {stands}, its process is still alive" if lives else stands
    yield Finding(
        trouble=cause.trouble,
        key="error",
        severity=row(cause.trouble).severity,
        fatal=True,
        summary=f"{describe_event(cause)}; {stands}",
        evidence=(Evidence("log", cause.text, cause.at),),
        file=cause.file,
        line=cause.line,
        details={**cause.details, "rank": cause.rank},
    )


def _read_live(view: View, limits: Limits) -> float:
    """Epoch seconds from which lines are of this run: those that were in the log before it was read
    may be of an earlier one. An hour at most."""
    own = view.run.started_at if view.run.ours else view.run.watched_since + limits.settle_s
    return max(view.now - 3600, own)


def _inside(view: View, limits: Limits) -> list[Finding]:
    """A finding about a program that failed inside a run that goes on."""
    if not view.events and not view.endings:
        return []
    since = _read_live(view, limits)
    search = trials_of(view) is not None  # it ends trials, and goes on when one fails
    loop = None if search else crash_loop(view, since)
    if loop is not None:
        beyond = "" if loop.step is None else f", and no step beyond {number(loop.step)}"
        return [
            _part(
                in_its_place(view, loop.newest),
                "loop",
                Severity.CRITICAL,
                f"{describe_event(loop.newest)}: {loop.times} times in "
                f"{span(loop.newest.at - loop.first_at)}{beyond}; it is started again each time",
                loop.first_at,
            )
        ]
    dead = _dead_thread(view, since)
    if dead is not None:
        return [dead]
    event = None if search else failed_part(view, since, ELSEWHERE)
    if event is None:
        ended = None if search else killed_part(view, since)
        if ended is not None:
            return [_killed(ended)]
        lost = lost_part(view, since)
        return [] if lost is None else [_lost(lost)]
    told = f"{describe_event(event)}; the program has ended, and the run goes on with another one"
    return [_part(in_its_place(view, event), "part", Severity.WARNING, told, event.at)]


def _dead_thread(view: View, since: float) -> Finding | None:
    """A finding about a thread that an exception has ended: one of the program's own, or one whose count
    stands still since."""
    died = (e for e in reversed(view.events) if e.role == "confirmation" and _raised(e, since))
    for event in islice(died, THREADS):
        if gone := gone_thread(view, event):
            told = f"{describe_event(event)} has ended {gone}"
            return _part(event, "thread", Severity.WARNING, told, event.at)
    return None


def _raised(event: LogEvent, since: float) -> bool:
    mine = event.trouble not in ELSEWHERE
    return mine and event.at >= since and "exception" in event.details


def _killed(ended: ProcessEnded) -> Finding:
    """A finding about a part that was killed, and begins from its beginning."""
    trouble, how = SIGNALS[ended.signal or 9]
    who = f"process {ended.pid} {ended.name}".rstrip()
    return Finding(
        trouble=trouble,
        key="part",
        severity=Severity.WARNING,
        summary=f"{who} {how}; after it the steps begin from the beginning",
        evidence=(Evidence("process", f"pid {ended.pid} {how}", ended.at),),
        details={"pid": ended.pid, "signal": ended.signal},
        since=ended.at,
    )


def _lost(lost: LostPart) -> Finding:
    """A finding about a worker that ended badly, and that nobody started again."""
    ended, error = lost.ended, lost.error
    told, how = _manner(ended)
    who = f"process {ended.pid}, a worker of {lost.parent.name} (pid {lost.parent.pid}), {how}"
    why = f"{describe_event(error)}: " if error else ""
    on = "nothing of the run computes since" if lost.stands else "the run goes on without it"
    summary = f"{why}{who}; no other took its place, and {on}"
    severity = Severity.CRITICAL if lost.stands else Severity.WARNING
    finding = _part(error, "part", severity, summary, ended.at) if error else None
    return finding or Finding(
        trouble=told or "python_exception",
        key="part",
        severity=severity,
        summary=summary,
        evidence=(Evidence("process", f"pid {ended.pid} {how}", ended.at),),
        details={"pid": ended.pid, "signal": ended.signal, "exitcode": ended.exit_code},
        since=ended.at,
    )


def _part(event: LogEvent, key: str, severity: Severity, summary: str, since: float) -> Finding:
    return Finding(
        trouble=event.trouble,
        key=key,
        severity=severity,
        summary=summary,
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        details={**event.details, "rank": event.rank},
        since=since,
        replaces=("error",) if key == "loop" else (),
    )


def _badly(ending: ProcessEnded) -> bool:
    """True for the end of a rank, or of a child with a bad status; other ends are normal."""
    known = ending.signal is not None or ending.exit_code is not None
    return ending.exit_code != 0 and (ending.rank is not None or known)


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once a run that stood after a fatal error, or failed in a loop, makes steps again; an
    end is for good."""
    return went_on(view, case) if case.key in ("error", "loop", TAKEN) else ""


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(LogEvent, ProcessEnded, MemorySample),
    every_tick=True,
    clears_after_s=30.0,
    recovered=recovered,
)
