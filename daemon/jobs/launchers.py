"""The lines that start the ranks: torchrun, accelerate, deepspeed."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from .job import Job

_OLD = ("torch.distributed.launch", "torch.distributed.run")
_NO_SCRIPT = ("-m", "--module")


@dataclass(frozen=True)
class Meeting:
    """Where the ranks of several machines meet. Each text may be a variable of a shell, like ``$SLURM_NODEID``.

    ``rank`` of this machine; ``host`` and ``port`` of the master; ``id`` of this meeting, the same on all;
    ``address``: how the others reach this machine, empty: by its own name.
    """

    rank: str
    host: str
    port: str
    id: str
    address: str = ""


def command(job: Job, meeting: Meeting | None = None) -> list[str]:
    """The words that start the ranks of one machine. ``meeting``: None if there is only one machine."""
    words, _ = modern(job.main.command)
    launcher = job.main.launcher
    if launcher == "none":
        return words
    interpreter = words and posixpath.basename(words[0]).startswith("python")
    script = words[1:] if interpreter else words
    return [*_START[launcher](job, meeting), *script]


def _torchrun(job: Job, meeting: Meeting | None) -> list[str]:
    """https://docs.pytorch.org/docs/stable/elastic/run.html"""
    each = f"--nproc-per-node={job.ranks_a_node}"
    if meeting is None:
        # --standalone takes a free port of its own: two jobs on one machine never meet by mistake.
        return ["torchrun", "--standalone", each]
    return [
        "torchrun",
        f"--nnodes={job.main.nodes}",
        each,
        f"--node-rank={meeting.rank}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={meeting.host}:{meeting.port}",
        f"--rdzv-id={meeting.id}",
        # Without it machines are told apart by their host name and a process id, and two containers have
        # the same one easily: then they wait for each other, and each takes the other for itself.
        *([f"--local-addr={meeting.address}"] if meeting.address else []),
    ]


def _accelerate(job: Job, meeting: Meeting | None) -> list[str]:
    """https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch"""
    ranks = job.ranks_a_node * job.main.nodes
    words = ["accelerate", "launch", f"--num_processes={ranks}"]
    if ranks > 1:
        words.append("--multi_gpu" if job.main.gpus else "--multi_cpu")
    elif not job.main.gpus:
        words.append("--cpu")
    words.append(f"--num_machines={job.main.nodes}")
    if meeting is not None:
        words += [
            f"--machine_rank={meeting.rank}",
            f"--main_process_ip={meeting.host}",
            f"--main_process_port={meeting.port}",
        ]
    elif job.main.port and ranks > 1:
        words.append(f"--main_process_port={job.main.port}")
    return words


def _deepspeed(job: Job, meeting: Meeting | None) -> list[str]:
    """https://www.deepspeed.ai/getting-started/: one machine by itself, several without its own ssh."""
    words = ["deepspeed", f"--num_gpus={job.ranks_a_node}"]
    if meeting is not None:
        words += [
            f"--num_nodes={job.main.nodes}",
            "--no_ssh",
            f"--node_rank={meeting.rank}",
            f"--master_addr={meeting.host}",
            f"--master_port={meeting.port}",
        ]
    elif job.main.port:
        words.append(f"--master_port={job.main.port}")
    return words


_START = {"torchrun": _torchrun, "accelerate": _accelerate, "deepspeed": _deepspeed}


def modern(words: Sequence[str]) -> tuple[list[str], str]:
    """The command with ``python -m torch.distributed.launch`` as torchrun, and a sentence if it was so.

    The old launcher handed ``--local_rank`` to the script unless ``--use_env`` was given; torchrun only
    sets ``LOCAL_RANK`` (https://docs.pytorch.org/docs/stable/elastic/train_script.html).
    """
    words = list(words)
    old = (n for n, pair in enumerate(itertools.pairwise(words)) if _is_old(*pair))
    place = next(old, None)
    if place is None:
        return words, ""
    module, rest = words[place + 1], words[place + 2 :]
    own_environment = "--use_env" in rest or "--use-env" in rest
    rest = [word for word in rest if word not in ("--use_env", "--use-env")]
    said = "torch.distributed.launch is old: it is started by torchrun"
    if not own_environment and module == _OLD[0]:
        said += "; the script gets LOCAL_RANK as a variable, not --local_rank as an argument"
    return ["torchrun", *rest], said


def _is_old(flag: str, module: str) -> bool:
    return flag in _NO_SCRIPT and module in _OLD
