"""A run that is started again by itself: the command that does what the daemon has ordered.

The supervisor of the ended run starts it, in the environment of the command (:mod:`..launch.next_command`).
The daemon may have been killed since it gave the order: then it is waited for, and started.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from ..launch import next_command
from ..launch.exit_record import RUN_VARIABLE
from ..launch.next_command import Order
from ..launch.start import TOOL_S, Via, safe_name
from ..resume.commands import continuation
from ..system.clock import SystemClock
from ..system.errors import DaemonUnreachable, MiddlewatchError, UsageError
from ..system.files import write_whole
from . import console
from .context import client, state, taken_state
from .daemon import ensure

RESTART_S = 60.0
"""Seconds for which a daemon that is gone is waited for before one is started (our choice): systemd starts
its own after 2 s."""
HOME_S = 10.0
"""Seconds in which the tmux session or unit of the ended attempt must be gone (our choice)."""
TRIES = 10
"""Daemons that may be killed one after the other while the new attempt is handed over. Our choice."""
HOW = {
    "option": "from its newest good checkpoint",
    "itself": "it loads its newest checkpoint by itself",
    "perhaps": "its text looks as if it loads its newest checkpoint by itself",
}


def carried_out(
    args: argparse.Namespace, go_on: Callable[[argparse.Namespace, Order | None], int]
) -> int:
    """Do what is ordered, and leave what came of it for the daemon. Raises what ``go_on`` raises."""
    os.environ.pop(RUN_VARIABLE, None)  # it names the run that has ended
    folder = taken_state(args).run(args.run or "")
    found = next_command.read(folder, next_command.ORDER)
    if found is None:
        raise UsageError(f"nothing is ordered in {folder}", "leave --ordered out")
    try:
        order = Order.from_json(found)
    except ValueError as error:
        raise UsageError(f"what is ordered in {folder} cannot be read: {error}") from error
    why = "an internal error: see next.log in the folder of the run"
    try:
        _await_daemon(args)
        code = go_on(args, order)
        why = "" if code == 0 else "there is no checkpoint to resume from"
        if order.command and not why:
            _report(args, str(folder / "report.md"))
        return code
    except MiddlewatchError as error:
        why = str(error)
        raise
    finally:
        next_command.write(folder, next_command.RESULT, {"id": order.id, "why": why})


def _report(args: argparse.Namespace, path: str) -> None:
    """Write the report of the phase that is done beside its log; the next one begins without it as well."""
    from .report import markdown

    try:
        write_whole(path, markdown(client(args), args.run), private=True)
    except (OSError, MiddlewatchError) as error:
        console.complain(f"middlewatch: no report of {args.run}: {error}")


def free_home(via: Via | None, name: str) -> Via | None:
    """The tmux session or unit for the new attempt; ``None`` where that of the attempt before stays: two
    cannot have one name."""
    clock = SystemClock()
    until = clock.monotonic() + HOME_S
    while via is not None and _is_taken(via, f"mw-{safe_name(name)}"):
        if clock.monotonic() > until:
            return None
        clock.sleep(0.2)
    return via


def _is_taken(via: Via, name: str) -> bool:
    user = [] if os.geteuid() == 0 else ["--user"]
    words = {
        "tmux": ["tmux", "has-session", "-t", f"={name}"],
        "systemd": ["systemctl", *user, "--quiet", "is-active", name],
    }.get(via)
    if words is None:
        return False
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TOOL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return done.returncode == 0


def insist(args: argparse.Namespace, ask: Callable[[], Any]) -> Any:
    """Ask the daemon; one that is killed meanwhile is waited for: what was started has to be known."""
    for _ in range(TRIES):
        try:
            return ask()
        except DaemonUnreachable:
            _await_daemon(args)
    return ask()


def _await_daemon(args: argparse.Namespace) -> None:
    """Wait for a daemon that answers. When none has come in :data:`RESTART_S`, start one in place of one
    that was killed; raises DaemonUnreachable for one that a person has stopped."""
    clock = SystemClock()
    until = clock.monotonic() + RESTART_S
    while clock.monotonic() < until:
        try:
            client(args).ask("ping")
            return
        except DaemonUnreachable:
            clock.sleep(0.5)
    if not state(args).socket.exists():  # a daemon that ends well takes it away
        raise DaemonUnreachable(
            "the daemon was stopped, and a new attempt would not be watched", "middlewatch start"
        )
    ensure(args)


def set_limit(args: argparse.Namespace) -> int:
    """``resume RUN --again N``: only say how often it may be started again by itself."""
    if args.run is None:
        raise UsageError(
            "--again wants the id or name of a run", "middlewatch resume gpt --again 0"
        )
    if args.execute or args.from_path:
        raise UsageError(
            "--again sets the limit and does nothing else", "leave --exec and --from out"
        )
    answer = client(args).ask("again", run=args.run, most=args.again)
    if args.json:
        console.as_json(answer)
    elif args.again:
        console.say(f"{answer['run']} is started again by itself at most {args.again} times")
    else:
        console.say(f"{answer['run']} is not started again by itself")
    return 0


def how_again(run: str, command: Sequence[str], cwd: str, most: int) -> str:
    """A line for a person who has just started a run with ``--again``."""
    made = continuation(command, cwd, "CHECKPOINT")
    if made.how == "unknown":
        return f"it will not be: {made.words.partition('. ')[0]}"
    off = f"to call it off: middlewatch resume {run} --again 0"
    return f"at most {most} times, {HOW[made.how]}; {off}"
