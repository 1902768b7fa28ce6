"""What makes sure that a start of a cell happens once or never: a file that exactly one process can make.

The first thing that the started command does is to make its claim, a file that must not exist before
(``set -C``, which is O_EXCL); only then it becomes the command. Whoever wants to know whether a start
that nobody remembers has come that far makes the same file, with words in it: if that succeeds, the command
did not run and never will, whatever is still on its way; if not, it has run. Nothing lies between the two.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..launch.exit_record import RUN_VARIABLE, ExitRecord, read_exit
from ..system import procfs
from ..system.private import write_private
from .roster import Attempt

_SCRIPT = 'set -C; { true 3>"$0"; } 2>/dev/null || exit 75; set +C; exec "$@"'
"""Its status of a start that was given up is "try again later" (sysexits.h); nobody reads it."""


def claiming(claim: Path, command: list[str]) -> list[str]:
    """``command``, which makes ``claim`` first. Its pid stays the same."""
    return ["/bin/sh", "-c", _SCRIPT, str(claim), *command]


def give_up(claim: str) -> bool:
    """True if the command of this claim has not run, and never will from now on. Raises OSError."""
    words = Path(f"{claim}.given-up")
    write_private(words, b"given up\n")
    try:
        os.link(words, claim)  # with its words at once: it may be us who made it, and were killed
    except FileExistsError:
        return os.stat(claim).st_size > 0
    finally:
        words.unlink(missing_ok=True)
    return True


@dataclass(frozen=True, slots=True)
class Seen:
    """What is true of a start now. ``wait``: its supervisor lives, and has not written down yet how it
    ended; ``void``: it never began."""

    what: Literal["running", "wait", "ended", "lost", "void"]
    exit: ExitRecord | None = None
    pid: int | None = None
    ticks: int | None = None
    how: str = ""


def look(attempt: Attempt, boot: str) -> Seen:
    """Look at a start whose process is known. ``boot``: the id of this boot."""
    for _ in range(2):  # a record may be written between the two looks at the processes
        record = read_exit(attempt.exit_file)
        if record is not None:
            return Seen("ended", exit=record)
        if attempt.boot != boot:
            return Seen("lost", how="the box was started anew")
        if _lives(attempt.pid, attempt.ticks):
            return Seen("running", pid=attempt.pid, ticks=attempt.ticks)
        if _lives(attempt.supervisor, attempt.supervisor_ticks):
            return Seen("wait")
    return Seen("lost", how="its process is gone and left no exit record")


def resolve(attempt: Attempt, boot: str) -> Seen:
    """Look at a start of which only the intent is known, and decide it. Raises OSError."""
    if give_up(attempt.claim):
        return Seen("void")
    record = read_exit(attempt.exit_file)
    if record is not None:
        return Seen("ended", exit=record)
    if attempt.boot != boot:
        return Seen("lost", how="the box was started anew")
    pid = process_of(attempt.exit_file)
    if pid is not None:
        return Seen("running", pid=pid, ticks=procfs.start_ticks(pid))
    if supervisor_of(attempt.exit_file) is not None:
        return Seen("wait")
    record = read_exit(attempt.exit_file)
    if record is not None:
        return Seen("ended", exit=record)
    return Seen("lost", how="its process is gone and left no exit record")


def process_of(exit_file: str) -> int | None:
    """The process of the command that was started with this exit file: it leads a session of its own."""
    for pid in procfs.pids():
        leader, _ = procfs.terminal(pid) or (0, 0)
        ours = leader == pid and procfs.environ(pid).get(RUN_VARIABLE) == exit_file
        if ours and procfs.start_ticks(pid) is not None:
            return pid
    return None


def supervisor_of(exit_file: str) -> int | None:
    """The supervisor that writes this exit file."""
    for pid in procfs.pids():
        words = procfs.cmdline(pid)
        if "--exit-file" in words[:-1] and words[words.index("--exit-file") + 1] == exit_file:
            return pid
    return None


def _lives(pid: int | None, ticks: int | None) -> bool:
    return pid is not None and ticks is not None and procfs.start_ticks(pid) == ticks
