"""A job through Slurm: files for ``sbatch`` that a person can read and change.

Directives and environment: https://slurm.schedmd.com/sbatch.html. The text below the directives is made
in :mod:`.slurm_script`.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator

from ..system.errors import UsageError
from . import launchers, slurm_script
from .artefact import Artefact, Here, not_passed
from .job import Job, Phase
from .naming import safe
from .slurm_shape import Shape

SUBMIT = "submit.sh"
"""Submits the phases, each after the one before."""
_PLAIN = re.compile(r"[\w./:=,%@+~-]+", re.ASCII)
_JOB_ID = re.compile(r"\d+(_\d+|_\*)?(\+\d+)?")
_MIB = 1 << 20
_STARTS_RANKS = ("torchrun", "accelerate", "deepspeed")


def artefact(job: Job, here: Here) -> Artefact:
    """One file for ``sbatch``; of a job with phases one for each, and a script that submits them.

    Raises UsageError for what Slurm cannot be told.
    """
    _check(job)
    notes = tuple(_notes(job, here))
    if not job.phases:
        name = f"{here.name}.sbatch"
        text = _file(job, here, here.name, None)
        return Artefact("slurm", (("sbatch", "--parsable", name),), {name: text}, notes=notes)
    files = {}
    for number, phase in enumerate(job.phases, 1):
        name = f"{here.name}-{safe(phase.name)}"
        files[f"{number}-{safe(phase.name)}.sbatch"] = _file(job, here, name, phase)
    return Artefact("slurm", (("sh", SUBMIT),), {**files, SUBMIT: _submit(list(files))}, (), notes)


def tasks_a_node(job: Job) -> int:
    """Tasks that Slurm starts on a node: one for a launcher, which starts the ranks; else one a rank."""
    if job.main.launcher != "none":
        return 1
    words, _ = launchers.modern(job.main.command)
    return 1 if words[0].rpartition("/")[2] in _STARTS_RANKS else job.ranks_a_node


def _check(job: Job) -> None:
    slurm = job.slurm
    if slurm.array and job.phases:
        raise UsageError(
            "a job has an array under [slurm] or phases, not both",
            "a file for each element that has phases",
        )
    for one in slurm.after:
        if not _JOB_ID.fullmatch(one):
            raise UsageError(
                f"{one!r} under [slurm] after is no id of a job", 'like after = ["123"]'
            )
    for text in slurm.array:
        try:
            shlex.split(text)
        except ValueError as error:
            raise UsageError(
                f"{text!r} under [slurm] array are no words of a shell: {error}", "close the quotes"
            ) from error
    for what in (slurm.partition, slurm.account, slurm.qos, slurm.constraint, *slurm.options):
        if "\n" in what:
            raise UsageError("a directive of sbatch is one line", "look at [slurm] in the job file")
    for option in slurm.options:
        if not option.startswith("-"):
            raise UsageError(f"{option!r} under [slurm] options is no option", 'like "--exclusive"')
    if len(set(map(safe, (phase.name for phase in job.phases)))) < len(job.phases):
        raise UsageError("two phases have one name as a file", "other names under [[phase]]")


def _notes(job: Job, here: Here) -> Iterator[str]:
    main, slurm = job.main, job.slurm
    yield from not_passed(job, here)
    _, said = launchers.modern(main.command)
    if said:
        yield said
    tasks = tasks_a_node(job)
    if tasks > 1 and not main.processes:
        yield (
            f"{tasks} tasks on each node, one for each GPU, with RANK and so on set; processes = 1 "
            "under [job] for one that uses all cards"
        )
    if tasks == 1 and main.nodes > 1 and main.launcher == "none" and job.ranks_a_node > 1:
        yield 'the command starts its ranks itself: with launcher = "torchrun" they meet over all nodes'
    if not main.max_time_s:
        yield "no time limit is asked for: that of the partition holds"
    if slurm.requeue and not main.checkpoints:
        yield (
            "checkpoints under [job] is not named: whether it has saved cannot be told, so it is not put "
            "into the queue again at its time limit"
        )
    if slurm.array and main.checkpoints and "{index}" not in main.checkpoints:
        yield (
            f"all {len(slurm.array)} elements save to {main.checkpoints}: {{index}} in checkpoints and in "
            "the arguments gives each its own folder"
        )
    if main.preemptible and not (slurm.partition or slurm.qos):
        yield "preemptible: which partition or qos is cheaper and may be interrupted, sinfo and sacctmgr say"
    if any(phase.success for phase in job.phases) and not slurm.watch:
        yield "the success of a phase is looked at with middlewatch, which has to be on the nodes"


# ------------------------------------------------------------------------ the file


def _file(job: Job, here: Here, name: str, phase: Phase | None) -> str:
    shape = Shape(
        name=name,
        tasks=tasks_a_node(job),
        log=f"{name}-${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID.out"
        if job.slurm.array
        else f"{name}-$SLURM_JOB_ID.out",
        phase=phase,
    )
    lines = ["#!/bin/bash", *_directives(job, shape), ""]
    return "\n".join([*lines, *slurm_script.body(job, here, shape)]) + "\n"


def _directives(job: Job, shape: Shape) -> Iterator[str]:
    main, slurm = job.main, job.slurm
    output = f"{shape.name}-%A_%a.out" if slurm.array else f"{shape.name}-%j.out"
    lead = math.ceil(main.save_before_end_s)
    pairs: list[tuple[str, str]] = [
        ("job-name", shape.name),
        ("partition", slurm.partition),
        ("account", slurm.account),
        ("qos", slurm.qos),
        ("constraint", slurm.constraint),
        ("nodes", str(main.nodes)),
        ("ntasks-per-node", str(shape.tasks)),
        ("gpus-per-node", str(main.gpus or "")),
        ("cpus-per-task", str(max(1, main.cpus // shape.tasks) if main.cpus else "")),
        ("mem", f"{math.ceil(main.memory_bytes / _MIB)}M" if main.memory_bytes else ""),
        ("time", time_limit(main.max_time_s)),
        ("chdir", slurm_script.workdir(job)),
        ("output", output),
        # The same file: so what is said stays in its order. Append mode makes that safe.
        ("error", output),
        ("open-mode", "append"),
        ("signal", f"B:{slurm.signal}@{lead}" if lead else ""),
        ("array", _array(job)),
        ("dependency", ":".join((slurm.after_kind, *slurm.after)) if slurm.after else ""),
        ("kill-on-invalid-dep", "yes" if shape.phase else ""),
    ]
    for key, value in pairs:
        if value:
            yield f"#SBATCH --{key}={_value(value)}"
    yield f"#SBATCH --{'requeue' if slurm.requeue else 'no-requeue'}"
    yield "#SBATCH --export=ALL"
    for option in slurm.options:
        yield f"#SBATCH {option}"


def _array(job: Job) -> str:
    elements, limit = len(job.slurm.array), job.slurm.array_limit
    return f"0-{elements - 1}" + (f"%{limit}" if limit else "") if elements else ""


def _value(text: str) -> str:
    """As sbatch reads it: in quotes if there is anything unusual in it."""
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def time_limit(seconds: float) -> str:
    """``1-02:03:00`` or ``02:03:00``: whole minutes, rounded up, as Slurm counts; empty for no limit."""
    if not seconds:
        return ""
    minutes = max(1, math.ceil(seconds / 60))
    days, rest = divmod(minutes, 24 * 60)
    clock = f"{rest // 60:02}:{rest % 60:02}:00"
    return f"{days}-{clock}" if days else clock


def _submit(files: list[str]) -> str:
    """Each phase is a job that waits for the success of the one before."""
    lines = [
        "#!/bin/sh",
        "# Each phase is a job of its own; it starts when the one before has ended with success. If that",
        "# fails, Slurm takes those behind it out of the queue (--kill-on-invalid-dep).",
        "set -eu",
        'cd "$(dirname "$0")"',
        f"job=$(sbatch --parsable {files[0]})",
        'echo "${job%%;*}"',
    ]
    for name in files[1:]:
        lines.append(f'job=$(sbatch --parsable --dependency="afterok:${{job%%;*}}" {name})')
        lines.append('echo "${job%%;*}"')
    return "\n".join(lines) + "\n"
