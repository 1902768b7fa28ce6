"""Why a run hangs, by its stacks and the kernel functions in which its processes sleep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..gpus import used
from ..view import View
from .pools import workers_without_task
from .stack_summary import (
    TOGETHER,
    StackSummary,
    folded,
    stack_summaries,
    those_that_block,
    unchanged,
)
from .work import RESTS, ProcessActivity, RunActivity, gpus_spinning, trainers, workers_of

ALONE_CORES = 0.2
"""CPU cores used by processes other than the trainers from which these may be at work."""
_POLLS = ("poll", "select", "pipe", "unix_stream")
"""Parts of the names of kernel functions in which a process waits for data of another one."""
_WRITES = ("pipe_write",)
"""The same for a process that waits until another one reads what it has written."""
_ASKS = ("n_tty_read",)
"""The same for one that reads its terminal."""
_LOCKED = ("futex", "flock", "locks_lock", "fcntl_setlk", "posix_lock", "lock_inode_wait")
"""Parts of the names of kernel functions in which a process waits for a lock, also of a file."""

_REMEDIES = {
    "collective": "take the stacks of all ranks: py-spy dump --pid PID",
    "input": "look at the data: space in /dev/shm, the storage of the data set, the workers' "
    "stacks (py-spy dump --pid PID)",
    "rendezvous": "see that all nodes were started, and that this one reaches the first of them: "
    "MASTER_ADDR, MASTER_PORT",
    "child": "look at the children: ps --ppid PID; py-spy dump --pid PID",
    "pool": "see which worker ended, and of what (`dmesg`, a memory limit); a pool never repeats the task "
    "of a worker that was killed: start the program again",
    "lock": "take its stack with all threads: py-spy dump --pid PID",
    "spin": "take its stack twice, some seconds apart: py-spy dump --pid PID",
    "output": "see who should read its output: ls -l /proc/PID/fd; a parent that reads a pipe only at "
    "the end of its child blocks it once 64 KiB are in it",
    "answer": "attach to its terminal and answer (screen -r, tmux attach), or start it so that it does not "
    "ask: an option like --yes, or </dev/null",
    "sleep": "see who asked for the pause: py-spy dump --pid PID",
    "idle": "",
}


@dataclass(frozen=True, slots=True)
class HangVerdict:
    """Why a run hangs, and what to tell a person."""

    name: str
    """``collective``, ``rendezvous``, ``input``, ``child``, ``lock``, ``spin``, ``idle``, ``working`` or
    ``failing``; ``sleep``: it has asked for a pause of a certain length; ``output``: it writes to a pipe that nobody reads; ``pool``: all workers of its pool
    wait for tasks, and it waits for their results; ``answer``: it has asked something in its terminal."""
    does: str
    """What the run does, to be put after "the run"."""
    remedy: str
    odd: tuple[StackSummary, ...] = ()
    """The processes that block the others."""
    sure: bool = True
    """False when the evidence also fits a library that computes for minutes."""
    evaluates: bool = False
    """True for a run that does nothing inside a function that evaluates."""


def idle_verdict(view: View, work: RunActivity, since: float) -> HangVerdict:
    """The verdict on a run in which no process does anything, by what they wait for."""
    full = [d for d in work.doing if d.waits and _in(d, _WRITES)]
    if full:
        sample = full[0].sample
        named = f"process {sample.pid} {sample.name} waits to write to a pipe that nobody reads"
        return HangVerdict("output", f"stands still: {named}", _REMEDIES["output"])
    who = trainers(view, work)
    standing = stack_summaries(view, since, (d.sample.pid for d in who))
    if asks(view, work):
        return _verdict("answer", "waits for somebody to type an answer in its terminal", standing)
    if who and all(d.sleeps for d in who):
        return _verdict("sleep", "sleeps for a time that it has set itself", standing)
    if not standing:
        return _by_kernel(view, work, who)
    workers = workers_without_task(view, work, who[0], since) if len(who) == 1 else 0
    if workers:
        does = f"waits for a result of its pool, whose {workers} workers all wait for tasks"
        return _verdict("pool", does, standing)
    kinds = {s.kind for s in standing}
    together = kinds & set(TOGETHER)
    if all(s.at_rendezvous for s in standing):
        return _verdict("rendezvous", "waits for the other processes of its job", standing)
    if "collective" in kinds or (together and _many(view, who)):
        return _collective(standing)
    if "input" in kinds:
        return _verdict("input", "waits for its data", standing)
    if "child" in kinds:
        return _verdict("child", "waits for a child process that does nothing", standing)
    if len(who) == 1 and ("lock" in kinds or _in(who[0], _LOCKED)):
        return _verdict("lock", "waits for a lock", standing)
    evaluates = all(one.evaluates for one in standing)
    return replace(_verdict("idle", "does nothing at all", standing), evaluates=evaluates)


def asks(view: View, work: RunActivity) -> bool:
    """Whether a trainer stands in a read of its terminal: nobody is there, or it would have gone on."""
    return any(d.waits and _in(d, _ASKS) for d in trainers(view, work))


def spin_verdict(view: View, work: RunActivity, since: float) -> HangVerdict | None:
    """The verdict on a run that uses CPU, or whose GPUs seem busy, but that is at the same place in
    every stack; ``None`` when it may be working.

    It is sure for stacks that held the interpreter lock, for ranks in a collective, and for GPUs
    with low power draw at full utilisation: a library that computes for minutes shows none of
    these.
    """
    who = trainers(view, work)
    burning = [d for d in who if d.never_rests]
    if not all(d.never_rests or d.waits for d in who) or not who:
        return None
    pids = {d.sample.pid for d in who}
    beside = sum(d.cores for d in work.doing if d.sample.pid not in pids)
    gpus = gpus_spinning(view, since)
    standing = stack_summaries(view, since, pids)
    if not standing:
        if not gpus or beside >= ALONE_CORES + RESTS * len(pids) or _gpu_in_use(view, gpus):
            return None
        said = "waits for its GPUs, which are fully utilised and draw little power"
        return _verdict("spin", said, ())
    looks = [unchanged(view, since, d.sample.pid) for d in burning]
    if beside >= ALONE_CORES or not burning or not all(looks):
        return None
    kinds = {s.kind for s in standing}
    held = any(2 * sum(s.gil for s in stacks) >= len(stacks) for stacks in looks)
    if kinds & set(TOGETHER) and _many(view, who):
        verdict = _collective(standing)
        return HangVerdict("collective", verdict.does, verdict.remedy, verdict.odd)
    places = [s for s in standing if s.pid in {d.sample.pid for d in burning}]
    does = f"spins: it burns CPU at one place in {len(looks[0])} of {len(looks[0])} stacks"
    return HangVerdict(
        "spin",
        f"{does} ({places[0].where})",
        _REMEDIES["spin"],
        tuple(places) if len(who) > len(places) else (),
        sure=held or bool(gpus),
    )


def _gpu_in_use(view: View, spinning: Sequence[int]) -> bool:
    """True when some GPU is busy and is not one of those that only spin."""
    for index, samples in used(view):
        load = samples[-1].util_ratio
        if load is not None and load > 0.05 and index not in spinning:
            return True
    return False


def _many(view: View, who: Sequence[ProcessActivity]) -> bool:
    return len(who) > 1 or (view.run.world_size or 1) > 1


def _collective(standing: Sequence[StackSummary]) -> HangVerdict:
    guilty = those_that_block(standing)
    if guilty:
        names = ", ".join(s.name for s in guilty[:4])
        does = f"waits in a collective for {names} (in {guilty[0].where})"
        first_step = f"look at {names} first: py-spy dump --pid {guilty[0].pid}"
        return HangVerdict("collective", does, first_step, guilty)
    groups = folded(standing)
    where = groups[0][0]
    does = f"waits in a collective ({where})"
    if len(groups) > 1:
        does = f"waits in different collectives ({where}; {groups[1][0]})"
    return HangVerdict("collective", does, _REMEDIES["collective"])


def _verdict(name: str, does: str, standing: Sequence[StackSummary]) -> HangVerdict:
    where = f" ({standing[0].where})" if standing else ""
    return HangVerdict(name, f"{does}{where}", _REMEDIES[name])


def _by_kernel(view: View, work: RunActivity, who: Sequence[ProcessActivity]) -> HangVerdict:
    """The verdict without stacks, by the kernel functions in which the processes sleep."""
    if len(who) > 1:
        return _ranks_by_kernel(who)
    if len(who) == 1:
        (one,) = who
        workers = workers_of(one, work)
        if workers and _in(one, _POLLS) and all(d.waits for d in workers):
            return _verdict("input", f"waits for its {len(workers)} children, which sleep", ())
        if _in(one, _LOCKED) and not workers and not _many(view, who):
            return _verdict("lock", "does nothing at all: it waits for a lock", ())
    return _verdict("idle", "does nothing at all", ())


def _ranks_by_kernel(who: Sequence[ProcessActivity]) -> HangVerdict:
    groups: dict[str, list[ProcessActivity]] = {}
    for one in who:
        groups.setdefault(one.sample.wchan or "", []).append(one)
    if len(groups) < 2 or "" in groups:
        return _verdict("idle", "does nothing at all", ())
    ordered = sorted(groups.items(), key=lambda g: (-len(g[1]), "futex" not in g[0]))
    (most, first), *rest = ordered
    if len(rest[0][1]) == len(first) and "futex" not in most:
        return _verdict("idle", "does nothing at all", ())
    lone = [one for _, members in rest for one in members]
    names = ", ".join(f"rank {d.sample.rank}" for d in lone[:4])
    does = (
        f"does nothing at all: {len(first)} of {len(who)} ranks sleep in {most}, "
        f"{names} in {rest[0][0]}"
    )
    first_step = f"look at {names} first: py-spy dump --pid {lone[0].sample.pid}"
    return HangVerdict("collective", does, first_step)


def _in(one: ProcessActivity, parts: Sequence[str]) -> bool:
    return any(part in (one.sample.wchan or "") for part in parts)
