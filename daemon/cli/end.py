"""``end`` and ``forget``: a signal to a run, and a run that is over off the list."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import Any

from ..system import procfs
from ..system.clock import SystemClock
from ..system.errors import Refused, UsageError
from . import console
from .context import client


def end(args: argparse.Namespace) -> int:
    """Send a signal to the process group of a run, after asking. Exit status 1 if it is still alive then.

    Raises Refused without an approval, and UsageError for a run that is over or not of this box."""
    number = getattr(signal, f"SIG{args.signal}")
    daemon = client(args)
    status = daemon.ask("status", run=args.run)
    pid, ticks = status["pid"], status["start_ticks"]
    if status["ended_at"] is not None or pid is None:
        raise UsageError(
            f"{status['run']} is over: there is nothing to end", "see: middlewatch runs"
        )
    if procfs.start_ticks(pid) != ticks:
        raise UsageError(
            f"process {pid} is not that of {status['run']} any more", "see: middlewatch status"
        )
    group = _group(pid)
    whom = f"process group {group}" if group else f"process {pid}"
    if not args.yes and not _approved(f"send SIG{args.signal} to {whom} of {status['run']}?"):
        raise Refused(f"{status['run']} was not ended", "say yes, or add --yes")
    daemon.ask("ending", run=status["run"], pid=pid)
    try:
        if group:
            os.killpg(group, number)
        else:
            os.kill(pid, number)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{whom} cannot be signalled: {reason}", "run it as its user") from error
    gone = _gone(pid, ticks, args.wait)
    if args.json:
        console.as_json({"run": status["run"], "pid": pid, "group": group, "ended": gone})
    elif gone:
        console.say(f"{status['run']} has ended")
    else:
        console.say(f"{status['run']} is still alive; SIGKILL cannot be refused: --signal KILL")
    return 0 if gone else 1


def _group(pid: int) -> int | None:
    """The process group of the run, if the run leads it: else other programs may be in it."""
    try:
        return pid if os.getpgid(pid) == pid and pid != os.getpgid(0) else None
    except OSError:
        return None


def _approved(question: str) -> bool:
    if not sys.stdin.isatty():
        return False
    console.complain(f"{question} [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _gone(pid: int, ticks: int, wait_s: float) -> bool:
    clock = SystemClock()
    until = clock.monotonic() + wait_s
    while procfs.start_ticks(pid) == ticks and not _dead(pid):
        if clock.monotonic() > until:
            return False
        clock.sleep(0.1)
    return True


def _dead(pid: int) -> bool:
    seen = procfs.stat(pid)
    return seen is None or seen.ended


def forget(args: argparse.Namespace) -> int:
    """Take a run that is over off the list. Its files stay where they are."""
    made: dict[str, Any] = client(args).ask("forget", run=args.run)
    if args.json:
        console.as_json(made)
    else:
        console.say(f"{made['run']} is off the list; its files are kept in {made['folder']}")
    return 0
