"""The program failed: an error in its log, a fatal signal, or a bad exit status.

Symptom: a traceback, a fatal message of a library, or an exit status other than 0, and the
    process is gone or makes no step any more.
Confirm: read the first error of the first rank that failed; later ones are its fallout.
Cause: named by the class: an exception of the script, a CUDA or NCCL error, a rank that
    died, a kill by hand (137 without a kill counter), a segmentation fault.
Remedy:
    1. [safe] Read the evidence: the earliest root error, not the loudest.
    2. [safe] Check which checkpoint would be resumed from: `middlewatch checkpoints`.
    3. [costly] Mend the cause, then continue with the same launcher from that checkpoint.
Not: do not restart blindly in a loop; an error of the script comes back and is paid for.
Retry: only for causes from outside (a kill, a network error); never for the script's own.
Classes: python_exception segfault process_killed rank_failed sigterm_received interrupted
    nccl_error nccl_timeout gloo_error gloo_timeout cuda_device_assert cuda_illegal_access
    cuda_launch_failure cublas_error cudnn_error launch_error dataloader_worker_killed
    shm_exhausted rendezvous_failed ckpt_corrupt ckpt_mismatch fd_exhausted io_error
    cuda_unavailable network_error preempted slurm_time_limit slurm_cancelled
Sources: signals are 128+n in a shell; the two seconds after the end let counters and the
    last log lines arrive, so that a kill for memory is not told as a kill by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from .kit.numbers import pace, span

ELSEWHERE = frozenset(
    [
        "cuda_oom",
        "accel_oom",
        "cgroup_oom_kill",
        "host_oom_kill",
        "disk_full",
        "inode_exhausted",
        "quota_exceeded",
        "gpu_lost",
        "xid",
        "cuda_ecc",
        "nvswitch",
        "ckpt_write_failed",
        "loss_nan",
        "loss_inf",
        "val_loss_nan",
        "grad_nonfinite",
        "overflow_skip",
        "loss_scale_exhausted",
    ]
)
"""Classes that have a sentinel of their own, which knows more than the line."""

_SIGNALS = {
    9: ("process_killed", Severity.CRITICAL, "was killed (SIGKILL)"),
    11: ("segfault", Severity.CRITICAL, "crashed (SIGSEGV)"),
    7: ("segfault", Severity.CRITICAL, "crashed (SIGBUS)"),
    6: ("segfault", Severity.CRITICAL, "aborted (SIGABRT)"),
    15: ("sigterm_received", Severity.CRITICAL, "was ended from outside (SIGTERM)"),
    2: ("interrupted", Severity.WARNING, "was interrupted (SIGINT)"),
    1: ("process_killed", Severity.CRITICAL, "lost its terminal (SIGHUP)"),
}


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.crash]`."""

    settle_s: float = 2.0
    """Seconds after the end in which counters and last log lines may still arrive."""
    near_s: float = 120.0
    """Errors this close before the end may be its cause."""
    stuck_s: float = 30.0
    """A process that lives on after a fatal error and makes no step for this long failed."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak about the end of the main process, or a fatal error that nothing followed."""
    if not view.live:
        yield from _replayed(view)
        return
    ending = view.ending
    if ending is not None:
        if view.now - ending.at >= limits.settle_s and not _killed_for_memory(view, ending):
            yield from _ended(view, limits, ending)
        return
    yield from _stuck(view, limits)


def root(events: Sequence[LogEvent]) -> LogEvent | None:
    """The earliest fatal root; else the earliest root; else the earliest of all."""
    for wanted in (
        [e for e in events if e.role == "root" and e.fatal],
        [e for e in events if e.role == "root"],
        list(events),
    ):
        if wanted:
            return min(wanted, key=lambda e: (e.at, e.trouble == "python_exception", e.line))
    return None


def _troubles(view: View, since: float) -> list[LogEvent]:
    """Events that no two steps followed: what was overcome is no cause."""
    return [
        e
        for e in view.events
        if e.at >= since
        and e.severity != "info"
        and e.file != "kernel"
        and view.steps_after(e.at, e.line, e.file) < 2
    ]


def _ended(view: View, limits: Limits, ending: ProcessEnded) -> Iterator[Finding]:
    if ending.exit_code == 0:
        return
    events = _troubles(view, ending.at - limits.near_s)
    known = any(e.trouble in ELSEWHERE for e in events)
    cause = root([e for e in events if e.trouble not in ELSEWHERE])
    told = _SIGNALS.get(ending.signal or 0)
    if ending.signal is None and ending.exit_code is not None and ending.exit_code > 128:
        told = _SIGNALS.get(ending.exit_code - 128)
    if cause is None and known:
        return
    if cause is None and ending.exit_code is None and ending.signal is None:
        return  # nobody knows how it ended: silent_end tells that
    trouble, severity, how = told or ("python_exception", Severity.CRITICAL, _status(ending))
    if cause is not None and (told is None or cause.trouble != "process_killed"):
        trouble = cause.trouble
        summary = f"{_say(cause)}; the run {how}"
    else:
        summary = f"process {ending.pid} {how}"
    step = view.last_step
    if step is not None and step.number is not None:
        summary += f" after step {step.number:g}"
    yield Finding(
        trouble=trouble,
        key="end",
        severity=severity,
        fatal=True,
        summary=summary,
        evidence=(
            Evidence("process", f"pid {ending.pid} {how}", ending.at),
            *(Evidence("log", e.text, e.at) for e in ([cause] if cause else [])),
        ),
        file=cause.file if cause else "",
        line=cause.line if cause else 0,
        details={
            "exitcode": ending.exit_code,
            "signal": ending.signal,
            **(cause.details if cause else {}),
        },
    )


def _status(ending: ProcessEnded) -> str:
    if ending.signal is not None:
        return f"was ended by signal {ending.signal}"
    if ending.exit_code is None:
        return "is gone (nobody saw its exit status)"
    return f"ended with exit status {ending.exit_code}"


def _say(event: LogEvent) -> str:
    exception, message = event.details.get("exception"), event.details.get("message")
    if exception:
        text = f"{exception}: {message}" if message else str(exception)
    else:
        text = event.text.strip()
    where = "" if event.rank is None else f" (rank {event.rank})"
    return (text if len(text) <= 160 else text[:159] + "…") + where


def _killed_for_memory(view: View, ending: ProcessEnded) -> bool:
    """True when the kill counter rose around the end: host_oom tells it better."""
    near = [m for m in view.memory if abs(m.at - ending.at) <= 15 and m.oom_kills is not None]
    kills = [m.oom_kills for m in near if m.oom_kills is not None]
    return len(kills) > 1 and kills[-1] > kills[0]


def _stuck(view: View, limits: Limits) -> Iterator[Finding]:
    events = [e for e in _troubles(view, view.now - 3600) if e.fatal]
    cause = root([e for e in events if e.trouble not in ELSEWHERE])
    if cause is None:
        return
    rhythm = pace(view.step_times)
    wait = max(limits.stuck_s, 3 * rhythm.typical_s if rhythm else 0.0)
    if view.now - cause.at < wait or view.steps_after(cause.at):
        return
    yield Finding(
        trouble=cause.trouble,
        key="error",
        severity=Severity.CRITICAL,
        fatal=True,
        summary=f"{_say(cause)}; no step since {span(view.now - cause.at)}, the process still lives",
        evidence=(Evidence("log", cause.text, cause.at),),
        file=cause.file,
        line=cause.line,
        details=dict(cause.details),
    )


def _replayed(view: View) -> Iterator[Finding]:
    """Every class of an old log once, at its first line; overcome ones as a note."""
    for trouble in dict.fromkeys(e.trouble for e in view.events if e.trouble not in ELSEWHERE):
        events = [e for e in view.events if e.trouble == trouble]
        first = next((e for e in events if e.role == "root"), events[0])
        last = events[-1]
        overcome = view.steps_after(last.at, last.line, last.file) >= 2
        severity = Severity.INFO if overcome else Severity.parse(first.severity)
        yield Finding(
            trouble=trouble,
            key=trouble,
            severity=severity,
            fatal=first.fatal and not overcome,
            summary=_say(first),
            file=first.file,
            line=first.line,
            details={**first.details, "rank": first.rank, "count": len(events), "role": first.role},
        )


SENTINEL = Sentinel(
    check, Limits(), on=(LogEvent, ProcessEnded, MemorySample), every_tick=True, clears_after_s=30.0
)
