"""Find the training runs of this box, or describe the run that a given process belongs to.

This only reads /proc, directory entries, and the output of ``tmux list-panes``. The training
processes are not touched: no signal, no ptrace, no file of theirs is written.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..config.run_spec import Rank, RunSpec
from ..system.clock import Clock, SystemClock
from ..system.errors import Refused, UsageError
from ..system.processes import Process, Processes
from ..system.users import runner_of
from .checkpoint_args import checkpoint_dirs
from .groups import RunProcesses, find, group, group_of, started_by, top
from .homes import home_of, other_container
from .outputs import OutputFinder, PipePane, event_files
from .programs import (
    SUPERVISORS,
    TRAINERS,
    has_booster,
    has_framework,
    is_excluded,
    is_launcher,
    is_notebook,
    is_rank,
    looks_like_training,
    program,
    purpose_of,
    runs_notebook,
    script_of,
    starts_trials,
)
from .purpose import BOOSTS
from .reports import reports_training, tees
from .run_names import apart, by_place, named_by_itself
from .slurm import held_by_terminal
from .tmux import Unanswered, attach_tmux

MIN_CPU = 0.5
"""Cores. A training without a GPU uses at least one; servers and editors idle well below."""
LOOK_S = 0.4
"""Seconds over which CPU use is measured: 40 clock ticks, so that half a core is known within
3 % of a core."""

_ONLY_BUSY = "taken for a training only because it keeps the CPU busy"
"""Note of a run in which nothing else looks like a training."""
_RDZV = re.compile(r"^--rdzv[-_]id(?:=(.*))?$")
_NO_NAME = frozenset(("", "none", "bash", "sh", "interactive", "wrap", "default"))


@dataclass(frozen=True, slots=True)
class FoundRun(RunSpec):
    """A run that was found: a :class:`RunSpec`, and its tmux pane if it prints into one."""

    pipe_pane: PipePane | None = None
    """Set if the run prints into a tmux pane; :func:`attached` copies that into a log."""


def discover(
    *,
    gpu_pids: Iterable[int] = (),
    proc: str = "/proc",
    min_cpu: float = MIN_CPU,
    look_s: float = LOOK_S,
    log_dir: str | None = None,
    clock: Clock | None = None,
) -> list[FoundRun]:
    """The training runs of this box, oldest first, each with its own name.

    ``gpu_pids`` are the processes that NVML names; without any, Python processes above
    ``min_cpu`` cores count too. ``log_dir`` is where a copy of a tmux pane would go (default:
    the run's working directory). Takes ``look_s`` seconds and some milliseconds.
    """
    clock = clock or SystemClock()
    before, looked = Processes(proc), clock.monotonic()
    clock.sleep(look_s)
    processes, seconds = Processes(proc), max(clock.monotonic() - looked, 0.01)
    gpus = frozenset(gpu_pids)
    busy = {
        pid: (process.cpu_s - before[pid].cpu_s) / seconds
        for pid, process in processes.items()
        if pid in before and look_s > 0
    }
    candidates = find(processes, gpus, busy, min_cpu, os.getpid())
    runs: list[FoundRun] = []
    copiers = tees(processes)
    for one in group(processes, candidates, gpus):
        found = _spec(one, name_of(one.main, processes), processes, log_dir)
        members = [one.main, *(process for _, process in one.ranks)]
        trains = starts_trials(one.main) or any(
            p.pid in gpus or looks_like_training(p) or reports_training(p, None, copiers)
            for p in members
        )
        if not trains:
            found = dataclasses.replace(found, notes=(*found.notes, _ONLY_BUSY))
        runs.append(dataclasses.replace(found, provisional=_doubt(members, gpus, copiers)))
    return _told_apart(runs)


def _told_apart(runs: Sequence[FoundRun]) -> list[FoundRun]:
    """The runs, each with its own name: those of one name by the arguments in which they differ, so that
    it does not matter in which order they were started."""
    named: list[FoundRun] = []
    for run in runs:
        others = [one.command for one in runs if one.name == run.name and one is not run]
        taken = {one.name for one in named}
        named.append(dataclasses.replace(run, name=apart(run.name, run.command, others, taken)))
    return named


def _doubt(members: Sequence[Process], gpus: Collection[int], copiers: Sequence[Process]) -> str:
    """Why these processes were taken for a training; empty when they say themselves that they are.

    A launcher is believed, unless what it starts is called an evaluation or a server. So is a
    search of hyperparameters, and who writes event files for TensorBoard.
    """
    said = {purpose_of(member) for member in members}
    if "train" in said or any(event_files(member) for member in members):
        return ""
    launched = any(
        is_rank(p)
        or program(p).name in TRAINERS
        or starts_trials(p)
        or (is_launcher(p) and not runs_notebook(p))
        for p in members
    )
    if launched and "other" not in said:
        return ""
    if any(member.pid in gpus for member in members):
        return "it holds a GPU"
    if any(map(has_framework, members)):
        return "it has a framework of machine learning loaded"
    if any(map(has_booster, members)):
        return BOOSTS
    if launched:
        return "a launcher started it"
    if any(map(runs_notebook, members)):
        return "it executes a notebook"
    reports = any(reports_training(member, None, copiers) for member in members)
    return "its log reads like that of a training" if reports else "it keeps the CPU busy"


def describe(
    pid: int,
    *,
    gpu_pids: Iterable[int] = (),
    proc: str = "/proc",
    log_dir: str | None = None,
) -> FoundRun:
    """The run that process ``pid`` belongs to, even if the process does not look like training.

    For a rank or a data loader worker, the main process is its launcher. For a shell, the shell
    stays the main process, and the training processes below it are the ranks. Raises UsageError
    when there is no such process.
    """
    processes = Processes(proc)
    process = processes.get(pid)
    if process is None or not process.argv:
        raise UsageError(f"there is no process {pid}", hint="middlewatch watch finds runs itself")
    gpus = frozenset(gpu_pids)
    candidates = find(processes, gpus, {}, MIN_CPU, os.getpid())
    candidates.setdefault(pid, process)
    main = _parent_twin(top(process, processes, candidates), processes)
    below = [p for p in processes.descendants(main.pid) if p.pid in candidates]
    one = group_of(main, [main, *below], processes, gpus)
    if one.ranks == ((None, main),) and below and not program(main).python:
        inner = group_of(below[0], below, processes, gpus)
        one = RunProcesses(main, inner.ranks, inner.world_size)
    else:
        one = next((g for g in group(processes, candidates, gpus) if _holds(g, main)), one)
    return _spec(one, name_of(main, processes), processes, log_dir)


def _holds(one: RunProcesses, process: Process) -> bool:
    return process in (one.main, *(rank for _, rank in one.ranks))


def _parent_twin(process: Process, processes: Processes) -> Process:
    """The topmost ancestor with the same command line: a forked worker keeps its parent's."""
    parent = processes.get(process.ppid)
    while parent is not None and parent.argv == process.argv and not is_excluded(parent):
        process, parent = parent, processes.get(parent.ppid)
    return process


def attached(found: FoundRun, silent: set[int] | None = None) -> FoundRun:
    """Copy the run's tmux pane into a log from now on; return the run with that log.

    A run without a pane is returned unchanged. ``silent``: users whose tmux did not answer, who are
    not asked again; one more is added to it. Raises Refused and UsageError, as
    :func:`.tmux.attach_tmux` does.
    """
    pane = found.pipe_pane
    if pane is None:
        return found
    if silent is not None and pane.owner.uid in silent:
        raise Refused(f"the tmux server of {pane.owner.name} did not answer before")
    try:
        attach_tmux(pane.target, pane.log, pane.socket, pane.since, pane.owner)
    except Unanswered:
        if silent is not None:
            silent.add(pane.owner.uid)
        raise
    return dataclasses.replace(
        found,
        logs=(*found.logs, pane.log),
        notes=tuple(note for note in found.notes if not note.startswith("prints to terminal")),
        pipe_pane=None,
    )


def _spec(one: RunProcesses, name: str, processes: Processes, log_dir: str | None) -> FoundRun:
    """Everything about one group."""
    main, ranks = one.main, [process for _, process in one.ranks]
    holders = list({p.pid: p for p in (main, *ranks)}.values())
    out = OutputFinder(processes, log_dir).outputs(holders, name)
    started_at = processes.started_at(main)
    notes = [*out.notes, *filter(None, [held_by_terminal(main, processes)])]
    if not main.environ:
        notes.append(
            f"its environment is not readable: run as {_user_of(main, processes.proc)} or as root"
        )
    # The root user of a container is not ours: nothing of it is ever started here.
    runner = None if main.is_elsewhere else runner_of(main.pid, processes.proc)
    uid, gid = runner or (None, None)
    parent = started_by(main, processes)
    return FoundRun(
        name=name,
        pid=main.pid,
        start_ticks=main.start_ticks,
        ranks=tuple(Rank(p.pid, p.start_ticks, rank) for rank, p in one.ranks),
        world_size=one.world_size,
        command=main.argv,
        cwd=main.lasting(main.cwd),
        env_names=tuple(sorted(main.environ)),
        logs=tuple(out.logs),
        log_via=out.log_via,
        checkpoint_dirs=checkpoint_dirs(main, ranks),
        exit_file=_supervisor_option(processes.get(main.ppid), "--exit-file"),
        started_at=started_at,
        home=home_of(main, processes, processes.get(os.getpid()), out.pane is not None),
        notes=tuple(notes),
        parent_pid=parent.pid if parent else None,
        parent_ticks=parent.start_ticks if parent else None,
        uid=uid,
        gid=gid,
        container=other_container(main, processes.get(os.getpid())),
        pipe_pane=out.pipe_pane,
    )


def _user_of(process: Process, proc: str) -> str:
    """Name of the user that the process runs as; the number, where that user has no name."""
    import psutil  # imported here because it is needed only for processes of other users

    theirs, psutil.PROCFS_PATH = psutil.PROCFS_PATH, proc
    try:
        return str(psutil.Process(process.pid).username())
    except (psutil.Error, IndexError, ValueError):  # the last two: an incomplete copy of /proc
        return "its user"
    finally:
        psutil.PROCFS_PATH = theirs


def _supervisor_option(process: Process | None, option: str) -> str | None:
    """Value of a command-line option of our supervisor; ``None`` if ``process`` is not one."""
    if process is None or not any(word.endswith(SUPERVISORS) for word in process.argv):
        return None
    given = dict(zip(process.argv, process.argv[1:], strict=False))
    return given.get(option)


def name_of(main: Process, processes: Processes) -> str:
    """The name of the run that ``main`` belongs to.

    The first of: the name given to ``middlewatch run``, the Slurm job, the rendezvous id, the name that
    the command gives its training, the script. A script with a general name (``train.py``) is
    replaced by its folder.
    """
    for parent in processes.ancestors(main):
        given = _supervisor_option(parent, "--name")
        if given:
            return given
    names = (
        main.environ.get("SLURM_JOB_NAME", ""),
        _rendezvous(main.argv),
        named_by_itself(main.argv),
    )
    for name in names:
        if name.lower() not in _NO_NAME:
            return name
    if is_notebook(main):
        return "notebook"
    return by_place(script_of(main), main.argv, main.cwd) or main.comm or "run"


def _rendezvous(argv: Sequence[str]) -> str:
    """The value of torchrun's ``--rdzv-id``, or an empty string."""
    for word, following in zip(argv, (*argv[1:], ""), strict=True):
        match = _RDZV.match(word)
        if match:
            return match[1] if match[1] is not None else following
    return ""
