"""The shell text of a batch job: what is done on the first node, and in the step that trains."""

from __future__ import annotations

import math
import posixpath
import shlex
from collections.abc import Iterator, Sequence

from . import launchers, slurm_end
from .artefact import Here, passed
from .job import Job
from .launchers import Meeting
from .slurm_shape import Shape

SIGNAL_EARLY_S = 60
"""sbatch(1), --signal: it may come so much earlier than asked."""
_WIDE = 96
_RANK, _HOST, _PORT, _ID = "\0rank\0", "\0host\0", "\0port\0", "\0id\0"
_VARIABLES = {
    _RANK: "SLURM_NODEID",
    _HOST: "MASTER_ADDR",
    _PORT: "MASTER_PORT",
    _ID: "SLURM_JOB_ID",
}


def workdir(job: Job) -> str:
    """Absolute, without ``..``; the folder of the job file if that is not known."""
    return posixpath.normpath(posixpath.join(job.folder or ".", job.main.workdir))


def body(job: Job, here: Here, shape: Shape) -> Iterator[str]:
    """The lines below the directives."""
    yield from _head(job, here, shape)
    yield from _meeting(job, shape)
    yield from _train(job, shape)
    if job.main.gpus:
        yield from _cards(job)
    yield from _told(job)
    if job.slurm.watch:
        yield from slurm_end.watch(job, shape)
    yield from _start(job, shape)
    yield from slurm_end.text(job, shape)


# ------------------------------------------------------------------------ before the start


def _head(job: Job, here: Here, shape: Shape) -> Iterator[str]:
    main, slurm = job.main, job.slurm
    if job.labels:
        yield "# " + ", ".join(f"{key}: {_line(value)}" for key, value in job.labels.items())
    if shape.phase is not None:
        phase = shape.phase
        much = f"{phase.steps} steps" if phase.steps else f"{phase.tokens:g} tokens"
        yield f"# phase {_line(phase.name)}: {much}"
    yield "# Variables of ranks are set in the step that trains, never here."
    yield "unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK"
    yield "export PYTHONUNBUFFERED=1"
    for key, value in main.env.items():
        yield f"export {key}={shlex.quote(value)}"
    for name in passed(job, here):
        yield f': "${{{name}:?is to be handed on, and sbatch did not do so (--export)}}"'
    if main.cpus:
        yield "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK  # srun does not take it over by itself"
    yield from slurm.setup
    yield ""
    yield f'log="$PWD/{shape.log}"'
    yield f'own="$PWD/.middlewatch/{shape.name}-$SLURM_JOB_ID"  # on the file system that all nodes share'
    yield 'mkdir -p "$own" && echo "*" >.middlewatch/.gitignore'
    yield from _elements(job)
    yield "# When Slurm ends it: not all versions say so in the environment."
    yield 'ends=$(squeue --noheader --job="$SLURM_JOB_ID" --format=%e 2>/dev/null)'
    yield '[ -n "$ends" ] && at=$(date --date="$ends" +%s 2>/dev/null) && export SLURM_JOB_END_TIME="$at"'
    yield 'touch "$own/began"'
    yield 'echo "middlewatch: job $SLURM_JOB_ID on $SLURM_JOB_NODELIST, start $((${SLURM_RESTART_COUNT:-0} + 1)), until ${ends:-unknown}"'
    yield ""


def _line(text: str) -> str:
    """A comment ends with its line."""
    return " ".join(text.split())


def _elements(job: Job) -> Iterator[str]:
    """What differs between the elements of an array, by their index."""
    saves = job.main.checkpoints
    if not job.slurm.array:
        yield f"saves={shlex.quote(saves)}"
        yield "more=()"
        return
    yield "case $SLURM_ARRAY_TASK_ID in"
    for index, text in enumerate(job.slurm.array):
        words = " ".join(shlex.quote(w) for w in shlex.split(text.replace("{index}", str(index))))
        folder = shlex.quote(saves.replace("{index}", str(index)))
        yield f"    {index}) more=({words}) saves={folder} ;;"
    yield "esac"


def _meeting(job: Job, shape: Shape) -> Iterator[str]:
    """Where the ranks meet, if there are several."""
    if job.main.nodes == 1 and (job.main.launcher != "none" or shape.tasks == 1):
        return
    yield "# The ranks meet on the first node."
    yield 'MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    if not job.main.port:
        yield "MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))  # two jobs of one node take two ports"
    elif job.slurm.array:
        yield f"MASTER_PORT=$(({job.main.port} + SLURM_ARRAY_TASK_ID))  # elements may share a node"
    else:
        yield f"MASTER_PORT={job.main.port}"
    yield "export MASTER_ADDR MASTER_PORT"
    yield ""


# ------------------------------------------------------------------------ the step


def _train(job: Job, shape: Shape) -> Iterator[str]:
    """The function that each task of the step executes."""
    main, slurm = job.main, job.slurm
    meeting = Meeting(_RANK, _HOST, _PORT, _ID) if main.nodes > 1 else None
    words = [*launchers.command(job, meeting), *(shape.phase.arguments if shape.phase else ())]
    yield "train() {  # on each node" if shape.tasks == 1 else "train() {  # for each rank"
    if slurm.signal != "TERM":
        yield f"    trap '' {slurm.signal}  # it ends every program without a handler of its own, launchers too"
    if shape.tasks > 1 or (main.launcher == "none" and main.nodes > 1):
        yield '    export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" WORLD_SIZE="$SLURM_NTASKS"'
        yield f'    export LOCAL_WORLD_SIZE={shape.tasks} NODE_RANK="$SLURM_NODEID"'
    if slurm.rank_logs and main.launcher == "torchrun":
        yield '    export PET_TEE=3 PET_LOG_DIR="${log%.out}-ranks"  # torchrun: a file for each rank'
    yield from _wrapped(["exec", *map(_quoted, words), '"$@"'])
    yield "}"
    yield "export -f train"
    if slurm.rank_logs and main.launcher == "torchrun":
        yield "export log"
    yield ""


def _quoted(word: str) -> str:
    """For the shell; what :class:`.launchers.Meeting` says as a variable."""
    for marker, name in _VARIABLES.items():
        before, found, after = word.partition(marker)
        if found:
            left = before if not before else _quoted(before)
            return f'{left}"${name}"{_quoted(after) if after else ""}'
    return shlex.quote(word)


def _wrapped(words: Sequence[str]) -> Iterator[str]:
    """The words on one line, or on several: a new one before each option."""
    line = "    " + " ".join(words)
    if len(line) <= _WIDE:
        yield line
        return
    line = "    " + words[0]
    for word in words[1:]:
        if word.startswith("-") or word == '"$@"':
            yield f"{line} \\"
            line = f"        {word}"
        else:
            line += f" {word}"
    yield line


def _cards(job: Job) -> Iterator[str]:
    """A look at the cards of each node before the time is spent."""
    asked = job.main.gpus
    yield "cards() {  # on each node: are the cards there that were asked for?"
    yield "    command -v nvidia-smi >/dev/null || return 0"
    yield "    there=$(nvidia-smi -L | grep -c '^GPU ')"
    yield f'    [ "$there" -ge {asked} ] && return 0'
    yield (
        f'    echo "middlewatch: $SLURMD_NODENAME: {asked} GPUs asked for, nvidia-smi -L shows $there;'
        ' CUDA_VISIBLE_DEVICES is ${CUDA_VISIBLE_DEVICES-not set}" >&2'
    )
    yield "    return 1"
    yield "}"
    yield "export -f cards"
    yield 'srun --ntasks-per-node=1 --ntasks="$SLURM_NNODES" bash -c cards || exit 1'
    yield ""


def _told(job: Job) -> Iterator[str]:
    """The signals that the script itself gets."""
    name = job.slurm.signal
    lead = math.ceil(job.main.save_before_end_s)
    yield "# Slurm tells this script alone that the time ends; srun hands a signal on to all that it started."
    yield "step= asked= stopped="
    yield "time_ends() {"
    yield '    [ -z "$asked" ] && kill -0 "${step:-none}" 2>/dev/null || return 0'
    if name == "TERM":
        yield "    # Far from its end it was cancelled, or its place was taken: Slurm has told the training, too."
        yield f'    [ $(($(date +%s) + {lead + SIGNAL_EARLY_S})) -ge "${{SLURM_JOB_END_TIME:-0}}" ] || {{ stopped=1; return 0; }}'
    yield '    asked=1; touch "$own/asked"'
    yield f'    echo "middlewatch: the time ends ($ends): SIG{name} to the training, to save"'
    yield f'    kill -{name} "$step"'
    yield "}"
    yield f"trap time_ends {name}"
    if name != "TERM":
        yield "trap 'stopped=1' TERM  # cancelled, or its place was taken: the training has been told by Slurm"
    yield ""


def _start(job: Job, shape: Shape) -> Iterator[str]:
    yield "# In the background: a shell that waits for a program in the foreground gets no signal."
    words = ["srun", "--kill-on-bad-exit=1"]
    if job.slurm.rank_logs and job.main.launcher != "torchrun":
        words += [f'--output="{_rank_log(shape)}"', "--open-mode=append"]
    yield " ".join([*words, 'bash -c \'train "$@"\' train "${more[@]}" &'])
    yield "step=$!"
    yield ""


def _rank_log(shape: Shape) -> str:
    """For srun, which puts the number of the task for ``%t``."""
    return "${log%.out}-%t.out"
