"""``daemon``, ``start``, ``stop``."""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from ..config.paths import StateDir, config_file
from ..system.clock import SystemClock
from ..system.errors import DaemonUnreachable, MiddlewatchError, UsageError
from ..system.worker import module_argv
from . import console
from .context import client, configuration, state

START_S = 20.0
"""Patience for a fresh daemon to answer, and for an old one to go."""
LOG_BYTES = 1 << 20
"""The detached daemon's own log is set aside past this size."""


def daemon(args: argparse.Namespace) -> int:
    """Watch in the foreground until told to stop."""
    config = configuration(args)
    faulthandler.enable()
    faulthandler.register(signal.SIGQUIT)
    _be_modest()
    from ..service.app import App

    App(state(args), config, SystemClock()).run()
    return 0


def _be_modest() -> None:
    """Low CPU priority, and less likely to be the kernel's victim where that is allowed."""
    try:
        os.nice(max(0, 5 - os.nice(0)))  # the unit file may have done it already
        Path("/proc/self/oom_score_adj").write_text("-500", encoding="ascii")
    except OSError:
        return


def start(args: argparse.Namespace) -> int:
    """Start the daemon detached; fine when it runs already."""
    data = ensure(args)
    if args.json:
        console.as_json(data)
    else:
        verb = "started" if data["started"] else "already runs"
        print(f"middlewatch {verb} (pid {data['pid']}), state in {data['state_dir']}")
    return 0


def ensure(args: argparse.Namespace) -> dict[str, Any]:
    """A daemon that answers: the one that runs, or a new one. Raises when there is none."""
    where = state(args)
    try:
        return _about(client(args).ask("ping"), where, started=False)
    except DaemonUnreachable:
        configuration(args)  # say what is wrong with it here, not in a log file
    process = _spawn(args, where)
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
    raise MiddlewatchError(f"the daemon did not come up: {words}", f"its log: {where.daemon_log}")


def _about(answer: dict[str, Any], where: StateDir, *, started: bool) -> dict[str, Any]:
    return {**answer, "state_dir": str(where.root), "started": started}


def _spawn(args: argparse.Namespace, where: StateDir) -> subprocess.Popen[bytes]:
    # Not by -m, which looks in the working directory first: a checkout at /middlewatch is no package.
    command = [*module_argv("middlewatch.daemon.cli"), "daemon", "--state-dir", str(where.root)]
    env = dict(os.environ)
    if args.config:
        command += ["--config", str(Path(args.config).absolute())]
    elif env.get("MIDDLEWATCH_CONFIG"):
        env["MIDDLEWATCH_CONFIG"] = str(config_file())  # it will live in another folder
    try:
        where.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if where.daemon_log.exists() and where.daemon_log.stat().st_size > LOG_BYTES:
            where.daemon_log.replace(where.daemon_log.with_suffix(".log.1"))
        log = where.daemon_log.open("ab")
    except OSError as error:
        raise UsageError(
            f"the state directory {where.root} cannot be used: {error.strerror}",
            "name another with --state-dir or $MIDDLEWATCH_STATE_DIR",
        ) from error
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
    return " | ".join(line.strip() for line in lines[-2:]) or "it said nothing"


def stop(args: argparse.Namespace) -> int:
    """Stop the daemon; fine when none runs. Runs go on without it."""
    try:
        pid = client(args).ask("stop")["pid"]
    except DaemonUnreachable:
        data = {"stopped": False, "pid": None}
    else:
        clock = SystemClock()
        deadline = clock.monotonic() + START_S
        while state(args).socket.exists():
            if clock.monotonic() > deadline:
                raise MiddlewatchError(f"the daemon (pid {pid}) does not end", "see its log")
            clock.sleep(0.05)
        data = {"stopped": True, "pid": pid}
    if args.json:
        console.as_json(data)
    elif data["stopped"]:
        print(f"middlewatch stopped (pid {data['pid']}); the runs it watched go on")
    else:
        print("middlewatch was not running")
    return 0
