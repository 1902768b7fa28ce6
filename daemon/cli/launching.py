"""``run`` and ``watch``: how a run comes under watch."""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..audit import look_at_gpus
from ..clock import SystemClock
from ..errors import MiddlewatchError, UsageError
from ..launch.checkpoint_args import from_argv
from ..launch.discover import FoundRun, attached, describe, discover
from ..launch.start import Via, launch
from ..runs import Rank, RunSpec, run_id
from . import out
from .context import client, state
from .service import ensure


def run(args: argparse.Namespace) -> int:
    """Start a command that outlives the session, and hand it to the daemon."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("no command to run", "middlewatch run -- python train.py")
    cwd = str(Path.cwd())
    folders = [str(Path(d).absolute()) for d in args.checkpoints] or list(from_argv(command, cwd))
    data = begin(
        args,
        RunSpec(
            name=args.name or _name_of(command),
            command=tuple(command),
            cwd=cwd,
            checkpoint_dirs=tuple(dict.fromkeys(folders)),
        ),
        log=args.log,
        via=args.via,
        keep_buffering=args.keep_buffering,
    )
    if args.json:
        out.as_json(data)
    else:
        show(data)
    return 0


def begin(
    args: argparse.Namespace,
    wanted: RunSpec,
    *,
    log: str | None = None,
    via: Via | None = None,
    keep_buffering: bool = False,
) -> dict[str, Any]:
    """Start the command of ``wanted`` under a new id, and hand it to the daemon.

    ``log``: where its output goes (default: the folder of the run). Returns what
    ``run --json`` prints. Raises UsageError when it cannot be started.
    """
    daemon = ensure(args)
    run = run_id(wanted.name)
    while (folder := state(args).run(run)).exists():  # four digits meet again after a while
        run = run_id(wanted.name)
    output = Path(log).absolute() if log else folder / "output.log"
    if log and output.is_dir():
        raise UsageError(f"{output} is a directory", "name a file with --log")
    started_at = time.time()  # noqa: TID251 - a command, not the resident process
    launched = launch(
        wanted.command,
        name=wanted.name,
        log=output,
        exit_file=folder / "exit.json",
        cwd=wanted.cwd,
        via=via,
        keep_buffering=keep_buffering,
    )
    spec = dataclasses.replace(
        wanted,
        id=run,
        pid=launched.pid,
        start_ticks=launched.start_ticks,
        ranks=(Rank(launched.pid, launched.start_ticks),),
        env_names=tuple(sorted(os.environ)),
        logs=(launched.log,),
        exit_file=launched.exit_file,
        started_at=started_at,
        home=launched.via,
    )
    return {
        **_hand_over(args, spec),
        "name": spec.name,
        "pid": launched.pid,
        "keeper_pid": launched.keeper_pid,
        "via": launched.via,
        "log": launched.log,
        "exit_file": launched.exit_file,
        "checkpoint_dirs": list(spec.checkpoint_dirs),
        "state_dir": daemon["state_dir"],
        "look": launched.look,
    }


def show(started: Mapping[str, Any]) -> None:
    """A run that has just been started, for a person."""
    folders = ", ".join(started["checkpoint_dirs"])
    print(f"{started['run']}: pid {started['pid']}, goes on without this session")
    print(f"  log          {started['log']}")
    print(f"  checkpoints  {folders or 'no folder known (--checkpoints DIR)'}")
    print(f"  status page  {started['status_page']}")
    if started["look"]:
        print(f"  look at it   {started['look']}")
    print(f"  what is true now: middlewatch status {started['run']}")


def _name_of(command: list[str]) -> str:
    scripts = [w for w in command if w.endswith((".py", ".sh"))]
    return Path(scripts[0]).stem if scripts else Path(command[0]).name


def _hand_over(args: argparse.Namespace, spec: RunSpec) -> dict[str, Any]:
    answer = client(args).ask("watch", spec=spec.to_json())
    if not isinstance(answer, dict):
        raise MiddlewatchError("the daemon gave no sensible answer", "is it of another version?")
    return answer


def watch(args: argparse.Namespace) -> int:
    """Put runs under watch that are already going; exit 1 when none was found."""
    specs = _wanted(args)
    if not specs:
        if args.json:
            out.as_json([])
        else:
            print("no training run was found on this box")
            print("  name one: middlewatch watch --pid PID --log FILE")
        return 1
    ensure(args)
    told = []
    for spec in specs:
        answer = _hand_over(args, _plain(spec))
        told.append({**answer, "name": spec.name, "pid": spec.pid, "logs": list(spec.logs)})
        if args.json:
            continue
        verb = "watching" if answer["new"] else "already watched"
        ranks = f", {len(spec.ranks)} ranks" if len(spec.ranks) > 1 else ""
        print(f"{answer['run']}: {verb}, pid {spec.pid}{ranks}, {spec.home}")
        print(f"  log          {', '.join(spec.logs) or 'none found (--log FILE)'}")
        print(f"  checkpoints  {', '.join(spec.checkpoint_dirs) or 'no folder known'}")
        for note in spec.notes:
            print(f"  note         {out.clean(note)}")
    if args.json:
        out.as_json(told)
    return 0


def _wanted(args: argparse.Namespace) -> list[RunSpec]:
    logs = tuple(str(Path(log).absolute()) for log in args.log)
    folders = tuple(str(Path(d).absolute()) for d in args.checkpoints)
    for log in logs:
        if Path(log).is_dir():
            raise UsageError(f"{log} is a directory", "name a log file")
    pane_logs = _pane_folder(args)
    if args.pid is not None:
        found = [describe(args.pid, log_dir=pane_logs)]
    elif logs:
        found = []
        name = args.name or Path(logs[0]).stem
        return [RunSpec(name=name, logs=logs, checkpoint_dirs=folders, home="log only")]
    else:
        found = discover(gpu_pids=_gpu_pids(), log_dir=pane_logs)
    specs: list[RunSpec] = []
    for one in found:
        spec = _readable(one)
        specs.append(
            dataclasses.replace(
                spec,
                logs=logs or spec.logs,
                checkpoint_dirs=folders or spec.checkpoint_dirs,
                name=args.name or spec.name,
            )
        )
    return specs


def _pane_folder(args: argparse.Namespace) -> str | None:
    """Where copies of tmux panes go; ``None`` (their own folder) when we may not write."""
    folder = state(args).root / "panes"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return str(folder)


def _gpu_pids() -> set[int]:
    """Processes that NVML sees on the GPUs, in our pid namespace or not."""
    samples, _ = look_at_gpus(SystemClock())
    return {pid for sample in samples for pid in sample.pids or ()}


def _readable(found: FoundRun) -> FoundRun:
    """A run that prints into a tmux pane gets a log, if tmux lets us."""
    try:
        return attached(found)
    except MiddlewatchError as error:
        return dataclasses.replace(found, notes=(*found.notes, str(error)))


def _plain(spec: RunSpec) -> RunSpec:
    """What the daemon keeps: a found run has fields only the command needs."""
    return RunSpec.from_json(spec.to_json())
