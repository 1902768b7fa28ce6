"""Which processes train, and which of them belong to the same run.

A process is a candidate when it uses a GPU, looks like training (:mod:`.programs`) or, on a
box without any process on a GPU, is a Python process that uses the CPU. For each candidate the
topmost launcher or candidate among its ancestors is found; all candidates with the same one are
one run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..system.processes import Process, Processes
from .programs import (
    SIZE_NAMES,
    first_number,
    is_excluded,
    is_launcher,
    is_notebook,
    looks_like_training,
    program,
    rank_of,
    runs_notebook,
    starts_trials,
)
from .reports import reports_training, tees
from .slurm import is_srun, starter

_OUTSIDE = """
sshd systemd init tmux screen SCREEN containerd-shim runc dockerd docker-init tini slurmstepd cron
login
"""
OUTSIDE = frozenset(_OUTSIDE.split())
"""Ancestors with these names (as in /proc/PID/comm) belong to the box and not to the run."""

RUN_ONCE = frozenset(("timeout", "time", "sudo", "doas", "runuser", "setpriv", "xvfb-run"))
"""Programs that run a command once, wait for it, and end with it."""


@dataclass(frozen=True, slots=True)
class RunProcesses:
    """One run: its main process, with whose end the run ends, and its ranks in order.

    ``ranks`` are pairs of rank number (``None`` if unknown) and process.
    """

    main: Process
    ranks: tuple[tuple[int | None, Process], ...]
    world_size: int | None


def started_by(main: Process, processes: Processes) -> Process | None:
    """The shell, queue or wrapper that started a program, and that may start the next one when it has ended;
    ``None`` where that is the box."""
    parent = processes.get(main.ppid)
    while parent is not None and parent.comm in RUN_ONCE:
        parent = processes.get(parent.ppid)
    if parent is None or parent.pid == 1 or parent.comm.partition(":")[0] in OUTSIDE:
        return None
    return parent


def find(
    processes: Processes,
    gpu_pids: Collection[int],
    busy: Mapping[int, float],
    min_cpu: float,
    own_pid: int,
) -> dict[int, Process]:
    """The candidates by pid. ``busy`` is CPU cores in use by pid (1.0: one core).

    CPU use alone counts only where no process is on a GPU: next to real GPU work a busy
    Python is most often data preparation.
    """
    on_gpu = any(pid in processes for pid in gpu_pids)
    found: dict[int, Process] = {}
    told: dict[int, str] = {}  # known by a log only
    logs: dict[str, int] = {}
    copiers = tees(processes)
    for pid, process in processes.items():
        if pid == own_pid or not process.argv:
            continue
        if is_excluded(process) or _helper_of_excluded(process, processes):
            parent = processes.get(process.ppid)
            executed = parent is not None and runs_notebook(parent)
            if is_notebook(process) and (pid in gpu_pids or executed):
                found[pid] = process
            continue
        heavy = not on_gpu and busy.get(pid, 0.0) >= min_cpu and _runs_python(process)
        if pid in gpu_pids or heavy or looks_like_training(process):
            found[pid] = process
        elif _runs_python(process) and (log := reports_training(process, logs, copiers)):
            told[pid] = log
        else:
            process.forget()
    # Where one that looks like a training has the same output, the reports are its own.
    known = {file.target for one in found.values() for file in one.files if file.writable}
    found.update({pid: processes[pid] for pid, log in told.items() if log not in known})
    return found


def _runs_python(process: Process) -> bool:
    """True for a Python interpreter with arguments, so not an interactive one."""
    return program(process).python and len(process.argv) > 1


def _helper_of_excluded(process: Process, processes: Processes) -> bool:
    """True for ``python -c …`` started by a program that does not train: its worker process."""
    parent = processes.get(process.ppid)
    what = program(process)
    return parent is not None and what.python and not what.script and is_excluded(parent)


def top(process: Process, processes: Processes, candidates: Mapping[int, Process]) -> Process:
    """The topmost launcher or search among the ancestors, also above shells.

    Without a launcher: the topmost ancestor that is reached through candidates only.
    """
    best, gap = process, False
    for parent in processes.ancestors(process):
        starts = is_launcher(parent) or starts_trials(parent)
        if starts or (parent.pid in candidates and not gap):
            best, gap = parent, False
            continue
        name = parent.comm.partition(":")[0]  # "tmux: server"
        if parent.pid == 1 or name in OUTSIDE or is_excluded(parent):
            break
        gap = True
    return best


def group(
    processes: Processes, candidates: Mapping[int, Process], gpu_pids: Collection[int] = ()
) -> list[RunProcesses]:
    """The candidates grouped into runs, the oldest run first."""
    members: dict[int, list[Process]] = {}
    for process in candidates.values():
        members.setdefault(top(process, processes, candidates).pid, []).append(process)
    groups = [
        group_of(processes[pid], below, processes, gpu_pids) for pid, below in members.items()
    ]
    joined = _under_srun(_merged(groups), processes)
    return sorted(joined, key=lambda one: _age(one.main))


def _under_srun(groups: Sequence[RunProcesses], processes: Processes) -> list[RunProcesses]:
    """Give the tasks that ``srun`` has started to their ``srun``, which is no parent of them.

    Its end is the end of the run, and it has the exit status.
    """
    tasks: dict[int, list[RunProcesses]] = {}
    for one in groups:
        srun = None if is_srun(one.main) else starter(one.main, processes)
        if srun is not None:
            tasks.setdefault(srun.pid, []).append(one)
    given = {id(one) for some in tasks.values() for one in some}
    found = [
        one
        for one in groups
        if id(one) not in given and not (is_srun(one.main) and one.main.pid in tasks)
    ]
    for pid, some in tasks.items():
        ranks = sorted((pair for one in some for pair in one.ranks), key=lambda r: r[0] or 0)
        size = max([one.world_size or 1 for one in some] + [len(ranks)])
        found.append(RunProcesses(processes[pid], tuple(ranks), size))
    return found


def group_of(
    main: Process, members: Sequence[Process], processes: Processes, gpu_pids: Collection[int] = ()
) -> RunProcesses:
    """Separate ranks from workers: of all members with the same RANK, the topmost is the rank.

    Data loader and compile workers are children of a rank and inherit its environment.
    """
    by_rank: dict[int, Process] = {}
    for process in sorted(members, key=_age):
        rank = None if is_launcher(process) else rank_of(process)
        if rank is None:
            continue
        known = by_rank.get(rank)
        if known is None or process in list(processes.ancestors(known)):
            by_rank[rank] = process
    if not by_rank:
        return _without_numbers(main, members, gpu_pids)
    size = max(first_number(p.environ, SIZE_NAMES) or 0 for p in by_rank.values())
    if 0 not in by_rank and size > 1 and main not in by_rank.values() and not is_launcher(main):
        by_rank[0] = main  # Lightning: the first rank starts the others
    ranks = tuple((rank, by_rank[rank]) for rank in sorted(by_rank))
    return RunProcesses(main, ranks, max(size, len(ranks)))


def _without_numbers(
    main: Process, members: Sequence[Process], gpu_pids: Collection[int]
) -> RunProcesses:
    """Ranks without RANK in their environment (torch.multiprocessing.spawn): those on a GPU."""
    on_gpu = sorted((p for p in members if p.pid in gpu_pids), key=_age)
    if len(on_gpu) > 1 and not starts_trials(main):
        return RunProcesses(main, tuple((None, process) for process in on_gpu), len(on_gpu))
    return RunProcesses(main, ((None, main),), None)


def _age(process: Process) -> tuple[int, int]:
    return process.start_ticks, process.pid


def _merged(groups: Iterable[RunProcesses]) -> list[RunProcesses]:
    """Join groups without a common launcher (started by hand or by srun) into one run.

    They belong together when they use the same master address or Slurm step, unless two of them
    have the same rank.
    """
    result: list[RunProcesses] = []
    meeting: dict[tuple[str, str], int] = {}
    for one in sorted(groups, key=lambda g: _age(g.main)):
        place = _meeting_place(one)
        at = meeting.setdefault(place, len(result)) if place else len(result)
        if at < len(result) and _disjoint(result[at], one):
            result[at] = _joined(result[at], one)
        else:
            result.append(one)
    return result


def _joined(one: RunProcesses, other: RunProcesses) -> RunProcesses:
    """Both groups as one run, with the main process of the group that has the lowest rank."""
    ranks = tuple(sorted((*one.ranks, *other.ranks), key=lambda pair: pair[0] or 0))
    main = one.main if ranks[0] in one.ranks else other.main
    return RunProcesses(main, ranks, max(one.world_size or 0, other.world_size or 0, len(ranks)))


def _disjoint(one: RunProcesses, other: RunProcesses) -> bool:
    return not {rank for rank, _ in one.ranks} & {rank for rank, _ in other.ranks}


def _meeting_place(one: RunProcesses) -> tuple[str, str] | None:
    """(address, port) or (job, step) where the ranks find each other; ``None`` for one rank."""
    rank, process = one.ranks[0]
    if rank is None or (one.world_size or 1) < 2:
        return None
    for names in (("MASTER_ADDR", "MASTER_PORT"), ("SLURM_JOB_ID", "SLURM_STEP_ID")):
        first, second = (process.environ.get(name, "") for name in names)
        if first and second:
            return first, second
    return None
