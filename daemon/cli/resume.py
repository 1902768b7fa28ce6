"""``resume``: start a run again from its last good checkpoint, or show how."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from middlewatch.sentinels.kit.numbers import number, size, span

from ..checkpoints.verify import levels
from ..client import Client
from ..config.run_spec import RunSpec
from ..launch.next_command import Order
from ..launch.start import Via
from ..resume import plan as resuming
from ..resume.requirements import missing_names, what_is_missing
from ..system.clock import SystemClock
from ..system.errors import Refused, UsageError
from ..system.users import User, user_of
from ..text.similar import meant, named
from . import console
from .context import client, configuration, taken_state
from .folder_lock import hold_folder_lock
from .ordered import carried_out, free_home, set_limit
from .quarantine import quarantine_before_resume
from .run import show, start_run

Row = Mapping[str, Any]
SETTLED_S = 20.0
"""Longest wait for a run that has just ended: the daemon takes eight seconds to read its last lines
and saves. It may wait longer for the exit status, which does not matter here."""
SLOW_BYTES = 1 << 30
"""Bytes from which reading a checkpoint takes more than a second or two: the progress is printed,
at the beginning and after every eight times this."""


def resume(args: argparse.Namespace) -> int:
    """Print how to resume a run, or (``--exec``) resume it.

    Exit 1 when there is no checkpoint to resume from, 4 when resuming is refused. ``--ordered``: by
    order of the daemon, which lies in the folder of the run.
    """
    if args.again is not None:
        return set_limit(args)
    if args.ordered:
        return carried_out(args, go_on)
    return go_on(args, None)


def go_on(args: argparse.Namespace, order: Order | None) -> int:
    """Print how to resume a run, or resume it, by ``order`` of the daemon if there is one."""
    daemon = client(args)
    runs = daemon.ask("runs")
    run = resuming.pick(runs, args.run)
    if run is None:
        raise UsageError(
            f"no run is called {args.run!r}" if args.run else "no run is watched",
            _meant(args.run, runs) if runs else "try `middlewatch run`",
        )
    if not run["command"]:
        raise UsageError(f"the start command of {run['run']} is not known: only its log is watched")
    run = _settled(daemon, run)
    if order is not None and order.command:
        run = {**run, "command": list(order.command)}
    with _alone(args, run):
        who, not_ours = _starter(run)
        plan = _plan(args, daemon, daemon.ask("runs"), run, who, order)
        shown = resuming.as_dict(plan)
        shown["as_user"] = None if who is None else who.name
        if who is not None and not who.is_us:
            shown["warnings"].append(
                f"the command is {who.name}'s: it runs as {who.name}, with a clean environment"
            )
        refusal = _refusal(args, run, shown, order) or (not_ours if args.execute else None)
        shown["allowed"] = refusal is None and shown["checkpoint"] is not None
        shown["started"] = None
        if args.execute and shown["allowed"]:
            shown["started"] = _start(args, run, shown["command"], who, order)
    _print(args, shown)
    if refusal is None:
        return int(not shown["allowed"])
    if args.execute:
        raise refusal
    return refusal.exit_code


def _meant(name: str | None, runs: Sequence[Row]) -> str:
    known = [r["run"] for r in runs]
    near = meant(name, [*(r["name"] for r in runs), *known]) if name else ""
    return near or named(known)


@contextlib.contextmanager
def _alone(args: argparse.Namespace, run: Row) -> Iterator[None]:
    """With ``--exec``, hold the lock of the run's folder. Raises Refused when another resume of
    this run holds it: two trainings that save to one folder spoil each other's checkpoints.
    """
    if not args.execute:
        yield
        return
    folder = taken_state(args).make_run(run["run"])
    with hold_folder_lock(folder, f"another resume of {run['run']} is running"):
        yield


def _settled(daemon: Client, run: Row) -> Row:
    """The run, after the daemon has read its last lines and saves (:data:`SETTLED_S` at most)."""
    clock = SystemClock()
    until = clock.monotonic() + SETTLED_S
    while run["exit"] is not None and run["ended_at"] is None and clock.monotonic() < until:
        clock.sleep(0.25)
        run = daemon.ask("status", run=run["run"])
    return run


def _starter(run: Row) -> tuple[User | None, Refused | None]:
    """The user as whom the run's command may be started, or why it may not be started here.

    A command found on the box was chosen by the user of its process, and may do what that user
    likes: it is never started with the rights of anybody else.
    """
    ours = user_of(os.geteuid(), os.getegid())
    uid = run.get("uid")
    if uid == os.geteuid() or (uid is None and run["home"] == "setsid"):
        return ours, None  # the second: started by `middlewatch run` of a version that kept no user
    if uid is None:
        return None, Refused(
            f"it is not known whose command {run['run']} is: it ran in a container, changed its "
            "user, or was found by an older version",
            "start it by hand, as its user: middlewatch run -- CMD",
        )
    who = user_of(uid, run.get("gid"))
    if who is None:
        return None, Refused(f"user {uid}, whose command it is, is not known on this box")
    if os.geteuid() != 0:
        return None, Refused(
            f"the command is {who.name}'s, and only {who.name} or root can start it as {who.name}",
            f"ask {who.name}, or read it and start it yourself: middlewatch run -- CMD",
        )
    return who, None


def _plan(
    args: argparse.Namespace,
    daemon: Client,
    runs: Sequence[Row],
    run: Row,
    who: User | None,
    order: Order | None,
) -> resuming.ResumePlan:
    now = SystemClock().now()
    index = daemon.ask("checkpoints", run=run["run"])
    incidents = daemon.ask("incidents", run=run["run"], all=True)
    earlier = {
        i["class"]
        for before in resuming.ancestors(runs, run)
        if any(r["run"] == before for r in runs)
        for i in daemon.ask("incidents", run=before, all=True)
    }
    if resuming.was_resumed(runs, run):
        earlier |= {i["class"] for i in incidents}
    if args.from_path:
        path = str(Path(args.from_path).absolute())
        if not Path(path).exists():
            raise UsageError(f"there is no {path}", f"known: middlewatch checkpoints {run['run']}")
        chosen = resuming.named(index, path, _check, now)
    else:
        kind = resuming.framework(run)
        chosen = resuming.choose(index, kind, _check, again=args.execute, now=now)
    asked = args.execute and configuration(args).checkpoints.quarantine
    if asked and chosen.entry is not None and run["ended_at"] is not None:
        left = quarantine_before_resume(chosen.skipped, say=console.complain)
        chosen = replace(chosen, skipped=tuple(left))
    retry = resuming.retry_of(run["state"], incidents, earlier)
    if order is not None and order.command:
        retry = resuming.NOTHING  # the daemon has judged how the phase before ended
    environment = os.environ if who is None or who.is_us else who.environment()
    missing = missing_names(run.get("env_names") or (), environment)
    older = resuming.before_trouble(index, retry)
    return resuming.plan(run, runs, chosen, retry, missing, older)


def _check(path: str) -> dict[str, Any]:
    """Verify a checkpoint in full, now; prints the progress for a large one."""
    began = 0

    def tell(file: str, done: int, total: int) -> None:
        nonlocal began
        if total > SLOW_BYTES and done >= began:
            began = done + SLOW_BYTES * 8
            console.complain(f"reading {file}: {size(done)} of {size(total)}")

    return levels.describe(path, progress=tell)


def _refusal(args: argparse.Namespace, run: Row, shown: Row, order: Order | None) -> Refused | None:
    """Why the run may not be resumed; ``None`` if it may.

    ``--force`` overrides two reasons: that the handbook advises against a retry, and that it is
    not known whether the command loads a checkpoint. With an ``order`` a person has said by ``--again``
    that the command goes on by itself where its text looks like that.
    """
    if shown["refused"]:
        return Refused("; ".join(shown["refused"]), "end that run first, or let it continue")
    if shown["checkpoint"] is None and args.from_path:
        bad = shown["skipped"][0]
        return Refused(f"{bad['path']} did not pass: {bad['state']}, {bad['detail']}")
    retry = shown["retry"]
    if not retry["allowed"] and not args.force:
        about = f"{retry['class']}: " if retry["class"] else ""
        return Refused(f"{about}{retry['why']}", f"{retry['first_step']} Then: --force")
    if not args.execute or shown["checkpoint"] is None:
        return None
    if lacks := what_is_missing(run["command"], run["cwd"]):
        return Refused(lacks)
    if shown["before"]:
        return Refused("another checkpoint would be loaded", f"first: {'; '.join(shown['before'])}")
    unsure = ("unknown",) if order else ("perhaps", "unknown")
    if shown["how"] in unsure and not args.force:
        return Refused(
            "it is not known whether the command resumes or begins from scratch",
            "start it by hand with `middlewatch run`, or use --force if the command loads its "
            "newest checkpoint by itself",
        )
    return None


def _start(
    args: argparse.Namespace,
    run: Row,
    command: Sequence[str],
    who: User | None,
    order: Order | None,
) -> dict[str, Any]:
    """Start the command as ``run`` does, with the folders of checkpoints and the tmux or systemd
    home of the earlier run."""
    if who is None:
        raise Refused(f"it is not known whose command {run['run']} is")
    home = run["home"]
    spec = RunSpec(
        name=run["name"],
        command=tuple(command),
        cwd=run["cwd"],
        checkpoint_dirs=tuple(run["checkpoint_dirs"]),
        resumed_from=run["run"],
    )
    via = cast(Via, home) if home in ("tmux", "systemd") else None
    if order is not None:
        spec, via = order.placed(spec), free_home(via, spec.name)
    return start_run(args, spec, via=via, user=None if who.is_us else who)


def _print(args: argparse.Namespace, shown: Row) -> None:
    if args.json:
        console.as_json(shown)
        return
    for line in lines(shown):
        console.say(line)
    if shown["started"] is not None:
        show(shown["started"])


def lines(plan: Row) -> list[str]:
    """The plan (as ``resume --json`` has it) as lines for a person."""
    point = plan["checkpoint"]
    rows: list[tuple[str, str]] = []
    if point is not None:
        rows.append(("checkpoint", point["path"]))
        rows.append(("", f"{point['state']} ({point['level']}), verified {point['verified_at']}"))
        rows.append(("lost", _lost(plan)))
        rows.append(("in", plan["cwd"]))
        rows += [("first", words) for words in plan["before"]]
        rows.append(("command", shlex.join(plan["command"])))
        if plan["how"] in ("option", "itself"):
            rows.append(("", plan["words"]))
    rows += [("note", text) for text in plan["warnings"]]
    retry = plan["retry"]
    if retry["class"] is not None or not retry["allowed"]:
        about = f"{retry['class']} ({retry['incident']}): " if retry["class"] else ""
        rows.append(("trouble" if about else "state", f"{about}{retry['why']}"))
        if not retry["allowed"]:
            rows.append(("first step", retry["first_step"]))
            rows.append(("refused", "until that is done; --force resumes all the same"))
    rows += [("refused", text) for text in plan["refused"]]
    return [_head(plan), *(f"  {key:<12} {text}" for key, text in rows)]


def _head(plan: Row) -> str:
    point = plan["checkpoint"]
    if point is None:
        return f"{plan['run']}: nothing to resume from"
    step = "an unknown step" if point["step"] is None else f"step {number(point['step'])}"
    return f"{plan['run']}: resumes from {step}"


def _lost(plan: Row) -> str:
    steps, minutes = plan["step_lost"], plan["minutes_lost"]
    told = "steps unknown" if steps is None else f"{number(steps)} steps"
    return told if minutes is None else f"{told}, {span(minutes * 60)}"
