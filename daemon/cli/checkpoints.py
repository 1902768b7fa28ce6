"""``checkpoints``: show the index of a run, as it is or (``--rescan``) made again from the disk."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit.numbers import number, size

from ..box.durability import MarkDurability, PathDurability
from ..checkpoints.index import read
from ..checkpoints.ranking import RankingRules
from ..checkpoints.rebuild import on_disk, rebuilt
from ..client import Client
from ..config.run_spec import RunSpec
from ..config.save_folder import SaveFolder
from ..mirror.source import Copies
from ..report.index_file import write_index
from ..system.clock import SystemClock
from ..system.errors import DaemonUnreachable, UsageError
from . import console, offline
from .context import client, configuration, state, taken_state

Index = dict[str, Any]
Entry = Mapping[str, Any]
BAD = ("corrupt", "incomplete")
_POLL_S = 0.2
_MOST_S = 300.0
"""Longest time the command waits for the daemon to check all structures again. Our choice."""


def checkpoints(args: argparse.Namespace) -> int:
    """Show the index of one run; exit 1 when its newest checkpoint is corrupt or incomplete."""
    if args.dir and not args.rescan:
        raise UsageError("--dir needs --rescan", "middlewatch checkpoints --rescan --dir DIR")
    if args.dir and args.run:
        raise UsageError("name a run or --dir, not both")
    if not args.rescan:
        index = client(args).ask("checkpoints", run=args.run)
    elif args.dir:
        index = _of_folder(args)
    else:
        index = _rescanned(args)
    show(index, as_json=args.json)
    return int(any(c["path"] == index["latest"] and _state(c) in BAD for c in index["checkpoints"]))


# -- made anew -----------------------------------------------------------------------------------


def _of_folder(args: argparse.Namespace) -> Index:
    """An index of the checkpoints in ``--dir``, all verified now; nothing is written."""
    folder = os.path.realpath(args.dir)
    if not os.path.isdir(folder):
        raise UsageError(f"{args.dir} is not a folder")
    return _verified(args, os.path.basename(folder), [folder])


def _rescanned(args: argparse.Namespace) -> Index:
    """The index of a run, made again: by the daemon while it watches the run, else by this command
    (the run has ended, or no daemon runs)."""
    daemon = client(args)
    try:
        asked = daemon.ask("rescan", run=args.run)
    except DaemonUnreachable:
        spec = _stored(args)
        return _written(
            args, spec.id, list(spec.checkpoint_dirs), spec.started_at, spec.save_folders
        )
    if asked["by_daemon"]:
        return _awaited(daemon, asked)
    run: str = asked["run"]
    known = asked.get("checkpoint_folders") or ()
    learnt = [SaveFolder(f["path"], f["why"], f["whole"], tuple(f["names"])) for f in known]
    _written(args, run, asked["checkpoint_dirs"], asked["started_at"], learnt)
    index: Index = daemon.ask("rescan", run=run, rebuilt=True)["index"]
    return index


def _stored(args: argparse.Namespace) -> RunSpec:
    known = offline.stored_runs(state(args))
    if args.run:
        known = [spec for spec in known if args.run in (spec.id, spec.name)]
    if not known:
        what = f"no run is called {args.run!r}" if args.run else "no run is known"
        raise UsageError(f"{what}, and no daemon answers", "name the folder: --rescan --dir DIR")
    return known[0]


def _written(
    args: argparse.Namespace,
    run: str,
    folders: list[str],
    started_at: float | None,
    learnt: Sequence[SaveFolder],
) -> Index:
    """Verify in this process, and replace the index file of the run."""
    path = state(args).checkpoint_index(run)
    before = read(str(path))
    index = _verified(args, run, folders, started_at=started_at, before=before, learnt=learnt)
    Copies.of(before or {}).into(index)
    taken_state(args).make_run(run)
    write_index(str(path), index)
    return index


def _verified(
    args: argparse.Namespace,
    run: str,
    folders: list[str],
    *,
    started_at: float | None = None,
    before: Index | None = None,
    learnt: Sequence[SaveFolder] = (),
) -> Index:
    clock, config = SystemClock(), configuration(args)
    total = sum(each.fingerprint.bytes for each in on_disk(folders, clock.now(), learnt))
    shown = console.ProgressBar(total, clock, shown=console.progress_wanted(as_json=args.json))
    taken: dict[str, int] = {}

    def progress(path: str, done: int, of: int) -> None:
        taken[path] = done
        shown.at(sum(taken.values()), os.path.basename(path.rstrip("/")))

    try:
        return rebuilt(
            run,
            folders,
            clock.now(),
            RankingRules.of(config),
            started_at=started_at,
            before=before,
            progress=progress,
            marked=MarkDurability(PathDurability.of_box(config)),
            learnt=learnt,
        )
    finally:
        shown.clear()


def _awaited(daemon: Client, asked: Mapping[str, Any]) -> Index:
    """Wait until the daemon has checked the structure of every checkpoint again, for at most
    :data:`_MOST_S`. It reads their data later, one after the other."""
    clock = SystemClock()
    until = clock.monotonic() + _MOST_S
    while True:
        index: Index = daemon.ask("checkpoints", run=asked["run"])
        older = [c for c in index["checkpoints"] if (c["verified"]["at"] or "~") < asked["at"]]
        if not older or clock.monotonic() > until:
            break
        clock.sleep(_POLL_S)
    unread = sum(c["verified"]["level"] == "structure" for c in index["checkpoints"])
    if unread and sys.stderr.isatty():
        console.complain(
            f"all structures are checked; the data of {unread} checkpoints is still to be read"
        )
    return index


# -- shown ---------------------------------------------------------------------------------------


def show(index: Entry, *, as_json: bool) -> None:
    """Print an index: as JSON, or as a table with a line per checkpoint."""
    if as_json:
        console.as_json(index)
        return
    known = index["checkpoints"]
    claimed = index.get("claimed")
    if claimed:
        what = "" if claimed["step"] is None else f" of step {number(claimed['step'])}"
        where = f": {console.clean(claimed['path'])}" if claimed["path"] else ""
        console.say(f"the log says a checkpoint{what} was saved at {claimed['at']}{where}")
        console.say("it has not been found on disk yet (watch --checkpoints DIR names its folder)")
    if not known:
        if not claimed:
            console.say("no checkpoint has been seen yet")
        return
    head = ("STEP", "SAVED", "SIZE", "VERIFIED", "LEVEL", "MARKS", "SURVIVES", "DIGEST", "PATH")
    console.table(head, [_row(c, index) for c in known])
    for entry in known:
        detail = entry["verified"]["detail"]
        if detail and _state(entry) != "ok":
            console.say(f"{entry['path']}: {detail}")
    trend = index.get("size_trend")
    if trend:
        each = (
            "" if trend["direction"] == "stable" else f", {_signed(trend['bytes_per_save'])} a save"
        )
        console.say(f"size: {trend['direction']} over {trend['saves']} saves{each}")
    if index.get("best_metric"):
        console.say(f"best by: {index['best_metric']} ({index['best_mode']})")
    good = index["resume_from"] or "none is known to be good"
    pending = [c["path"] for c in known if _state(c) == "pending"]
    if index["resume_from"] is None and pending:
        good += f" yet: {pending[-1]} is being checked"
    console.say(f"would resume from: {good}")


def _row(entry: Entry, index: Entry) -> tuple[object, ...]:
    marks = [*entry["tags"], *(["resume"] if entry["path"] == index["resume_from"] else [])]
    return (
        "-" if entry["step"] is None else number(entry["step"]),
        str(entry["saved_at"] or "-")[:19].replace("T", " "),
        size(entry["bytes"]),
        _state(entry),
        entry["verified"]["level"] or "-",
        ",".join(marks) or "-",
        _survives(entry.get("durability")),
        (entry.get("digest") or "-").rpartition(":")[2][:8],
        entry["path"],
    )


def _survives(known: Entry | None) -> str:
    """What the files survive: a ``destroy`` of the box, only a ``stop``, or ``nothing``;
    ``unknown``, or ``-`` where durability was not examined."""
    if known is None:
        return "-"
    if known["survives_destroy"]:
        return "destroy"
    if known["survives_stop"]:
        return "stop"
    return "nothing" if known["survives_stop"] is False else "unknown"


def _state(entry: Entry) -> str:
    return str(entry["verified"]["state"])


def _signed(count: int) -> str:
    return f"{'-' if count < 0 else '+'}{size(abs(count))}"
