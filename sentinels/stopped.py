"""A process of the run is paused by a signal, or its container is paused.

Decides: A process was in state T in every look of the last seconds, or the engine of its container
    says that it is paused. The run may have paused a process by itself, as a scheduler does that lets an urgent job go first: then the run has started a process
    since that works, another one that was stopped goes on, or lines keep coming into its logs. That
    is told after a hundred seconds.
Classes: stopped
Sources: State T is visible within one sample. Ten seconds, because a debugger that attaches stops a
    process for a moment; a hundred for a job that goes before (our choice), as samples of
    processes are kept for two minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import (
    ContainerSeen,
    Evidence,
    Finding,
    ProcessesSeen,
    Sentinel,
    Severity,
    View,
)
from .kit.forecast import clock
from .kit.numbers import span
from .kit.recovery import OpenIncident

PAUSE = "pause"
"""Key of the finding about a container."""
TURN_S = 3.0
"""Seconds before a stop in which the process whose turn it is next was still stopped: two looks, and
what a busy box adds."""

LOADED_S = 0.15
"""CPU seconds that a program has used at least when it has loaded its libraries: `import numpy` takes
as much, a shell that waits a hundredth of it."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.stopped]`."""

    for_s: float = 10.0
    """How long a process must be in state T, or its container paused; debuggers stop a process for a
    moment only, `docker commit` a container for some seconds."""
    instead_s: float = 100.0
    """The same while the run does something else instead."""
    busy_cores: float = 0.01
    """CPU cores from which a process that was started since does something."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if a process was in state T in every look of the last ``for_s`` seconds, or its
    container is paused for as long."""
    if view.live and view.ending is None and view.container is not None and view.paused:
        yield from _paused(view, limits, view.container)
        return
    if not view.live or not view.process_samples:
        return
    newest = view.process_samples[-1]
    since: dict[int, float] = {}
    still = {p.pid for p in newest.processes if p.state == "T"}
    for look in reversed(view.process_samples):
        if not still:
            break
        still &= {p.pid for p in look.processes if p.state == "T"}
        since.update(dict.fromkeys(still, look.at))
    standing = {pid: newest.at - at for pid, at in since.items()}
    long = sorted(pid for pid, s in standing.items() if s >= limits.for_s)
    if not long:
        return
    by_design = _still_logs(view, limits, min(since.values())) or _works_instead(
        view, limits, since
    )
    if by_design and max(standing.values()) < limits.instead_s:
        return
    pid = view.run.pid if view.run.pid in long else long[0]
    others = f" and {len(long) - 1} more" if len(long) > 1 else ""
    yield Finding(
        trouble="stopped",
        severity=Severity.CRITICAL,
        summary=f"process {pid}{others} is stopped (state T) for {span(standing[pid])}",
        evidence=tuple(
            Evidence("process", f"pid {p}: state T since {span(standing[p])}", newest.at)
            for p in long[:4]
        ),
        remedy=f"kill -CONT {' '.join(str(p) for p in long[:8])}",
        details={"pids": long},
    )


def _paused(view: View, limits: Limits, box: ContainerSeen) -> Iterator[Finding]:
    since = box.at if box.paused_at is None else box.paused_at
    if view.now - since < limits.for_s:
        return
    yield Finding(
        trouble="stopped",
        key=PAUSE,
        severity=Severity.CRITICAL,
        summary=f"its container {box.name} is paused (docker pause) for {span(view.now - since)}: "
        "nothing in it runs",
        evidence=(
            Evidence(
                "process",
                f"docker: container {box.name} is paused since {clock(since, view.now)}",
                box.at,
            ),
        ),
        remedy=f"ask who paused it; then let it go on: `docker unpause {box.name}`",
        details={"container": box.name},
        since=since,
    )


def _works_instead(view: View, limits: Limits, since: dict[int, float]) -> bool:
    """True when the run has started something after the stop that uses the CPU, or lets another of
    its processes go on that was stopped until then."""
    began = min(since.values())
    # It may be there in the first look at the stop: a second is long for who starts it.
    old = {p.pid for look in view.process_samples if look.at < began for p in look.processes}
    if not old:
        return False  # the stop is as old as the watch, or as what is kept of it
    looks = [look for look in view.process_samples if look.at >= began]
    stood = {
        p.pid
        for look in view.process_samples
        if began - TURN_S <= look.at < began
        for p in look.processes
        if p.state == "T"
    }
    if looks and any(p.pid in stood and p.state != "T" for p in looks[-1].processes):
        return True  # two that take turns: the other one went on when this one was stopped
    newest = looks[-1] if looks else None
    for p in newest.processes if newest else ():
        # Found up to five seconds after its start, so all that it has used counts.
        fresh = p.pid not in old and p.state != "T"
        if fresh and newest and p.cpu_s >= max(LOADED_S, limits.busy_cores * (newest.at - began)):
            return True
    return False


def _still_logs(view: View, limits: Limits, began: float) -> bool:
    """True while lines come: ranks and a main process that wait for the stopped one write none."""
    newest = max((log.grown_at for log in view.logs.values()), default=began)
    return newest > began and view.now - newest < limits.for_s


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the processes that were stopped run again."""
    if case.key == PAUSE:
        box = view.container
        runs = box is not None and box.at > case.quiet_since and box.status == "running"
        return f"the container {box.name} runs again" if box is not None and runs else ""
    stopped = case.details.get("pids")
    if not view.process_samples or not isinstance(stopped, (list, tuple)):
        return ""
    look = view.process_samples[-1]
    here = [p for p in look.processes if p.pid in stopped]
    if look.at <= case.quiet_since or not here or any(p.state in ("T", "t") for p in here):
        return ""
    return f"process {here[0].pid} runs again (state {here[0].state})"


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(ProcessesSeen, ContainerSeen),
    clears_after_s=5.0,
    recovered=recovered,
)
