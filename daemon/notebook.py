"""Start a training from a notebook so that it outlives the cell, the kernel and the browser.

    from middlewatch.notebook import launch
    run = launch("python train.py --lr 3e-4")
    run.status()
    run.tail()

Every function here types a command of ``middlewatch`` as a child, and returns when that has answered: nothing
stays in the memory of the notebook. After a restart of the kernel, :func:`find` gives the run back.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .config.secrets import mask_lines
from .system.errors import DaemonUnreachable, MiddlewatchError, Refused, UsageError
from .system.worker import module_argv

CALL_S = 120.0
"""Seconds for a command: the first one starts the daemon, and looks at the box before the start. Our choice."""
TAIL_BYTES = 1 << 18
"""Bytes from the end of a log that are read for its last lines; our choice."""
_SHELL = frozenset("|&;<>`")
"""Characters that only a shell understands."""
_ERRORS: Mapping[int, type[MiddlewatchError]] = {
    error.exit_code: error for error in (UsageError, DaemonUnreachable, Refused)
}


class Text(str):
    """A text that a cell shows as it is, not quoted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Run:
    """A run on this box. ``log``: the file of its output."""

    run: str
    name: str
    pid: int | None
    log: str

    def status(self) -> Text:
        """One line: its state, step and loss, and what is wrong."""
        return Text(_typed("status", self.run, "--oneline").strip())

    def facts(self) -> dict[str, Any]:
        """All that is known of it, as ``middlewatch status --json`` prints it."""
        known: dict[str, Any] = json.loads(_typed("status", self.run, "--json"))
        return known

    def tail(self, lines: int = 20) -> Text:
        """The last lines of its log; of a progress bar its newest state. Secrets are masked: notebooks are
        passed on. Raises UsageError when the log cannot be read."""
        try:
            with Path(self.log).open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError as error:
            raise UsageError(f"cannot read {self.log}: {error.strerror}", "run.facts()") from error
        newest = [line.rstrip("\r").rpartition("\r")[2] for line in text.rstrip("\n").split("\n")]
        return Text(mask_lines("\n".join(newest[-lines:])) if lines > 0 else "")

    def end(self, signal: str = "TERM") -> Text:
        """Send it a signal (``TERM``, ``INT``, ``USR1``, ``KILL``) and wait for its end for half a minute."""
        return Text(_typed("end", self.run, "--yes", "--signal", signal).strip())

    def __repr__(self) -> str:
        return (
            f"{self.run}: pid {self.pid}, goes on without this notebook\n"
            f"  log    {self.log}\n"
            f"  then   run.status(), run.tail(), run.end()\n"
            f"  later  middlewatch.notebook.find({self.name!r})"
        )


def launch(
    command: str | Sequence[str] = (),
    *,
    job: str | os.PathLike[str] | None = None,
    name: str | None = None,
    max_time: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    force: bool = False,
) -> Run:
    """Start a command, or the job of a file, as ``middlewatch launch`` does, and return at once.

    ``command``: one text with words as a shell divides them, or the words. ``job``: a job file; the words of
    ``command`` are then added to its own. ``max_time``: like ``"8h"``; ``"0"``: no limit. ``cwd``: where it
    starts, by default where the notebook is. ``env``: more variables. ``force``: start what would fail by what
    is known. ``python`` and the tools beside it are those of the notebook.

    Raises UsageError for what cannot be started, Refused for what would fail.
    """
    words = _words(command) if isinstance(command, str) else [str(word) for word in command]
    if not words and job is None:
        raise UsageError(
            "nothing to launch", 'launch("python train.py"), or launch(job="job.toml")'
        )
    asked = ["launch", "--json"]
    asked += ["--name", name] if name else []
    asked += ["--max-time", max_time] if max_time else []
    asked += ["--force"] if force else []
    asked += [os.path.abspath(job)] if job is not None else []  # noqa: PTH100 - a folder that is gone is told below
    asked += ["--", *words] if words else []
    started = json.loads(_typed(*asked, cwd=cwd, env=env))
    return Run(started["run"], started["name"], started["pid"], started["log"])


def find(name: str) -> Run:
    """The run of that name or id: the living one, else the newest. Raises UsageError if there is none."""
    known = json.loads(_typed("status", name, "--json"))
    logs = [log["path"] for log in known["logs"]]
    return Run(known["run"], known["name"], known["pid"], logs[0] if logs else "")


def _words(command: str) -> list[str]:
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars="".join(_SHELL))
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError as error:
        raise UsageError(
            f"cannot read {command!r}: {error}", 'as words: launch(["python", …])'
        ) from error
    if any(word and _SHELL.issuperset(word) for word in words):
        raise UsageError(
            f"{command!r} is for a shell", 'launch(["bash", "-c", "…"]) hands it to one'
        )
    return words


def _typed(
    *words: str,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """What the command printed. Raises the error of its exit status, with its words."""
    try:
        done = subprocess.run(
            [*module_argv("middlewatch.daemon.cli"), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CALL_S,
            cwd=cwd,
            env=_environment(env or {}),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MiddlewatchError(
            f"middlewatch {words[0]} gave no answer within {CALL_S:.0f} s", "middlewatch doctor"
        ) from error
    except OSError as error:
        raise UsageError(f"cannot start in {cwd}: {error.strerror}", "cwd=…") from error
    if done.returncode in (0, 1):  # 1: it worked, and the answer is bad
        return done.stdout.decode("utf-8", "replace")
    told = done.stderr.decode("utf-8", "replace").strip().removeprefix("middlewatch: ")
    message, _, hint = told.partition("\n")
    raise _ERRORS.get(done.returncode, MiddlewatchError)(message, hint.strip())


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """That of the notebook, with the programs of its own Python first, and without its way to draw pictures:
    a script of another environment does not know it and fails."""
    own = {**os.environ}
    own["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), own.get("PATH", os.defpath)))
    if own.get("MPLBACKEND", "").startswith("module://"):
        del own["MPLBACKEND"]
    return {**own, **more}
