"""Where a run lives: what would end it, and what shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def container_id(process: Process) -> str | None:
    """The 64 hex digits of the container it runs in, seen from outside of it."""
    match = _CONTAINER.search(process.cgroup)
    return match[1] if match else None


def unit_of(process: Process) -> str | None:
    """The systemd service it belongs to; a login or a container engine is not one."""
    for path in _paths(process):
        units = [unit for unit in _UNIT.findall(path) if not _LOGIN.match(unit)]
        if units:
            return str(units[-1])
    return None


def home_of(process: Process, processes: Processes, ours: Process | None, pane: bool) -> str:
    """``slurm``, ``docker``, ``systemd``, ``nohup``, ``tmux``, ``screen`` or ``process``.

    ``ours`` is the process that looks: a container or a unit that holds it as well is the
    box, not a home. ``pane``: its terminal is a tmux pane. ``nohup`` goes before tmux because
    such a run outlives the session it was started in.
    """
    environ = process.environ
    if _SLURM.search(process.cgroup) or "SLURM_JOB_ID" in environ:
        return "slurm"
    container = container_id(process)
    if container and (ours is None or container_id(ours) != container):
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
