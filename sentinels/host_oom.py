"""The kernel killed a process because memory ran out.

Decides: The OOM kill counter of the control group rose. A process of this run that ended at about
    that time is the victim; if it was the main process, the run has failed. In a control group that
    several runs share, a kill concerns only a run that lost a process. Without a counter, a line of
    the kernel log counts if it names a process of this run. A group that is gone with its counter
    counts if it was nearly full when its process was killed: that is most likely. The engine of a
    container says it for certain (OOMKilled). In a finished log every line about such a kill is
    reported as it is.
Classes: cgroup_oom_kill host_oom_kill
Sources: The counter is read all the time, because exit status 137 is also caused by docker stop,
    preemption or a person; only the counter proves an OOM kill. Two seconds for reading it and 15 s
    around the kill are our choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import (
    ContainerSeen,
    Evidence,
    Finding,
    LogEvent,
    MemorySample,
    ProcessEnded,
    Sentinel,
    Severity,
    View,
)
from .kit.numbers import size
from .kit.recovery import OpenIncident, went_on
from .kit.vanished import engine_saw_kill, full_and_gone

CLASSES = ("cgroup_oom_kill", "host_oom_kill")


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.host_oom]`."""

    settle_s: float = 2.0
    """Time for the counter to be read before a log line alone is reported, and for the end of the
    killed process to be seen before a rise of the counter is."""
    near_s: float = 15.0
    """A process that ended this shortly before or after the counter rose is the one that was
    killed."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the cgroup's kill counter rose, or a log line reports an OOM kill."""
    rise = _rise(view)
    if rise and (not view.memory_shared or _victims(view, limits, *rise)):
        finding = _counted(view, limits, *rise)
        # The end of the victim may be seen after the counter rose, and with it that of the run.
        known = not view.live or view.ending is not None
        if known or view.now - rise[1].at >= limits.settle_s:
            yield finding
        return
    if view.live and rise is None:
        for ending in view.endings:
            if view.ending is None and view.now - ending.at < limits.settle_s:
                continue
            if view.container is not None and engine_saw_kill(view, ending):
                yield _by_engine(view, ending, view.container)
                return
            last = full_and_gone(view, ending)
            if last is not None:
                yield _likely(view, ending, last)
                return
    ours = [e for e in reversed(view.events) if _ours(view, e)]
    # the line that names limit and victim, before one that only says "Killed process"
    event = next((e for e in ours if e.role == "root"), ours[0] if ours else None)
    if event is None and not view.live:  # what comes before a kill, and no kill
        event = next((e for e in reversed(view.events) if e.trouble in CLASSES), None)
    if event is None or (view.live and view.now - event.at < limits.settle_s):
        return
    overcame = event.severity == "info" or view.went_on_after(event)
    if overcame and view.live:
        return
    yield Finding(
        trouble=event.trouble,
        key="oom_kill",
        severity=Severity.INFO if overcame else Severity.CRITICAL,
        fatal=not overcame and (not view.live or view.ending is not None),
        summary="the kernel killed a process because memory ran out",
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        details={**event.details, "how": "oom"},
    )


def _ours(view: View, event: LogEvent) -> bool:
    """True for a kill of this run; the kernel log has those of every process of the box."""
    if event.trouble not in CLASSES or event.severity == "info":
        return False
    pid = event.details.get("pid")
    return event.file != "kernel" or any(e.pid == pid for e in view.endings)


def _rise(view: View) -> tuple[MemorySample, MemorySample] | None:
    """The newest pair of samples between which the counter rose."""
    after: MemorySample | None = None
    for before in reversed(view.memory):
        if (
            after is not None
            and before.oom_kills is not None
            and after.oom_kills is not None
            and after.oom_kills > before.oom_kills
        ):
            return before, after
        after = before
    return None


def _victims(
    view: View, limits: Limits, before: MemorySample, after: MemorySample
) -> list[ProcessEnded]:
    """The processes of the run that may have been killed when the counter rose."""
    begin, end = before.at - limits.near_s, after.at + limits.near_s
    return [e for e in view.endings if begin <= e.at <= end and e.exit_code != 0]


def _counted(view: View, limits: Limits, before: MemorySample, after: MemorySample) -> Finding:
    kills = (after.oom_kills or 0) - (before.oom_kills or 0)
    dead = _victims(view, limits, before, after)
    main = any(e.main for e in dead)
    victim = next((e for e in dead if e.main), dead[0] if dead else None)
    who = "a process" if victim is None else f"process {victim.pid} {victim.name}".rstrip()
    who += _where(view)
    limit = "no limit" if after.limit_bytes is None else f"limit {size(after.limit_bytes)}"
    fate = "; the run has ended" if main else "; the run itself is still alive"
    later = None if main else view.ending
    ended = main or (later is not None and later.exit_code != 0 and later.at >= before.at)
    if later is not None:
        fate = "; the run has ended since" if ended else ""
    evidence = [
        Evidence(
            "cgroup",
            f"oom_kill {before.oom_kills} -> {after.oom_kills} in {after.cgroup} "
            f"({limit}, working set {size(before.working_set_bytes)} just before)",
            after.at,
        )
    ]
    evidence += [
        Evidence("process", f"pid {e.pid} {e.name} ended{_how(e)}".replace("  ", " "), e.at)
        for e in dead[:4]
    ]
    return Finding(
        trouble="cgroup_oom_kill" if after.limit_bytes is not None else "host_oom_kill",
        key="oom_kill",
        severity=Severity.CRITICAL,
        fatal=ended,
        summary=f"{who} was killed because memory ran out ({limit}){fate}",
        evidence=tuple(evidence),
        details={
            "count": kills,
            "limit_bytes": after.limit_bytes,
            "pid": victim.pid if victim else None,
            "main": main,
            "how": "oom",
        },
    )


def _likely(view: View, ending: ProcessEnded, last: MemorySample) -> Finding:
    """A finding about a group that is gone with its counter: it was full when a process was killed."""
    full = f"{size(last.working_set_bytes)} of {size(last.limit_bytes or 0)}"
    ended = view.ending is not None
    fate = "; the run has ended" if ended else "; the run itself is still alive"
    return Finding(
        trouble="cgroup_oom_kill",
        key="oom_kill",
        severity=Severity.CRITICAL,
        fatal=ended,
        summary=f"process {ending.pid} {ending.name}".rstrip()
        + f" was killed, most likely because memory ran out: its control group had {full} in use"
        + fate,
        evidence=(
            Evidence("cgroup", f"{last.cgroup}: {full} in use; the group is gone since", last.at),
            Evidence("process", f"pid {ending.pid} {ending.name} ended{_how(ending)}", ending.at),
        ),
        details={
            "limit_bytes": last.limit_bytes,
            "pid": ending.pid,
            "main": ending.main,
            "how": "oom",
        },
    )


def _by_engine(view: View, ending: ProcessEnded, box: ContainerSeen) -> Finding:
    """A finding about a kill that the engine of the container saw."""
    limit = f" (limit {size(box.limit_bytes)})" if box.limit_bytes else " (no limit)"
    ended = view.ending is not None
    fate = "; the run has ended" if ended else "; the run itself is still alive"
    return Finding(
        trouble="cgroup_oom_kill" if box.limit_bytes else "host_oom_kill",
        key="oom_kill",
        severity=Severity.CRITICAL,
        fatal=ended,
        summary=f"process {ending.pid} {ending.name}".rstrip()
        + f"{_where(view)} was killed because memory ran out{limit}{fate}",
        evidence=(
            Evidence("cgroup", f"docker: container {box.name} was OOMKilled", box.oom_at),
            Evidence("process", f"pid {ending.pid}{_named(ending)} ended{_how(ending)}", ending.at),
        ),
        details={
            "limit_bytes": box.limit_bytes,
            "pid": ending.pid,
            "main": ending.main,
            "how": "oom",
            "container": box.name,
        },
    )


def _named(ending: ProcessEnded) -> str:
    return f" {ending.name}" if ending.name else ""


def _where(view: View) -> str:
    return "" if view.container is None else f" in container {view.container.name}"


def _how(ending: ProcessEnded) -> str:
    if ending.signal is not None:
        return f" by signal {ending.signal}"
    return "" if ending.exit_code is None else f" with status {ending.exit_code}"


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once training went on without another kill."""
    on = went_on(view, case)
    return on and f"no further process was killed, and {on}"


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(MemorySample, LogEvent, ProcessEnded),
    clears_after_s=600.0,
    recovered=recovered,
)
