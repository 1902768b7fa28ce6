"""What /proc shows of a process and the container that it is in: does it belong there, does its output
go to the log of the container, does the container end as it does?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from ..system import procfs
from ..system.processes import Process

Voice = Literal["", "main", "init", "shell"]
"""What the exit status of a container says about one process in it: ``main``: it is the status of that
process; ``init``: a small first process passes it on; ``shell``: a script ends with it, or goes on;
empty: nothing."""

INITS = frozenset(("docker-init", "tini", "tini-static", "dumb-init", "catatonit"))
"""First processes that pass the exit status of their only child on."""
SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "busybox"))
_ANCESTORS = 8
"""Processes between the first one of a container and a training: an init and scripts in scripts."""


def belongs(pid: int, first: int, container: str, proc: str = procfs.PROC) -> bool:
    """True when a process is in the control groups of a container whose first process is ``first``.

    Anybody may name a control group of their own like a container; into that of a container nobody gets
    but by its engine.
    """
    theirs = set(_groups(first, container, proc))
    return any(group in theirs for group in _groups(pid, container, proc))


def _groups(pid: int, container: str, proc: str) -> Iterator[str]:
    """The control groups of a container that a process is in: ``4:memory:/docker/ID``."""
    for path in procfs.cgroup(pid, proc).decode(errors="replace").splitlines():
        head, found, rest = path.partition(container)
        if found:
            yield head + found + rest.partition("/")[0]


def voice(pid: int, first: int, proc: str = procfs.PROC) -> Voice:
    """What the exit status of a container whose first process is ``first`` says about process ``pid``."""
    if pid == first:
        return "main"
    found: Voice = "init"
    process = Process(proc, pid)
    for _ in range(_ANCESTORS):
        if process.ppid <= 1:
            return ""
        process = Process(proc, process.ppid)
        if process.comm in SHELLS:
            found = "shell"
        elif process.comm not in INITS:
            return ""
        if process.pid == first:
            return found
    return ""


def prints_there(
    pids: Iterable[int], first: int, *, errors: bool, proc: str = procfs.PROC
) -> bool | None:
    """Whether one of these processes prints to where the first process of the container does, and so to
    its log; with ``errors`` its stderr alone is enough. ``None``: that may not be read."""
    theirs = {procfs.link(f"{proc}/{first}/fd/{fd}") for fd in (1, 2)} - {"", "/dev/null"}
    if not theirs:
        return None
    for pid in pids:
        if any(
            procfs.link(f"{proc}/{pid}/fd/{fd}") in theirs for fd in ((1, 2) if errors else (1,))
        ):
            return True
    return False
