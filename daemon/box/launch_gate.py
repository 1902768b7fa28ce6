"""What makes a command fail for certain, looked at before it is started: `run` refuses then.

Only what is known counts: a box whose GPUs cannot be seen, a launcher that meets others at the port, or a
folder that is not there yet refuse nothing. `middlewatch audit -- CMD` looks at more, and warns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from middlewatch.sentinels.kit.numbers import size

from ..launch.slurm import held_by_terminal
from ..system.clock import SystemClock
from ..system.processes import Processes
from .audit_launch import Asked, budget, gpu_checks, gpus_asked, rendezvous
from .audit_line import AuditLine

LEAST_BYTES = 1 << 20
"""With less than this a disk counts as full: a log and the first metrics do not fit. Our choice."""
_LAUNCHERS = frozenset(
    {"torchrun", "torch.distributed.run", "torch.distributed.launch", "deepspeed"}
)
_MEETS_OTHERS = (
    *(
        "--standalone",
        "--rdzv-endpoint",
        "--rdzv_endpoint",
        "--nnodes",
        "--node-rank",
        "--node_rank",
    ),
    *("--hostfile", "--num_nodes", "--master-addr", "--master_addr"),
)
"""With one of these the port of the rendezvous is another one, another box's, or shared on purpose."""


def look(
    asked: Asked, here: Path, folders: Sequence[str], environ: Mapping[str, str]
) -> list[AuditLine]:
    """All checks of a command that is to run in ``here`` and save into ``folders``."""
    return [
        *_gpus(asked, environ),
        *_port(asked, environ),
        *_disks(here, folders),
        *_saves(asked, here, folders),
        *_allocation(environ),
    ]


def _gpus(asked: Asked, environ: Mapping[str, str]) -> Iterator[AuditLine]:
    """GPUs asked for against those there, where the launcher names a number and the driver answers."""
    if gpus_asked(asked.command) is None:
        return
    from . import audit  # here: it imports much, and most commands name no number of GPUs

    gpus, _ = audit.look_at_gpus(SystemClock())
    if gpus:
        yield from gpu_checks(asked.command, gpus, environ)


def _port(asked: Asked, environ: Mapping[str, str]) -> Iterator[AuditLine]:
    names = {Path(word).name for word in asked.command[:4]}
    alone = not any(word.partition("=")[0] in _MEETS_OTHERS for word in asked.command)
    if names & _LAUNCHERS and alone and not environ.get("MASTER_ADDR"):
        yield rendezvous(asked.command, environ)


def _disks(here: Path, folders: Sequence[str]) -> Iterator[AuditLine]:
    """The file systems that the run writes to for certain."""
    seen = set()
    for folder in (here, *map(Path, folders)):
        there = _existing(folder)
        try:
            device, room = there.stat().st_dev, os.statvfs(there)
        except OSError:
            continue
        if device in seen:
            continue
        seen.add(device)
        free, read_only = room.f_bavail * room.f_frsize, bool(room.f_flag & os.ST_RDONLY)
        state, text = "ok", f"{size(free)} free"
        if read_only and folder != here:  # a working folder may be read only
            state, text = "bad", "it is mounted read-only"
        elif not read_only and free < LEAST_BYTES:
            state, text = "bad", f"it is full: {size(free)} free"
        elif not read_only and room.f_files and not room.f_favail:
            state, text = "bad", "it has no inode left"
        yield AuditLine(f"disk of {folder}", state, text)


def _saves(asked: Asked, here: Path, folders: Sequence[str]) -> Iterator[AuditLine]:
    if asked.save_bytes:
        yield budget(asked, _existing(Path(folders[0]) if folders else here))


def _allocation(environ: Mapping[str, str]) -> Iterator[AuditLine]:
    """An allocation of Slurm that ends with a terminal ends what was started in it, detached or not."""
    if "SLURM_JOB_ID" not in environ:
        return
    processes = Processes()
    ours = processes.get(os.getpid())
    said = held_by_terminal(ours, processes) if ours is not None else ""
    if said:
        yield AuditLine(f"allocation {environ['SLURM_JOB_ID']}", "warn", said)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((one for one in (folder, *folder.parents) if one.exists()), Path("/"))
