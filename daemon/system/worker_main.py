"""The child's side of :mod:`.worker`: low priority, ending with the parent, one answer per line.

Run by its path (``python -I -S worker_main.py PARENT FILES WALLS COUNT FOLDER… PROGRAM ARG…``) this
is the leash: a small program that executes PROGRAM in its place, with an own session, a low priority,
a death signal for when the process PARENT ends, at most FILES open files (as its soft limit), and the
walls of that name (:mod:`.walls`; empty: none), with COUNT folders. It has to start fast, so it imports
little.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes longer than all the rest
    from collections.abc import Callable
    from typing import Any, NoReturn

NICE = 10
URGENT = ("notifier",)
"""Walls of the children that keep the priority of the daemon: a push costs half a second of CPU, which at a lower
one takes half a minute where all processors are busy with the training."""
_LONGEST_QUESTION = 64 << 10
# ioprio_set(2): IOPRIO_WHO_PROCESS, 0 = the caller, IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT.
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_WHO_PROCESS, _IDLE_CLASS = 1, 3 << 13
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def step_back() -> None:
    """Take the lowest CPU and disk priority; where that is not possible, do nothing."""
    import contextlib

    with contextlib.suppress(OSError):
        os.nice(19)
    number = _IOPRIO_SET.get(os.uname().machine)
    if number is not None:
        _libc.syscall(number, _WHO_PROCESS, 0, _IDLE_CLASS)


def die_with_parent(parent: int | None = None, how: int = signal.SIGKILL) -> None:
    """Ask the kernel for the signal ``how`` when the thread that started this process ends.

    If this process is no child of ``parent`` any more, that has happened already, and it exits at
    once. The request survives exec, so it may be made before another program is executed.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, how, 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def serve(answer_to: Callable[[bytes], dict[str, Any]], quiet_s: Callable[[], float]) -> None:
    """Answer each line of stdin on stdout, until stdin ends or ``quiet_s()`` seconds pass without
    a question. The beginning of a line longer than 64 KiB is dropped: no question is that long.
    """
    import json
    import select

    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    pending = b""
    while waiting.poll(quiet_s() * 1000):
        chunk = os.read(0, 1 << 16)
        if not chunk:
            return
        *lines, pending = (pending + chunk).split(b"\n")
        if len(pending) > _LONGEST_QUESTION:
            pending = b""
        for line in lines:
            answer = json.dumps(answer_to(line), separators=(",", ":"), allow_nan=False)
            sys.stdout.write(answer + "\n")
            sys.stdout.flush()


def leash(parent: int, files: int, walls: str, folders: list[str], argv: list[str]) -> NoReturn:
    """Execute the program ``argv`` in place of this one, as a worker of process ``parent``."""
    os.setsid()
    die_with_parent(parent)
    os.nice(0 if walls in URGENT else NICE)
    os.closerange(3, 65536)
    try:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    except (OSError, ValueError):  # somebody has changed the limits of this process meanwhile
        pass
    if walls:
        # Imported as what lies beside this program: the package is not known here.
        sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
        __import__("walls").enter(walls, folders)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.exit(f"{argv[0]}: {error.strerror}")


if __name__ == "__main__":
    _count = int(sys.argv[4])
    leash(
        int(sys.argv[1]),
        int(sys.argv[2]),
        sys.argv[3],
        sys.argv[5 : 5 + _count],
        sys.argv[5 + _count :],
    )
