"""tmux panes: which one a terminal belongs to, and how to copy what it prints into a file.

``pipe-pane`` does not touch the program in the pane: tmux itself copies what the pane shows.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..system.errors import Refused, UsageError

ANSWER_S = 3.0
"""Seconds to wait for a tmux server. It answers in 5 ms; one stopped by SIGSTOP never does."""
_FORMAT = "#{pane_tty}\t#{pane_id}\t#{pane_pipe}\t#{pid}\t#{session_name}"


@dataclass(frozen=True, slots=True)
class Pane:
    """One pane. ``id`` (``%1``) is unique only within the server behind ``socket``."""

    tty: str
    id: str
    session: str
    socket: str
    piped: bool
    """Its output goes to a ``pipe-pane`` command already."""
    server_pid: int


def sockets(environs: Iterable[str] = ()) -> list[str]:
    """Sockets of tmux servers: those that ``$TMUX`` values name, and the usual places."""
    named = [value.rpartition(",")[0].rpartition(",")[0] for value in environs if value]
    base = os.environ.get("TMUX_TMPDIR", "/tmp")
    usual = sorted(str(path) for path in Path(base).glob("tmux-*/*"))
    return [path for path in dict.fromkeys([*named, *usual]) if Path(path).is_socket()]


def panes(socket: str) -> list[Pane]:
    """All panes of the server behind ``socket``; none when it does not answer."""
    try:
        text = _tmux(socket, "list-panes", "-a", "-F", _FORMAT)
    except UsageError:
        return []
    found = []
    for line in text.splitlines():
        parts = line.split("\t", 4)
        if len(parts) == 5 and parts[3].isdecimal():
            tty, pane, piped, pid, session = parts
            found.append(Pane(tty, pane, session, socket, piped == "1", int(pid)))
    return found


def pane_of(tty: str, environs: Iterable[str] = ()) -> Pane | None:
    """The pane whose terminal is ``tty`` (``/dev/pts/3``)."""
    for socket in sockets(environs):
        for pane in panes(socket):
            if pane.tty == tty:
                return pane
    return None


def attach_tmux(
    pane_id: str, log: str | Path, socket: str | None = None, since: str | None = None
) -> None:
    """Append what pane ``pane_id`` prints from now on to ``log``.

    ``since`` is the command as it was typed. If the scroll-back still has that line, the text
    after it is written first, so that the log also has the steps before this call. Without that
    line the scroll-back may belong to another run and is left out.

    Raises Refused when the pane has a pipe already (``pipe-pane -o`` would close it), and
    UsageError when there is no such pane or the log cannot be written.
    """
    log = Path(log).absolute()
    target = ["-t", pane_id]
    if _tmux(socket, "display-message", "-p", *target, "#{pane_pipe}").strip() == "1":
        raise Refused(f"tmux pane {pane_id} is piped somewhere already", "see tmux pipe-pane")
    shown = ""
    if since:
        scroll = _tmux(socket, "capture-pane", "-p", "-J", "-S", "-", *target).rstrip()
        shown = scroll.rpartition(since)[2].partition("\n")[2] if since in scroll else ""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{shown}\n" if shown else "")
    except OSError as error:
        raise UsageError(f"cannot write {log}: {error.strerror}") from error
    _tmux(socket, "pipe-pane", "-o", *target, f"exec cat >> {quoted(str(log))}")


def quoted(path: str) -> str:
    """``path`` quoted for the shell, with tmux's own ``#{…}`` and strftime codes escaped."""
    return shlex.quote(path).replace("#", "##").replace("%", "%%")


def attach_command(pane: Pane, log: str) -> str:
    """The shell command with which a person can do the same as :func:`attach_tmux`."""
    inner = f"exec cat >> {quoted(log)}"
    return f"tmux -S {shlex.quote(pane.socket)} pipe-pane -o -t {pane.id} {shlex.quote(inner)}"


def _tmux(socket: str | None, *args: str) -> str:
    """Output of one tmux command. Raises UsageError with tmux's message when it fails."""
    if shutil.which("tmux") is None:
        raise UsageError("tmux is not installed")
    where = ["-S", socket] if socket else []
    try:
        done = subprocess.run(
            ["tmux", "-u", *where, *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"tmux does not answer: {error}") from error
    if done.returncode:
        raise UsageError(f"tmux: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode("utf-8", errors="surrogateescape")
