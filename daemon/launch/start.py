"""Start a command so that it survives the end of the SSH session, and record how it ends.

There are three ways to detach it (setsid, tmux, systemd). All run the same supervisor
(:mod:`.supervisor`) and differ only in its parent process; the end of that parent does not end the
command.
"""

from __future__ import annotations

import getpass
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..system.errors import MiddlewatchError, UsageError
from ..system.users import User, check_may_become
from .exit_record import RUN_VARIABLE
from .handshake import Handshake, StartReport, pack

Via = Literal["setsid", "tmux", "systemd"]

REPORT_S = 15.0
"""Seconds to wait for the answer of the supervisor. It takes 50 ms; on a box that swapped, or that
had to start its first tmux server, up to 3 s were measured."""
TOOL_S = 20.0
"""Seconds to wait for ``tmux`` and ``systemd-run`` themselves (our choice)."""
SUPERVISOR = Path(__file__).with_name("supervisor.py")

_UNSAFE = re.compile(r"[^A-Za-z0-9_\-]+")
_PYTHON = re.compile(rb"^(python|pypy)[\d.]*$")


@dataclass(frozen=True, slots=True)
class Launched:
    """A command that was started. ``look`` is a shell command that shows it, or empty."""

    pid: int
    start_ticks: int
    supervisor_pid: int
    via: Via
    log: str
    exit_file: str
    look: str


def launch(
    command: Sequence[str],
    *,
    name: str,
    log: str | Path,
    exit_file: str | Path,
    cwd: str | Path,
    via: Via | None = None,
    keep_buffering: bool = False,
    env: Mapping[str, str] | None = None,
    user: User | None = None,
    following: str = "",
) -> Launched:
    """Start ``command`` detached and return as soon as it runs.

    ``via`` ``None`` means ``setsid``: it needs no tool, works in containers and over SSH, and the
    run is not ended by ``tmux kill-server`` or the clean-up of a systemd unit. ``tmux`` adds a
    session ``mw-NAME`` that shows the log, ``systemd`` a transient unit ``mw-NAME``.

    ``env`` is the environment of the command (default: the caller's); :data:`.RUN_VARIABLE` is
    added to it. Unless ``keep_buffering``, so is ``PYTHONUNBUFFERED=1``, and a command that is not
    Python goes through ``stdbuf -oL -eL`` where that exists: a log that arrives in blocks of
    4 KiB looks like a hang.

    With ``user``, the command runs as that user, with that user's environment and nothing of the
    caller's; only root can do that. Supervisor, log folder and exit file stay the caller's.

    ``following``: the FIFO (:mod:`.next_command`) in which the supervisor waits, once the command has
    ended, for what follows it.

    The log is appended to; its folder and that of the exit file are created. Raises
    UsageError when the command, a path or the chosen tool is not usable, MiddlewatchError
    when the supervisor gives no answer.
    """
    place, log, exit_file = Path(cwd).absolute(), Path(log).absolute(), Path(exit_file).absolute()
    if not command or not command[0]:
        raise UsageError("no command to run", hint="middlewatch run -- python train.py")
    if not place.is_dir():
        raise UsageError(f"{place} is not a directory to start in")
    prepare_log(log)
    _prepare_folder(exit_file)
    other = user is not None and not user.is_us
    # The command of another user gets no terminal of ours: not even that of our tmux.
    chosen = "setsid" if other else via or "setsid"
    check_tool(chosen)
    if user is not None and other:
        check_may_become(user)
        env = user.environment()
    env = dict(os.environ if env is None else env)
    env[RUN_VARIABLE] = str(exit_file)
    command = list(command)
    if not keep_buffering:
        env["PYTHONUNBUFFERED"] = "1"
        if not other:  # it would read the program's file with our rights
            command = line_buffered(command, place, env)
    with Handshake() as handshake:
        supervisor = [sys.executable, "-I", "-S", str(SUPERVISOR), "--name", name]
        supervisor += ["--log", str(log), "--exit-file", str(exit_file)]
        supervisor += ["--orders", handshake.orders, "--report", handshake.report]
        if (
            following and not other
        ):  # what follows has the environment of the command, and our rights
            supervisor += ["--next", following]
        if user is not None and other:
            groups = ",".join(map(str, user.groups))
            supervisor += ["--user", f"{user.uid}:{user.gid}:{groups}"]
        try:
            orders = pack(str(place), command, env)
        except ValueError as error:
            raise UsageError(str(error)) from error
        look = _START[chosen](supervisor, name)
        report = handshake.talk(orders, REPORT_S)
    return _launched(report, command, chosen, log, exit_file, look)


def line_buffered(command: list[str], cwd: Path, env: Mapping[str, str]) -> list[str]:
    """``command`` behind ``stdbuf``, unless it is Python (which does not use C's stdout).

    ``stdbuf`` replaces itself by the command (exec), so the pid stays the same. It works through
    LD_PRELOAD, and is therefore not used for programs that gain nothing from it.
    """
    stdbuf = shutil.which("stdbuf", path=env.get("PATH"))
    if stdbuf is None:
        return command
    search = None if "/" in command[0] else env.get("PATH", os.defpath)
    found = shutil.which(str(cwd / command[0]) if search is None else command[0], path=search)
    if found is None or _is_python(Path(found)):
        return command  # if it was not found, the supervisor reports the error of exec
    return [stdbuf, "-oL", "-eL", *command]


def _is_python(path: Path) -> bool:
    """A Python interpreter, or a script that names one in its first line."""
    if _PYTHON.match(os.fsencode(path.resolve().name)):
        return True
    try:
        with path.open("rb") as file:
            first = file.read(256).partition(b"\n")[0]
    except OSError:
        return False
    words = first[2:].replace(b"/", b" ").split() if first.startswith(b"#!") else []
    return any(_PYTHON.match(word) for word in words)


def _prepare_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot create {path.parent}: {error.strerror}", "name another place: --log FILE"
        ) from error
    if path.is_dir():
        raise UsageError(f"{path} is a directory, not a file", hint=f"for example {path}/run.log")


def prepare_log(log: Path) -> None:
    """Make sure that the supervisor can append to it. Raises UsageError."""
    _prepare_folder(log)
    try:
        with log.open("ab"):
            pass
    except OSError as error:
        raise UsageError(
            f"cannot write the log {log}: {error.strerror}", "name another with --log"
        ) from error


def check_tool(via: Via) -> None:
    """Raises UsageError for a way that this box does not have."""
    if via == "setsid":
        return
    if via == "tmux" and shutil.which("tmux") is None:
        raise UsageError("tmux is not installed", "apt-get install tmux, or --via setsid")
    if via == "systemd":
        if shutil.which("systemd-run") is None or not Path("/run/systemd/system").is_dir():
            raise UsageError("systemd does not run here (a container?)", "--via setsid or tmux")
        if os.geteuid() != 0 and not Path("/var/lib/systemd/linger", getpass.getuser()).exists():
            raise UsageError(
                "systemd ends the units of a user who logs out",
                hint="once: sudo loginctl enable-linger $USER; or --via setsid",
            )


def _via_setsid(supervisor: list[str], name: str) -> str:
    _tool([*supervisor, "--detach"], "the supervisor")
    return ""


def _via_tmux(supervisor: list[str], name: str) -> str:
    session = f"mw-{safe_name(name)}"
    # A wide pane, so that lines of the log are not wrapped before somebody attaches to it.
    command = ["tmux", "new-session", "-d", "-s", session, "-x", "200", "-y", "50", "--"]
    _tool([*command, *supervisor, "--show"], f"tmux session {session}")
    return f"tmux attach -t {session}"


def _via_systemd(supervisor: list[str], name: str) -> str:
    unit = f"mw-{safe_name(name)}"
    user = [] if os.geteuid() == 0 else ["--user"]
    command = ["systemd-run", *user, "--unit", unit, "--collect", "--quiet", *_properties()]
    command += ["--description", f"middlewatch run {name}", "--"]
    command += [word.replace("$", "$$") for word in supervisor]  # systemd would expand $NAME
    _tool(command, f"unit {unit}")
    return " ".join(["systemctl", *user, "status", unit])


def _properties() -> list[str]:
    """Properties with which a unit treats the run like a process started from a shell.

    KillMode=process: the end of the supervisor does not end the run. OOMPolicy=continue: a data
    loader worker killed for memory does not stop the unit. TimeoutStopSec: there is time to write
    a checkpoint on SIGTERM. Limits: those of the caller, not the defaults of services (1024
    files).
    """
    properties = {"KillMode": "process", "OOMPolicy": "continue", "TimeoutStopSec": "15min"}
    for limit in ("NOFILE", "MEMLOCK", "NPROC", "STACK", "CORE"):
        soft, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{limit}"))
        properties[f"Limit{limit}"] = f"{_limit(soft)}:{_limit(hard)}"
    return [f"--property={key}={value}" for key, value in properties.items()]


def _limit(value: int) -> str:
    return "infinity" if value == resource.RLIM_INFINITY else str(value)


def _tool(command: list[str], what: str) -> None:
    """Run the supervisor, tmux or systemd-run until it has detached.

    Raises UsageError with its output when it fails or cannot be run, MiddlewatchError when it does
    not return within :data:`TOOL_S`.
    """
    try:
        with tempfile.TemporaryFile() as said:  # a pipe would stay open in what it detaches
            code = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                timeout=TOOL_S,
                cwd="/",
                check=False,
            ).returncode
            said.seek(0)
            complaint = said.read(2000).decode(errors="replace").strip()
    except subprocess.TimeoutExpired as error:
        raise MiddlewatchError(f"{command[0]} did not answer within {TOOL_S:.0f} s") from error
    except OSError as error:
        raise UsageError(f"cannot run {command[0]}: {error.strerror}") from error
    if code:
        complaint = complaint or f"exit code {code}"
        raise UsageError(f"cannot start {what}: {complaint}", hint="try another --name or --via")


def safe_name(name: str) -> str:
    """``name`` with only the characters that tmux sessions and systemd units may have."""
    return _UNSAFE.sub("-", name).strip("-")[:60] or "run"


def _launched(
    report: StartReport | None, command: list[str], via: Via, log: Path, exit_file: Path, look: str
) -> Launched:
    if report is None:
        raise MiddlewatchError(
            f"the supervisor did not confirm within {REPORT_S:.0f} s that {command[0]} runs",
            hint=f"read {log}; the box may be overloaded or out of memory",
        )
    if report.code:
        raise UsageError(f"cannot start {command[0]}: {report.reason}", hint=f"also in {log}")
    return Launched(
        pid=report.pid,
        start_ticks=report.start_ticks,
        supervisor_pid=report.supervisor_pid,
        via=via,
        log=str(log),
        exit_file=str(exit_file),
        look=look,
    )


_START = {"setsid": _via_setsid, "tmux": _via_tmux, "systemd": _via_systemd}
