"""What follows the command of a run: the daemon says it, the supervisor of that run starts it.

Only the supervisor still has the environment of the command when that has ended, and only it stands
outside of the limits and walls of the daemon's service. So the daemon decides, and hands the supervisor
one command line through a FIFO in the folder of the run (:func:`.supervisor.wait_for_next`). That line is
read once: whatever happens to the daemon, it is carried out once or not at all.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import codec

from ..config.run_spec import RunSpec
from ..system.files import write_whole


@dataclass(frozen=True, slots=True)
class Order:
    """What the daemon has ordered: the run that follows, by what it has from the daemon."""

    id: str
    attempt: int = 1
    again: int = 0
    again_used: int = 0
    plan: str = ""
    phase: str = ""
    milestones: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    """The command of the next phase; empty: the same as before."""

    def placed(self, spec: RunSpec) -> RunSpec:
        """The run that is ordered."""
        return replace(
            spec,
            id=self.id,
            attempt=self.attempt,
            again=self.again,
            again_used=self.again_used,
            plan=self.plan,
            phase=self.phase,
            milestones=self.milestones,
        )

    def to_json(self) -> dict[str, Any]:
        """A plain dict for the file."""
        data: dict[str, Any] = codec.dump(self)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Order:
        """Load what :meth:`to_json` gave. Raises ValueError."""
        return codec.load(cls, data)


FIFO = "next"
"""Name of the FIFO in the folder of a run; the output of what was started is beside it."""
ORDER, RESULT = "next.json", "next-result.json"
"""Names of the files with what is ordered, for the command that carries it out, and with what came of it."""
LONGEST = 4096
"""Bytes of a command line: written at once (PIPE_BUF), or not at all."""


def make(folder: Path) -> str:
    """Make the FIFO in the folder of a run; its path. Raises OSError."""
    path = folder / FIFO
    os.mkfifo(path, 0o600)
    return str(path)


def waits(folder: Path) -> bool:
    """Whether a supervisor waits there for a word."""
    fd = _open(folder)
    if fd is not None:
        os.close(fd)
    return fd is not None


def say(folder: Path, words: Sequence[str]) -> bool:
    """Hand the supervisor a command line; none: nothing follows. ``False``: nobody reads it."""
    line = b"\0".join(os.fsencode(word) for word in words) + b"\n"
    if len(line) > LONGEST or b"\n" in line[:-1]:
        raise ValueError("the command line is too long for a FIFO, or has a line break")
    fd = _open(folder)
    if fd is None:
        return False
    try:
        return os.write(fd, line) == len(line)
    except OSError:
        return False
    finally:
        os.close(fd)


def _open(folder: Path) -> int | None:
    """The FIFO for writing; ``None`` where it is not there, is not ours, or nobody reads it."""
    try:
        fd = os.open(folder / FIFO, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT, errno.ELOOP, errno.EACCES, errno.ENOTDIR):
            return None
        raise
    info = os.fstat(fd)
    if stat.S_ISFIFO(info.st_mode) and info.st_uid == os.geteuid():
        return fd
    os.close(fd)
    return None


def write(folder: Path, name: str, doc: dict[str, Any]) -> None:
    """Write an order or a result, whole. Raises OSError."""
    write_whole(str(folder / name), json.dumps(doc, ensure_ascii=False), private=True)


def read(folder: Path, name: str) -> dict[str, Any] | None:
    """An order or a result; ``None`` where there is none that can be read."""
    try:
        found: Any = json.loads((folder / name).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
