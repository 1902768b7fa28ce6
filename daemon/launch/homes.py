"""Where a run lives: in a Slurm job, a container, a systemd unit, tmux, screen or none of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ..system import procfs
from ..system.processes import Process, Processes

_CONTAINER = re.compile(r"(?:docker|containerd|crio|libpod|kubepods)\S*?([0-9a-f]{64})")
_UNIT = re.compile(r"([\w@:.\\\-]+\.service)(?:/|$)")
_LOGIN = re.compile(
    r"^(user@\d+|user-runtime-dir@\d+|sshd?(@.*)?|docker|containerd|crond?)\.service$"
)
_SLURM = re.compile(r"/slurm\S*?/job_\d+|/slurmstepd\.scope/job_\d+")


def _paths(process: Process) -> Iterator[str]:
    for line in process.cgroup.splitlines():
        yield line.split(":", 2)[-1]


def readable(pid: int, proc: str = procfs.PROC) -> bool:
    """True for a process of our own user, and for root any: only of these all can be read.

    What belongs to others is watched when a person names it, and not found by itself.
    """
    return os.geteuid() in (0, procfs.owner(pid, proc))


def container_id(process: Process) -> str | None:
    """Id (64 hex digits) of the process's container; ``None`` outside of containers.

    It is visible only from outside of the container.
    """
    match = _CONTAINER.search(process.cgroup)
    return match[1] if match else None


def other_container(process: Process, ours: Process | None) -> str:
    """Id of the process's container if we are not in it; empty otherwise."""
    container = container_id(process) or ""
    return "" if ours is not None and container_id(ours) == container else container


def unit_of(process: Process) -> str | None:
    """Name of the process's systemd service; login and container services do not count."""
    for path in _paths(process):
        units = [unit for unit in _UNIT.findall(path) if not _LOGIN.match(unit)]
        if units:
            return str(units[-1])
    return None


def home_of(process: Process, processes: Processes, ours: Process | None, pane: bool) -> str:
    """``slurm``, ``docker``, ``systemd``, ``nohup``, ``tmux``, ``screen`` or ``process``.

    ``ours`` is the process of middlewatch: a container or unit that it is in as well counts as the
    box. ``pane``: the terminal of the run is a tmux pane. ``nohup`` is checked before tmux because
    a run with nohup survives the end of its tmux server.
    """
    environ = process.environ
    if _SLURM.search(process.cgroup) or "SLURM_JOB_ID" in environ:
        return "slurm"
    if other_container(process, ours):
        return "docker"
    unit = unit_of(process)
    if unit and (ours is None or unit_of(ours) != unit):
        return "systemd"
    if process.ignores_hangup and not (ours is not None and ours.ignores_hangup):
        return "nohup"
    above = {parent.comm.partition(":")[0].lower() for parent in processes.ancestors(process)}
    if pane or "tmux" in above:
        return "tmux"
    return "screen" if "screen" in above else "process"
