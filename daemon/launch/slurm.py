"""Tasks of Slurm: the ``srun`` that started them, and where their output arrives.

``srun`` asks Slurm to start the tasks: they are children of ``slurmstepd`` and not of ``srun``, and
print into pipes that ``slurmstepd`` reads and sends to ``srun``. That prints it where the script of
the job prints to. The file that ``slurmstepd`` has open is the log of the node, not of the job.
"""

from __future__ import annotations

import re

from ..system.processes import Process, Processes
from .programs import program

NODE_DAEMONS = frozenset(("slurmstepd", "slurmd"))
"""Names in /proc/PID/comm of the programs of Slurm on a node."""
_IN_FOREGROUND = frozenset(("srun", "salloc"))
_OUTLIVE = frozenset(("tmux", "screen"))
_TERMINALS = ("/dev/pts/", "/dev/tty")
_CGROUP = re.compile(r"/job_(\d+)(?:/step_(\w+))?")


def job_of(process: Process) -> str:
    """Number of the job that a process belongs to; empty outside of Slurm."""
    match = _CGROUP.search(process.cgroup)
    return match[1] if match else process.environ.get("SLURM_JOB_ID", "")


def is_srun(process: Process) -> bool:
    """True for the ``srun`` command itself."""
    return program(process).name == "srun"


def starter(task: Process, processes: Processes) -> Process | None:
    """The ``srun`` on this host that started ``task``; ``None`` when it cannot be told.

    Of several in one job the one whose command ends with the command of the task, or of what the
    task was started by.
    """
    job = job_of(task)
    if not job:
        return None
    found = [p for p in processes.values() if is_srun(p) and job_of(p) == job]
    above = [task, *(p for p in processes.ancestors(task) if job_of(p) == job)]
    named = [s for s in found if any(_ends_with(s.argv, p.argv) for p in above)]
    chosen = named or found
    # srun forks a copy of itself: the older one is what the script waits for.
    parents = {s.pid for s in chosen}
    chosen = [s for s in chosen if s.ppid not in parents]
    return chosen[0] if len(chosen) == 1 else None


def _ends_with(command: tuple[str, ...], tail: tuple[str, ...]) -> bool:
    return len(tail) > 0 and command[-len(tail) :] == tail


def job_output(task: Process, processes: Processes) -> Process | None:
    """A process that prints where the output of ``task`` arrives: its ``srun``, or the script of
    the job, which began it. ``None`` when both are on another host."""
    found = starter(task, processes)
    if found is not None:
        return found
    job = job_of(task)
    scripts = [
        p
        for p in processes.values()
        if job and job_of(p) == job and _is_script(p, processes) and p.comm not in NODE_DAEMONS
    ]
    return min(scripts, key=lambda p: (p.start_ticks, p.pid), default=None)


def _is_script(process: Process, processes: Processes) -> bool:
    """True for the script of the job: started by ``slurmstepd`` for the batch step."""
    parent = processes.get(process.ppid)
    if parent is None or parent.comm not in NODE_DAEMONS:
        return False
    match = _CGROUP.search(process.cgroup)
    if match and match[2]:
        return match[2] == "batch"
    return "slurm_script" in " ".join(process.argv) or "SLURM_PROCID" not in process.environ


def held_by_terminal(process: Process, processes: Processes) -> str:
    """A sentence about the ``srun`` or ``salloc`` that ends with its terminal, and ``process`` with it.

    Empty without one, and where it outlives the terminal: in tmux or screen, under nohup, in a batch job.
    """
    begun = starter(process, processes)
    chains = [[one, *processes.ancestors(one)] for one in (process, begun) if one is not None]
    for above in chains:
        place = next((n for n, p in enumerate(above) if program(p).name in _IN_FOREGROUND), None)
        if place is None:
            continue
        holder = above[place]
        around = {p.comm.partition(":")[0].lower() for p in above[place:]}
        if holder.ignores_hangup or around & _OUTLIVE or around & NODE_DAEMONS:
            continue
        if any(
            (file := holder.file(fd)) and file.target.startswith(_TERMINALS) for fd in (0, 1, 2)
        ):
            return (
                f"{program(holder).name} (pid {holder.pid}) holds it in the foreground of a terminal: when "
                "that closes, it ends; a batch job does not need one (middlewatch launch --on slurm)"
            )
    return ""
