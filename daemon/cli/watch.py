"""``watch``: watch runs that have been started already."""

from __future__ import annotations

import argparse
import dataclasses
import os
from pathlib import Path
from typing import Any

from ..box.audit import look_at_gpus
from ..config.run_spec import RunSpec
from ..launch.discover import FoundRun, attached, describe, discover
from ..system.clock import SystemClock
from ..system.errors import MiddlewatchError, UsageError
from . import console
from .context import client, taken_state
from .daemon import ensure
from .named_files import awaited, check_folders, check_log
from .phone import say_phone
from .run import NO_FOLDER, hand_over

NO_LOG = "none found (--log FILE)"
SHOWN = 5
"""Runs that a message names."""
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "fish", "ksh", "tmux", "screen", "sshd", "login"))


def watch(args: argparse.Namespace) -> int:
    """Watch runs that have been started already; exit 1 when none was found."""
    specs = _wanted(args)
    every = args.pid is None and not args.log
    if specs or every:
        ensure(args)
    told = _handed_over(args, specs)
    if every:  # after that: else it may find them itself, and they are not new
        client(args).ask("finding", on=not args.once)
    if args.json:
        console.as_json(told)
        return 0 if specs else 1
    for spec, answer in zip(specs, told, strict=True):
        _say(args, spec, answer)
    if not specs:
        console.say("no training run was found on this box")
    if every and not args.once:
        console.say("new runs of this box will be found and watched, too (watch --once ends that)")
    if not specs:
        console.say("  name one: middlewatch watch --pid PID --log FILE")
        return 1
    say_phone(args)
    return 0


def watch_box(args: argparse.Namespace) -> list[dict[str, Any]]:
    """What ``watch`` with no option does, for another command that has a daemon: the runs it found."""
    options: dict[str, Any] = {
        "pid": None,
        "log": [],
        "checkpoints": [],
        "name": None,
        "once": False,
    }
    args = argparse.Namespace(**{**vars(args), **options})
    told = _handed_over(args, _wanted(args))
    client(args).ask("finding", on=True)
    return told


def _handed_over(args: argparse.Namespace, specs: list[RunSpec]) -> list[dict[str, Any]]:
    """The daemon's answers, one a run."""
    return [
        {
            **hand_over(args, _plain(spec)),
            "name": spec.name,
            "pid": spec.pid,
            "logs": list(spec.logs),
        }
        for spec in specs
    ]


def _say(args: argparse.Namespace, spec: RunSpec, answer: dict[str, Any]) -> None:
    """A run, where its log and its saves are looked for, and what a person ought to know."""
    verb = "watching" if answer["new"] else "already watched"
    ranks = f", {len(spec.ranks)} ranks" if len(spec.ranks) > 1 else ""
    console.say(f"{answer['run']}: {verb}, pid {spec.pid}{ranks}, {spec.home}")
    if not answer["new"]:
        console.say(f"  added        {', '.join(answer['added']) or 'nothing: all is known'}")
        return
    other = "that of its container, if docker may be asked" if spec.container else NO_LOG
    console.say(f"  log          {', '.join(spec.logs) or other}")
    console.say(f"  checkpoints  {', '.join(spec.checkpoint_dirs) or NO_FOLDER}")
    if spec.provisional:
        console.say(f"  provisional  {spec.provisional}: no push until it shows that it trains")
    named = (
        *(spec.logs if args.log else ()),
        *(spec.checkpoint_dirs if args.checkpoints else ()),
    )
    for sentence in awaited(named):
        console.say(f"  note         {sentence}")
    for note in spec.notes:
        console.say(f"  note         {note}")


def _wanted(args: argparse.Namespace) -> list[RunSpec]:
    logs = tuple(str(Path(log).absolute()) for log in args.log)
    folders = tuple(str(Path(d).absolute()) for d in args.checkpoints)
    for log in logs:
        check_log(log, later=args.pid is not None)
    check_folders(folders)
    pane_logs = _pane_folder(args)
    if args.pid is not None:
        found = [_no_shell(describe(args.pid, log_dir=pane_logs))]
    elif logs:
        found = []
        name = args.name or Path(logs[0]).stem
        return [RunSpec(name=name, logs=logs, checkpoint_dirs=folders, home="log only")]
    else:
        found = discover(gpu_pids=_gpu_pids(), log_dir=pane_logs)
        if len(found) > 1 and (args.name or folders):
            what = "--name" if args.name else "--checkpoints"
            raise UsageError(
                f"{what} is for one run, and {len(found)} were found: "
                + ", ".join(f"{one.name} (pid {one.pid})" for one in found[:SHOWN]),
                "name one: --pid PID",
            )
    specs: list[RunSpec] = []
    silent: set[int] = set()
    for one in found:
        spec = _readable(one, silent)
        specs.append(
            dataclasses.replace(
                spec,
                logs=logs or spec.logs,
                checkpoint_dirs=folders or spec.checkpoint_dirs,
                name=args.name or spec.name,
            )
        )
    return specs


def _no_shell(found: FoundRun) -> FoundRun:
    """Raises UsageError for a process that is no run: a shell in which nothing runs, the first process
    of the box, a daemon of ours."""
    words, pid = found.command, found.pid
    program = os.path.basename(words[0]).lstrip("-") if words else ""
    alone = all(rank.pid == pid for rank in found.ranks)
    ours = "middlewatch" in "".join(words[:3]) and "daemon" in words
    waits = program in _SHELLS and not any(not word.startswith("-") for word in words[1:])
    first = pid == 1 and program not in _SHELLS and not program.startswith("python")
    if first or ((waits or ours) and alone):
        what = "a shell" if waits else "a daemon of middlewatch" if ours else "the first of the box"
        raise UsageError(
            f"process {pid} is {what} ({program}), and no training",
            "to find the runs of the box: middlewatch watch",
        )
    return found


def _pane_folder(args: argparse.Namespace) -> str | None:
    """The folder for copies of tmux panes.

    ``None`` when it cannot be created: a copy then goes to the working folder of its run.
    """
    where = taken_state(args)
    try:
        return str(where.make_panes())
    except OSError:
        return None


def _gpu_pids() -> set[int]:
    """Process ids that NVML reports on the GPUs; they may be of another pid namespace."""
    samples, _ = look_at_gpus(SystemClock())
    return {pid for sample in samples for pid in sample.pids or ()}


def _readable(found: FoundRun, silent: set[int]) -> FoundRun:
    """``found``; if it prints into a tmux pane, with a log that copies the pane.

    When the pane cannot be copied, the reason is added to the notes.
    """
    try:
        return attached(found, silent)
    except MiddlewatchError as error:
        return dataclasses.replace(found, notes=(*found.notes, str(error)))


def _plain(spec: RunSpec) -> RunSpec:
    """The spec without the fields of a found run that only this command needs."""
    return RunSpec.from_json(spec.to_json())
