"""The processes of the run are alive, but it makes no progress.

Decides: First, silence: no step, and no phase that the log announced, for longer than this run ever
    paused. A run that reports no step is judged by what it shows instead: reports without a step,
    one line an epoch, or lines of the same shape. Then the activity of its processes decides: a run that uses CPU, reads or writes makes
    progress; one that does none of this hangs; one that is busy but at the same place in every
    stack spins. The stacks, or else the kernel functions in which the processes sleep, give the
    verdict: waiting in a collective (and for which rank), for data or for a lock, spinning, or
    idle. One that is in a single call of `sleep` all the time has asked for that pause itself: half an
    hour of it is a warning. So has one whose last line names a later time, and that only sleeps until then. A run in which every batch fails makes no progress either, however much it computes and
    writes; and one that has made no step and waits for the other processes of its job is told
    before the limit. Processes in state D, stopped processes, paused containers and finished runs have rules of their own. In a
    finished log only lines that report a hang count.
Classes: hang
Sources: Limits were measured on 79 real logs (457 run-hours): silence of the log alone gives a
    false alarm every 20 to 40 run-hours, so it only begins the check. The thresholds of activity
    (0.02 and 0.2 core, 1 MiB/s) come from a dozen real process states. Three looks five seconds
    apart, and the two limits for a spinning run, are our choice. That GPUs in a hanging collective
    show full utilisation at 20 to 40 % of their usual power is known from practice. The longest
    healthy silence was 17 min, hence 30 min for phases and first steps. Twenty complaints that
    are three quarters of all lines, and 8 KiB/s through sockets in every look, are our choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .kit import (
    Evidence,
    Finding,
    LogEvent,
    ProcessesSeen,
    ProcessSample,
    Sentinel,
    Severity,
    StackSeen,
    View,
)
from .kit.again import KILLS, Rounds, rounds
from .kit.numbers import number, span
from .kit.pace.failing import Failing, failing, gives_up
from .kit.pace.pauses import Pauses
from .kit.pace.signs import ReportPauses, Signs
from .kit.pace.silence import Silence, case_of, shows_again
from .kit.pace.stack_summary import describe_groups, folded, stack_summaries
from .kit.pace.suspects import silence_limits
from .kit.pace.verdicts import HangVerdict, asks, idle_verdict, spin_verdict
from .kit.pace.work import (
    RunActivity,
    gpus_spinning,
    progress,
    starved,
    trainers,
    work_of,
)
from .kit.progress import completed
from .kit.recovery import OpenIncident, moves_again
from .kit.trials import all_trials_fail
from .kit.troubles import Troubles, describe_event, last_exception

CLASSES = ("hang",)
REASONS = ("shm_exhausted", "fd_exhausted", "host_alloc_failed", "cuda_oom", "disk_full")
"""Classes of an exception right before a silence that say all: a worker or a thread failed with it, its batch is lost,
and the others wait for that."""
BEFORE_S = 10.0
"""Seconds before a silence in which an exception may be the reason of it: a last step or two still
come from what was in a queue. Our choice."""
LONGEST_LOOK_S = 100.0
"""Most seconds of process samples that are judged at once; two minutes of them are kept."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.hang]`."""

    floor_s: float = 50.0
    """Shortest silence that opens a case. Our choice: a hang is then told within a minute of the last step."""
    evidence_s: float = 15.0
    """How long the processes are looked at before a verdict, within the silence: three looks five
    seconds apart."""
    first_step_s: float = 1800.0
    """Longest normal silence before the first steps, and in a phase that the log announced."""
    few_steps_s: float = 300.0
    """Longest normal silence while fewer than eight intervals between steps are known."""
    idle_cores: float = 0.02
    """CPU cores below which a whole run counts as idle (measured: deadlocks use 0.00)."""
    busy_cores: float = 0.2
    """CPU cores above which a run counts as working."""
    busy_runnable_ratio: float = 0.25
    """Part of the looks with a runnable process (state R), from which a run counts as working even
    if it got little CPU time: a deadlock is never runnable, but a neighbour may use the CPUs."""
    busy_bytes_per_s: float = 1048576.0
    """Bytes read or written per second that count as working."""
    idle_bytes_per_s: float = 65536.0
    """Bytes per second below which nothing is saved or loaded: the other threads of a deadlocked
    run (of a tracker) still move a few KiB."""
    phase_times: float = 1.5
    """A phase that was seen twice may take this many times its longest duration so far."""
    spin_times: float = 2.0
    """Multiple of the limit at which a run that spins (busy, at the same place in every look) is
    critical; before, it is a warning."""
    rendezvous_s: float = 60.0
    """Longest normal wait of a new run, which has not made a step, for the other processes of its
    job, for a pool without tasks, or for somebody who reads its output. Nodes are started within minutes; libraries give up after 10 to 30."""
    hardly_times: float = 4.0
    """Multiple of the limit at which a run that is neither idle nor working is a warning."""


SURE = ("rendezvous", "output", "pool", "answer")
"""Verdicts that are told of a run without a rhythm: it waits for what will not come by itself."""
LAST_WORDS_S = 5.0
"""Seconds after the exception of a thread in which others may still write what they had begun."""


RETRIES = 1.5
"""Multiple of the shortest silence after which a run that only tries the same again is a warning: libraries give up
within half a minute to a minute."""
COMPLAINS = 3
"""Complaints since the last sign of progress from which they belong to what is told (our choice)."""


class _Judged(NamedTuple):
    """Severity and verdict about a silent run."""

    severity: Severity
    verdict: HangVerdict


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the run is silent for too long and its processes do no work."""
    if not view.live:
        troubles = view.accumulator(Troubles)
        if troubles is not None:
            yield from troubles.findings_of_log(of=CLASSES)
        return
    if view.ending is not None or view.paused or all_trials_fail(view):
        return
    again = rounds(view)
    if again is not None:
        yield _no_further(again)
        return
    case = case_of(view, silence_limits(limits))
    if gives_up(view):
        case = case_of(view, silence_limits(limits), saves=False)
    if case.silent_s < max(limits.floor_s, limits.floor_s / 2 + limits.evidence_s):
        return  # no case opens earlier; the closer look begins at half of the shortest silence
    fails = failing(view, case)
    late = case.silent_s >= case.limit_s or _part_ended(view, limits)
    if not late and not case.worth_a_look and fails is None:
        return
    work = work_of(view.process_samples, view.now, limits.evidence_s)
    if work is None or any(p.state in ("T", "t") for p in view.process_samples[-1].processes):
        return  # no evidence, no verdict; a stopped process has its own sentinel
    judged = _failed(case, fails, limits) if fails else None
    if judged is None:
        if late:
            judged = _judge(view, limits, work, case)
        elif case.early_s is not None:
            judged = _early(view, limits, work, case)
    if judged is not None:
        yield _finding(view, work, judged, case)


def _part_ended(view: View, limits: Limits) -> bool:
    """True when the last that was heard of the program is the exception of one of its threads, or a
    kill of one of its workers, as long ago as the shortest silence: then nothing else is needed to
    open a case."""
    heard = view.grown_at or 0.0
    for ending in view.endings:
        killed = not ending.main and ending.signal in KILLS
        if killed and abs(heard - ending.at) <= BEFORE_S <= limits.floor_s <= view.now - ending.at:
            return True
    last = next((e for e in reversed(view.events) if "exception" in e.details), None)
    if last is None or last.role != "confirmation" or view.now - last.at < limits.floor_s:
        return False
    return (view.grown_at or 0.0) - last.at <= LAST_WORDS_S


def _no_further(again: Rounds) -> Finding:
    """A finding about steps that are made again and again."""
    return Finding(
        trouble="hang",
        key="rounds",
        severity=Severity.CRITICAL,
        summary=f"no step beyond {number(again.top)}: the run went back {again.times} times, to step "
        f"{number(again.to)} now",
        remedy=f"read why it goes back at step {number(again.top)}: the lines before each return",
        details={"top": again.top, "to": again.to, "times": again.times},
        since=again.first_at,
    )


def _failed(case: Silence, fails: Failing, limits: Limits) -> _Judged | None:
    """The judgement of a run in which everything fails, whatever its processes do."""
    warns_s = limits.spin_times * limits.floor_s if case.unpaced else case.limit_s
    wakes_s = limits.few_steps_s if case.unpaced else limits.spin_times * case.limit_s
    if fails.again:
        warns_s = min(warns_s, RETRIES * limits.floor_s)
    if case.silent_s < warns_s:
        return None
    severity = Severity.CRITICAL if case.silent_s >= wakes_s else Severity.WARNING
    does = f"fails over and over: {fails.times} lines like {fails.text[:120]!r}, and no step"
    return _Judged(severity, HangVerdict("failing", does, "read the first of these errors"))


def _early(view: View, limits: Limits, work: RunActivity, case: Silence) -> _Judged | None:
    """The judgement of a run before its limit.

    What loads, compiles, prepares data or evaluates may be silent for long. A run that does nothing
    at all, and by its stacks waits for a lock, for data or for other processes, is told before: as
    a warning, because another box may be at work.
    """
    since = view.now - case.silent_s
    if progress(view, work, since, limits.evidence_s, limits.busy_bytes_per_s) or work.blocked:
        return None
    if work.cores >= limits.idle_cores or work.runnable_ratio >= limits.busy_runnable_ratio:
        return None
    if (work.bytes_per_s or 0.0) >= limits.idle_bytes_per_s or completed(view):
        return None
    verdict = idle_verdict(view, work, since)
    if verdict.name in SURE and case.unpaced:
        if case.silent_s < limits.rendezvous_s:
            return None
        long = case.silent_s >= limits.few_steps_s + limits.rendezvous_s
        return _Judged(Severity.CRITICAL if long else Severity.WARNING, verdict)
    early_s = case.early_s or limits.first_step_s
    if verdict.name in ("idle", "sleep") or case.silent_s < early_s:
        return None
    return _Judged(Severity.WARNING, verdict)


def _judge(view: View, limits: Limits, work: RunActivity, case: Silence) -> _Judged | None:
    """The judgement of a silent run; ``None``: no trouble, or one that another rule reports."""
    since = view.now - case.silent_s
    gets_on = progress(view, work, since, limits.evidence_s, limits.busy_bytes_per_s)
    if work.blocked:
        return None
    busy = work.cores >= limits.busy_cores or work.runnable_ratio >= limits.busy_runnable_ratio
    if not gets_on and busy:
        spins = None if starved(view, work) else spin_verdict(view, work, since)
        if spins is not None:
            late = case.silent_s >= limits.spin_times * case.limit_s
            if late or spins.sure:
                wakes = late and spins.sure
                return _Judged(Severity.CRITICAL if wakes else Severity.WARNING, spins)
            return None
    if gets_on or busy:
        if case.silent_s < max(limits.first_step_s, 3 * max(case.limit_s, case.longest_s)):
            return None
        remedy = "see what it does: py-spy dump --pid PID"
        works = HangVerdict("working", "works, but no step came for very long", remedy)
        return _Judged(Severity.INFO, works)
    if completed(view) and not asks(view, work):
        return None
    if work.cores < limits.idle_cores and (work.bytes_per_s or 0.0) < limits.idle_bytes_per_s:
        verdict = idle_verdict(view, work, since)
        if _as_it_said(view, work):
            return None
        if verdict.name == "sleep" and (view.grown_at or 0.0) > since + BEFORE_S:
            # It wakes up and writes: who waits for something tries again and again.
            verdict = HangVerdict("idle", "only waits and tries again", "read what it waits for")
        if verdict.name == "sleep" and last_exception(view, since - BEFORE_S) is None:
            long = case.silent_s >= max(limits.first_step_s, limits.phase_times * case.longest_s)
            return _Judged(Severity.WARNING, verdict) if long else None
        if verdict.evaluates and case.silent_s < max(limits.few_steps_s, case.limit_s):
            return None  # nothing says what it waits for, and evaluations are often silent
        return _Judged(Severity.CRITICAL, verdict)
    if case.silent_s < limits.hardly_times * case.limit_s:
        return None
    # Neither idle nor working: on a crowded box that is common for moments, so the whole silence
    # must look like this.
    whole = work_of(view.process_samples, view.now, min(case.silent_s, LONGEST_LOOK_S))
    if whole is None or whole.cores >= limits.busy_cores:
        return None
    if whole.runnable_ratio >= limits.busy_runnable_ratio:
        return None
    return _Judged(Severity.WARNING, HangVerdict("idle", "hardly does anything", ""))


def _as_it_said(view: View, work: RunActivity) -> bool:
    """True while the last line names a later time, and the run only sleeps until then, in one call or many:
    nothing that hangs sleeps for a time."""
    signs = view.accumulator(Signs)
    who = trainers(view, work)
    return (
        signs is not None and view.now < signs.goes_on_at and bool(who) and all(d.naps for d in who)
    )


def _finding(view: View, work: RunActivity, judged: _Judged, case: Silence) -> Finding:
    severity, verdict = judged
    steps = "" if case.limit_steps is None else f", {case.limit_steps:.0f} steps"
    error = last_exception(view, view.now - case.silent_s - BEFORE_S)
    said = f"; before that: {describe_event(error)}" if error else _complains(view)
    odd = [s.rank if s.rank is not None else s.pid for s in verdict.odd]
    look_at = [s.pid for s in verdict.odd] or [d.sample.pid for d in trainers(view, work)]
    reason = error.trouble if error is not None and error.trouble in REASONS else ""
    return Finding(
        trouble=reason or "hang",
        key="progress",
        severity=severity,
        fatal=severity is Severity.CRITICAL,
        summary=f"no progress since {case.since} for {span(case.silent_s)} (usual limit "
        f"{span(case.limit_s)}{steps}); the run {verdict.does}{said}",
        evidence=(
            *((Evidence("log", error.text, error.at),) if error else ()),
            *_evidence(view, work, verdict, view.now - case.silent_s),
        ),
        remedy="" if reason else verdict.remedy,
        details={
            "verdict": verdict.name,
            "silent_s": round(case.silent_s, 1),
            "limit_s": round(case.limit_s, 1),
            "cores": round(work.cores, 3),
            **({"odd": odd} if odd else {}),
            **({"pid": look_at[0]} if look_at else {}),
        },
    )


def _complains(view: View) -> str:
    """What the log has complained about again and again since the last sign of progress."""
    signs = view.accumulator(Signs)
    count, _, _, text = (0, 0, 0.0, "") if signs is None else signs.failures()
    return (
        f"; its log complains {count} times meanwhile: {text[:120]}" if count >= COMPLAINS else ""
    )


def _evidence(
    view: View, work: RunActivity, verdict: HangVerdict, since: float
) -> Iterator[Evidence]:
    moved = "unknown bytes"
    if work.bytes_per_s is not None:
        moved = f"{work.bytes_per_s / 1024:.0f} KiB/s"
    did = f"{work.cores:.2f} cores and {moved} read and written over {work.seconds:.0f} s"
    yield Evidence("process", did, view.now)
    standing = stack_summaries(view, since, (d.sample.pid for d in trainers(view, work)))
    if standing:
        yield Evidence("stack", describe_groups(folded(standing)), standing[-1].stack.at)
        for one in (verdict.odd or standing)[:2]:
            yield Evidence("stack", f"{one.name}: {' < '.join(one.stack.frames[:6])}"[:400])
    else:
        yield from _no_stacks(view)
    for index in gpus_spinning(view, since):
        yield Evidence(
            "gpu",
            f"GPU {index} is fully utilised, at a power draw that does not move: it waits in a kernel",
            view.now,
        )
    samples = sorted((d.sample for d in work.doing), key=lambda p: (p.rank is None, p.pid))
    for sample in samples[:6]:
        yield Evidence("process", _line(sample), view.now)


def _no_stacks(view: View) -> Iterator[Evidence]:
    for source in view.sources:
        if source.source == "stacks" and source.state not in ("ok", "starting"):
            yield Evidence("process", f"judged without stacks: {source.detail}", source.since)


def _line(p: ProcessSample) -> str:
    rank = "" if p.rank is None else f" rank {p.rank}"
    wchan = f" in {p.wchan}" if p.wchan and p.wchan != "0" else ""
    return f"pid {p.pid}{rank} {p.name}: state {p.state}{wchan}, {p.cpu_s:.0f} s CPU so far"


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once steps come again, or what this run shows instead of steps."""
    return moves_again(view, case) or shows_again(view, case.opened_at)


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(LogEvent, ProcessesSeen, StackSeen),
    every_tick=True,  # a report that ends the silence is seen there, too
    clears_after_s=5.0,
    also_reads=(Pauses, ReportPauses, Signs),
    recovered=recovered,
)
