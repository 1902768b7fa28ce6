"""``launch``: a job at a place. ``--print`` shows what the place is given; without it the engine is driven."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import shlex
import time
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import codec

from ..box.audit_line import AuditLine
from ..config.run_spec import RunSpec
from ..config.secrets import mask_values
from ..engines.choice import engine
from ..engines.engine import Begun
from ..jobs import launchers, read
from ..jobs.artefact import Artefact, Here
from ..jobs.job import Job
from ..jobs.mounts import outside
from ..jobs.naming import name_of
from ..jobs.places import render
from ..launch.carried import carried
from ..launch.checkpoint_args import from_argv
from ..launch.record import record, scripts
from ..launch.rehearsal import free_port
from ..resume.phases import PhasePlan, PlannedPhase
from ..system.clock import iso
from ..system.errors import MiddlewatchError, Refused, UsageError
from ..system.private import write_private
from . import console
from .context import taken_state
from .launch_checks import checks
from .launch_folders import launch_folder
from .launch_watch import amend, watched
from .named_command import check_command
from .ordered import how_again
from .phone import say_phone
from .run import show, start_run
from .silence import seconds


def launch(args: argparse.Namespace) -> int:
    """Render the job for its place; show it, or have it started."""
    if args.asked or args.fetched or args.stopped or args.removed:
        from . import launch_after

        return launch_after.done(args)
    job = _job(args)
    stamp = time.strftime("%Y%m%d-%H%M")
    here = Here(
        name=name_of(job, stamp),
        environ=frozenset(os.environ),
        hosts=tuple(word for word in (args.hosts or "").split(",") if word),
        free_port=free_port() if job.main.port == 0 else 0,
        texts=carried(job) if args.on == "kaggle" else {},
    )
    artefact = render(args.on, job, here)
    if args.shown:
        _show(args, here.name, artefact)
        return 0
    lines = _checked(args, job)
    if args.on == "local":
        return _here(args, job, here, artefact, lines)
    return _elsewhere(args, job, here, artefact, lines)


def _job(args: argparse.Namespace) -> Job:
    """The job of the file or of the command, with what the command line says instead."""
    command: list[str] = args.command
    if args.job and not args.job.endswith(".toml") and not command:
        raise UsageError(
            f"{args.job} is no job file (it ends in .toml)",
            f"a command stands behind --: middlewatch launch -- {args.job}",
        )
    if args.job:
        job = read.read(Path(args.job))
        if command:  # more words for the command of the file
            job = read.changed(job, command=(*job.main.command, *command))
    elif command:
        job = read.of_command(command, str(Path.cwd()))
    else:
        raise UsageError("nothing to launch", "middlewatch launch job.toml, or: launch -- CMD")
    more: dict[str, Any] = {
        key: value
        for key in ("name", "gpus", "nodes", "again")
        if (value := getattr(args, key)) is not None
    }
    if any(value < 0 for key, value in more.items() if key != "name"):
        raise UsageError(
            "--gpus, --nodes and --again are numbers of 0 or more", "--gpus 8 --nodes 2"
        )
    if args.max_time is not None:
        more["max_time_s"] = 0.0 if args.max_time == "0" else seconds(args.max_time)
    return read.changed(job, **more) if more else job


def _checked(args: argparse.Namespace, job: Job) -> list[AuditLine]:
    """The table of what is looked at before paid time. Raises Refused where the job would fail."""
    lines = checks(job, args.on)
    bad = [f"{line.what}: {line.detail}" for line in lines if line.state == "bad"]
    if bad and not args.force:
        raise Refused(
            f"not started, as it would fail: {'; '.join(bad)}", "to start it all the same: --force"
        )
    return lines


def _show(args: argparse.Namespace, name: str, artefact: Artefact) -> None:
    if args.json:
        console.as_json({"name": name, **dataclasses.asdict(artefact)})
        return
    for file, text in artefact.files.items():
        console.say(f"# --- {file}")
        for line in text.rstrip("\n").split("\n"):
            console.say(line)
        console.say()
    for number, words in enumerate(artefact.commands):
        host = artefact.hosts[number] if artefact.hosts else ""
        if host:
            console.say(f"# --- on {host}")
        console.say(shlex.join(words))
    for note in artefact.notes:
        console.complain(f"note: {note}")


def workdir(job: Job) -> Path:
    """Where the command starts. Raises UsageError when it is not there."""
    place = Path(job.folder, job.main.workdir)
    if not place.is_dir():
        raise UsageError(f"there is no folder {place} to start in", "workdir under [job] names it")
    return place.resolve()


def _here(
    args: argparse.Namespace, job: Job, here: Here, artefact: Artefact, lines: list[AuditLine]
) -> int:
    """Started as `run` starts it."""
    if job.main.nodes > 1:
        raise UsageError(artefact.notes[-1], "or nodes = 1")
    command, plan = artefact.commands[0], _plan(args, job, here, artefact)
    cwd = workdir(job)
    saves = job.main.checkpoints or next(iter(from_argv(launchers.command(job), str(cwd))), "")
    os.chdir(cwd)
    check_command(launchers.command(job))
    started = start_run(
        args,
        RunSpec(
            name=here.name,
            command=command,
            cwd=str(cwd),
            checkpoint_dirs=(str(cwd / saves),) if saves else (),
            again=job.main.again,
            plan=plan,
            phase=job.phases[0].name if plan else "",
        ),
        env={**os.environ, **job.main.env},
    )
    kept = _record(args, job, here, artefact, run=started["run"], cwd=cwd, checks=lines)
    if args.json:
        console.as_json({**started, "launch": str(kept)})
    else:
        show(started)
        console.say(f"  record       {kept}")
        if job.main.again:
            words = how_again(started["run"], command, str(cwd), job.main.again)
            console.say(f"  again        {words}")
        if job.phases:
            console.say(f"  phases       {', then '.join(one.name for one in job.phases)}")
        _limits(job)
        for line in lines:
            if line.state != "ok":
                console.say(f"  note         {line.what}: {line.detail}")
        for note in artefact.notes:
            console.say(f"  note         {note}")
        say_phone(args)
    return 0


def _plan(args: argparse.Namespace, job: Job, here: Here, artefact: Artefact) -> str:
    """Write down the phases for the daemon, which begins the next one when one has ended well; where.
    Empty: the job has none."""
    if not job.phases:
        return ""
    plan = PhasePlan(
        tuple(
            PlannedPhase(one.name, command, one.steps, one.tokens, one.success)
            for one, command in zip(job.phases, artefact.commands, strict=True)
        )
    )
    path = launch_folder(taken_state(args), here.name) / "plan.json"
    write_private(path, (console.json_text(codec.dump(plan), indent=2) + "\n").encode())
    return str(path)


def _elsewhere(
    args: argparse.Namespace, job: Job, here: Here, artefact: Artefact, lines: list[AuditLine]
) -> int:
    """Given to the engine of the place."""
    driver = engine(args.on)
    missing, hint = driver.missing()
    if missing:
        raise UsageError(missing, hint)
    folder = launch_folder(taken_state(args), here.name)
    for name, text in artefact.files.items():
        write_private(folder / name, text.encode())
        if text.startswith("#!"):
            (folder / name).chmod(0o700)
    try:
        begun = driver.start(artefact, folder)
    except MiddlewatchError:
        with contextlib.suppress(OSError):  # one with files in it stays
            folder.rmdir()
        raise
    kept = _record(
        args, job, here, artefact, begun=begun, folder=folder, cwd=_sources(job), checks=lines
    )
    runs, notes = watched(args, begun)
    if runs:
        amend(kept, run=runs[0], runs=runs)
    notes = [*artefact.notes, *begun.details.get("notes", ()), *notes]
    answer = {
        "name": here.name,
        "run": runs[0] if runs else "",
        "runs": runs,
        "notes": notes,
        "place": args.on,
        "id": begun.id,
        "log": begun.log,
        "look": begun.look,
        "end": begun.end,
        "launch": str(kept),
        "details": dict(begun.details),
    }
    if args.json:
        console.as_json(answer)
        return 0
    console.say(f"{here.name}: {args.on} took it as {begun.id}")
    for what, value in (
        ("watched as", ", ".join(runs)),
        ("log", begun.log),
        ("look at it", begun.look),
        ("end it", begun.end),
        ("record", str(kept)),
    ):
        if value:
            console.say(f"  {what:<12} {value}")
    _limits(job)
    if job.main.again:
        notes.append(
            f"again = {job.main.again} is for runs here; {args.on} has its own way to retry"
        )
    for note in notes:
        console.say(f"  note         {note}")
    if runs:
        say_phone(args)
    return 0


def _sources(job: Job) -> Path:
    """Where the files that the command names lie here: a container may see that folder under another name."""
    given = job.main.workdir
    place = Path(job.folder, outside(job, given) if given.startswith("/") else given)
    return place.resolve() if place.is_dir() else Path(job.folder)


def _limits(job: Job) -> None:
    if job.main.max_time_s:
        until = time.strftime("%d %b %H:%M", time.localtime(_now() + job.main.max_time_s))
        console.say(f"  at most      until {until} (--max-time)")


def _now() -> float:
    return time.time()  # noqa: TID251 - a command, not the resident process


def _record(
    args: argparse.Namespace,
    job: Job,
    here: Here,
    artefact: Artefact,
    *,
    cwd: Path,
    checks: list[AuditLine],
    run: str = "",
    begun: Begun | None = None,
    folder: Path | None = None,
) -> Path:
    path = (folder or taken_state(args).run(run)) / "launch.json"
    command = launchers.command(job)
    files_here = [outside(job, word) or word for word in command] if begun else command
    kept = record(
        run=run,
        place=args.on,
        command=command,
        cwd=cwd,
        scripts=scripts(files_here, cwd),
        env_names=sorted({*os.environ, *job.main.env} if not begun else job.main.env),
        files=artefact.files,
        at=iso(_now()) or "",
        name=here.name,
        labels=job.labels,
        max_time_s=job.main.max_time_s,
        preemptible=job.main.preemptible,
        job=mask_values(dataclasses.asdict(job)),
        engine=dataclasses.asdict(begun) if begun else {},
        checks=[{"what": c.what, "state": c.state, "detail": c.detail} for c in checks],
    )
    write_private(path, (console.json_text(kept, indent=2) + "\n").encode())
    return path
