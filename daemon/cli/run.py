"""``run``: start a command that keeps running after the login session ends, and watch it."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..box.audit_launch import Asked
from ..box.audit_line import AuditLine
from ..box.launch_gate import look
from ..config.paths import StateDir
from ..config.run_spec import Rank, RunSpec, run_id
from ..launch import next_command
from ..launch.checkpoint_args import from_argv
from ..launch.run_names import apart, by_place, kept, named_by_itself
from ..launch.start import Via, check_tool, launch, prepare_log
from ..system.errors import MiddlewatchError, Refused, UsageError
from ..system.private import open_private
from ..system.users import User
from . import console
from .context import client, taken_state
from .daemon import ensure
from .named_command import check_command
from .named_files import awaited, check_folders
from .ordered import how_again, insist
from .phone import say_phone
from .sizes import size_of

NO_FOLDER = "their folder is found when the run saves (or name it: --checkpoints DIR)"


def run(args: argparse.Namespace) -> int:
    """Start a command that keeps running after the session ends, and hand it to the daemon."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("no command to run", "middlewatch run -- python train.py")
    if args.again < 0:
        raise UsageError("--again is a number of 0 or more", "--again 3")
    check_command(command)
    check_folders(args.checkpoints)
    cwd = str(Path.cwd())
    folders = [str(Path(d).absolute()) for d in args.checkpoints] or list(from_argv(command, cwd))
    lines = _checked(args, command, Path(cwd), folders)
    data = start_run(
        args,
        RunSpec(
            name=args.name or "",
            command=tuple(command),
            cwd=cwd,
            checkpoint_dirs=tuple(dict.fromkeys(folders)),
            again=args.again,
        ),
        log=args.log,
        via=args.via,
        keep_buffering=args.keep_buffering,
    )
    data["checks"] = [{"what": c.what, "state": c.state, "detail": c.detail} for c in lines]
    if args.json:
        console.as_json(data)
    else:
        show(data)
        for line in lines:
            if line.state != "ok":
                console.say(f"  note         {line.what}: {line.detail}")
        if args.again:
            console.say(f"  again        {how_again(data['run'], command, cwd, args.again)}")
        for sentence in awaited(folders if args.checkpoints else ()):
            console.say(f"  note         {sentence}")
        say_phone(args)
    return 0


def _checked(
    args: argparse.Namespace, command: Sequence[str], here: Path, folders: Sequence[str]
) -> list[AuditLine]:
    """What is looked at before the start. Raises Refused where the command would fail for certain."""
    if args.saves < 0 or (args.saves and not args.save_size):
        raise UsageError(
            "--saves is a number of saves of --save-size", "--save-size 12GiB --saves 20"
        )
    asked = Asked(tuple(command), size_of(args.save_size) if args.save_size else 0, args.saves)
    lines = look(asked, here, folders, os.environ)
    bad = [f"{line.what}: {line.detail}" for line in lines if line.state == "bad"]
    if bad and not args.force:
        raise Refused(
            f"not started, as it would fail: {'; '.join(bad)}", "to start it all the same: --force"
        )
    return lines


def start_run(
    args: argparse.Namespace,
    wanted: RunSpec,
    *,
    log: str | None = None,
    via: Via | None = None,
    keep_buffering: bool = False,
    env: Mapping[str, str] | None = None,
    user: User | None = None,
) -> dict[str, Any]:
    """Start the command of ``wanted`` under a new id, and hand it to the daemon.

    ``user``: as whom the command runs (default: we). ``env``: its environment (default: ours).
    ``log``: where its output goes (default: the folder of the run). Returns what
    ``run --json`` prints. Raises UsageError when it cannot be started.
    """
    check_tool(via or "setsid")
    if log:
        prepare_log(Path(log).absolute())
    daemon = ensure(args)
    if not wanted.name:
        wanted = dataclasses.replace(wanted, name=_name(args, wanted))
    where = taken_state(args)
    run = wanted.id or run_id(wanted.name)
    while where.run(run).exists():  # an id has four random digits
        if wanted.id:
            raise Refused(f"{run} was begun already", "see whether it runs: middlewatch runs")
        run = run_id(wanted.name)
    folder = where.run(run)
    output = Path(log).absolute() if log else folder / "output.log"
    if log and output.is_dir():
        raise UsageError(f"{output} is a directory", "name a file with --log")
    _make_files(where, run, [folder / "exit.json", *([] if log else [output])])
    ours = user is None or user.is_us
    following = next_command.make(folder) if (wanted.again or wanted.plan) and ours else ""
    started_at = time.time()  # noqa: TID251 - a command, not the resident process
    launched = launch(
        wanted.command,
        name=wanted.name,
        log=output,
        exit_file=folder / "exit.json",
        cwd=wanted.cwd,
        via=via,
        keep_buffering=keep_buffering,
        env=env,
        user=user,
        following=following,
    )
    spec = dataclasses.replace(
        wanted,
        id=run,
        pid=launched.pid,
        start_ticks=launched.start_ticks,
        ranks=(Rank(launched.pid, launched.start_ticks),),
        env_names=tuple(sorted((env or os.environ) if user is None else user.environment())),
        logs=(launched.log,),
        exit_file=launched.exit_file,
        started_at=started_at,
        home=launched.via,
        uid=os.geteuid() if user is None else user.uid,
        gid=os.getegid() if user is None else user.gid,
    )
    return {
        **hand_over(args, spec),
        "name": spec.name,
        "pid": launched.pid,
        "supervisor_pid": launched.supervisor_pid,
        "keeper_pid": launched.supervisor_pid,  # its older name
        "via": launched.via,
        "log": launched.log,
        "exit_file": launched.exit_file,
        "checkpoint_dirs": list(spec.checkpoint_dirs),
        "state_dir": daemon["state_dir"],
        "look": launched.look,
    }


def _make_files(where: StateDir, run: str, paths: list[Path]) -> None:
    """Make the folder of a run and files in it that only we may open. Raises UsageError."""
    try:
        where.make_run(run)
        for path in paths:
            os.close(open_private(path, os.O_WRONLY))
    except OSError as error:
        raise UsageError(f"cannot write {where.run(run)}: {error.strerror or error}") from error


def show(started: Mapping[str, Any]) -> None:
    """Print what :func:`start_run` returned, for a person."""
    folders = ", ".join(started["checkpoint_dirs"])
    console.say(f"{started['run']}: pid {started['pid']}, continues without this session")
    console.say(f"  log          {started['log']}")
    console.say(f"  checkpoints  {folders or NO_FOLDER}")
    console.say(f"  status page  {started['status_page']}")
    if started["look"]:
        console.say(f"  look at it   {started['look']}")
    console.say(f"  current state: middlewatch status {started['run']}")


def _name(args: argparse.Namespace, spec: RunSpec) -> str:
    """The name of a run that was given none: that which the same command had before, or one that tells
    it from the runs that live."""
    known = client(args).ask("runs")
    living = [run for run in known if run["ended_at"] is None]
    taken = {run["name"] for run in living}
    before = (RunSpec(r["name"], command=tuple(r["command"]), cwd=r["cwd"]) for r in known)
    name = named_by_itself(spec.command) or _by_script(spec)
    alike = [tuple(run["command"]) for run in living if run["name"].startswith(name)]
    return kept(spec, before, taken) or apart(
        name, spec.command, alike if name in taken else (), taken
    )


def _by_script(spec: RunSpec) -> str:
    module = next((b for a, b in itertools.pairwise(spec.command) if a == "-m"), "")
    scripts = [w for w in spec.command if w.endswith((".py", ".sh", ".ipynb"))]
    if scripts:
        return by_place(Path(scripts[0]).stem, spec.command, spec.cwd)
    script = module.rpartition(".")[2] or Path(spec.command[0]).name
    return by_place(script, spec.command, spec.cwd)


def hand_over(args: argparse.Namespace, spec: RunSpec) -> dict[str, Any]:
    """Have the daemon watch a run; returns its answer. Raises MiddlewatchError."""
    ask = partial(client(args).ask, "watch", spec=spec.to_json())
    answer = insist(args, ask) if getattr(args, "ordered", False) else ask()
    if not isinstance(answer, dict):
        raise MiddlewatchError(
            "the answer of the daemon cannot be read", "is the daemon of another version?"
        )
    return answer
