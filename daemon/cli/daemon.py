"""``daemon``, ``start`` and ``stop``: run the daemon, start it detached, stop it."""

from __future__ import annotations

import argparse
import errno
import faulthandler
import os
import signal
import subprocess
from pathlib import Path
from typing import IO, Any

from ..config.paths import StateDir, config_file
from ..system import descriptors
from ..system.clock import SystemClock
from ..system.control_socket import spare_there
from ..system.errors import DaemonUnreachable, MiddlewatchError, UsageError
from ..system.private import open_private
from ..system.worker import module_argv
from . import console
from .context import client, configuration, state, taken_state
from .phone import say_phone

START_S = 20.0
"""Longest wait for a new daemon to answer, and for one to end. Our choice."""
LOG_BYTES = 1 << 20
"""Size from which the log of a detached daemon is renamed at the next start. Our choice."""


def daemon(args: argparse.Namespace) -> int:
    """Watch in the foreground until ``stop`` or a signal."""
    config = configuration(args)
    faulthandler.enable()
    faulthandler.register(signal.SIGQUIT)
    _be_modest()
    descriptors.raise_limit()
    from ..service.app import App

    App(state(args), config, SystemClock()).run()
    return 0


def _be_modest() -> None:
    """Lower the CPU priority, and make an out-of-memory kill less likely where that is allowed."""
    try:
        os.nice(max(0, 5 - os.nice(0)))  # the unit file may have done it already
        Path("/proc/self/oom_score_adj").write_text("-500", encoding="ascii")
    except OSError:
        return


def start(args: argparse.Namespace) -> int:
    """Start the daemon detached; exit 0 also when it runs already."""
    data = ensure(args)
    if args.json:
        console.as_json(data)
    else:
        verb = "started" if data["started"] else "already runs"
        console.say(f"middlewatch {verb} (pid {data['pid']}), state in {data['state_dir']}")
        say_phone(args)
    return 0


def ensure(args: argparse.Namespace) -> dict[str, Any]:
    """Start a daemon unless one answers.

    Returns its answer to ``ping``, with ``state_dir`` and ``started``. Raises ConfigError for a bad
    configuration, and MiddlewatchError when the new daemon does not answer in :data:`START_S`.
    """
    where = state(args)
    try:
        return _about(client(args).ask("ping"), where, started=False)
    except DaemonUnreachable:
        configuration(args)  # a bad one is reported here, not in the daemon's log
    process = _spawn(args, taken_state(args))
    clock = SystemClock()
    deadline = clock.monotonic() + START_S
    while clock.monotonic() < deadline:
        try:
            return _about(client(args).ask("ping"), where, started=True)
        except DaemonUnreachable:
            if process.poll() is not None:
                break
            clock.sleep(0.05)
    words = _last_words(where.daemon_log)
    raise MiddlewatchError(f"the daemon did not start: {words}", f"its log: {where.daemon_log}")


def _about(answer: dict[str, Any], where: StateDir, *, started: bool) -> dict[str, Any]:
    return {**answer, "state_dir": str(where.root), "started": started}


def _spawn(args: argparse.Namespace, where: StateDir) -> subprocess.Popen[bytes]:
    # Not with -m, which would search the working directory first.
    command = [*module_argv("middlewatch.daemon.cli"), "daemon", "--state-dir", str(where.root)]
    env = dict(os.environ)
    if args.config:
        command += ["--config", str(Path(args.config).absolute())]
    elif env.get("MIDDLEWATCH_CONFIG"):
        env["MIDDLEWATCH_CONFIG"] = str(config_file())  # absolute: the daemon changes folder
    try:
        if where.daemon_log.exists() and where.daemon_log.stat().st_size > LOG_BYTES:
            where.daemon_log.replace(where.daemon_log.with_suffix(".log.1"))
        log = os.fdopen(open_private(where.daemon_log, os.O_WRONLY | os.O_APPEND), "ab")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            console.complain(f"middlewatch: no log of the daemon: {error.strerror}")
            log = os.fdopen(
                os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), "ab"
            )  # the watch is worth more than its log
            return _detach(command, log, env)
        raise UsageError(
            f"the state directory {where.root} cannot be used: {error.strerror}",
            "name another with --state-dir or $MIDDLEWATCH_STATE_DIR",
        ) from error
    return _detach(command, log, env)


def _detach(command: list[str], log: IO[bytes], env: dict[str, str]) -> subprocess.Popen[bytes]:
    with log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env,
            cwd="/",
            start_new_session=True,
            close_fds=True,
        )


def _last_words(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return "it left no log"
    return " | ".join(line.strip() for line in lines[-2:]) or "its log is empty"


def stop(args: argparse.Namespace) -> int:
    """Stop the daemon; exit 0 also when none runs. The runs continue."""
    data = halt(args)
    if args.json:
        console.as_json(data)
    elif data["stopped"]:
        console.say(f"middlewatch stopped (pid {data['pid']}); the runs it watched continue")
    else:
        console.say("middlewatch was not running")
    return 0


def halt(args: argparse.Namespace) -> dict[str, Any]:
    """Stop the daemon if one answers; what ``stop --json`` prints.

    Raises MiddlewatchError when it has not ended after :data:`START_S`.
    """
    try:
        pid = client(args).ask("stop")["pid"]
    except DaemonUnreachable:
        return {"stopped": False, "pid": None}
    clock = SystemClock()
    deadline = clock.monotonic() + START_S
    where = state(args)
    while where.socket.exists() or spare_there(where.root):
        if clock.monotonic() > deadline:
            raise MiddlewatchError(f"the daemon (pid {pid}) does not end", "see its log")
        clock.sleep(0.05)
    return {"stopped": True, "pid": pid}
