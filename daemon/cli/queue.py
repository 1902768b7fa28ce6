"""``queue``: the cells of a file, each executed once, by a runner that outlives the session."""

from __future__ import annotations

import argparse
import os
import secrets
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

from ..config.paths import config_file
from ..queues.cells import QueueFile
from ..queues.filing import read
from ..queues.places import QueuePlace, place_of
from ..queues.plan import Settings
from ..queues.runner import lives
from ..queues.shards import shard
from ..queues.starting import shown
from ..queues.store import QueueStore
from ..system.clock import SystemClock
from ..system.errors import MiddlewatchError, UsageError
from ..system.private import open_private
from ..system.worker import module_argv
from ..text.similar import meant
from . import console
from .context import state, taken_state
from .daemon import ensure
from .phone import say_phone
from .queue_checks import check_cells, gpu_slots, notes_of
from .queue_roster import as_dict, failed_names, show, status_of

START_S = 90.0
"""Longest wait for the runner to have started the first cells: a fifth of a second each, and 15 s for one
whose supervisor gives no answer. Our choice."""
LOOK_S = 0.5
"""Seconds between two looks while it is waited for the end (our choice)."""


def queue(args: argparse.Namespace) -> int:
    """Start or go on with a queue, or show, stop and retry; exit 1 if cells have failed."""
    path = os.path.realpath(args.file)
    if args.status:
        return _status(args, path)
    if args.shown:
        return _print(args, read(path))
    if args.stop:
        return _stop(args, path)
    file = read(path)
    if not file.cells:
        raise UsageError(f"{args.file} has no cell", "a cell is a line like: base: python train.py")
    place = place_of(taken_state(args), path)
    place.make()
    store = QueueStore(place, SystemClock())
    settings = _settings(args, Settings.of(store.roster.settings))
    mine = tuple(cell for cell in file.cells if shard(settings.shard).has(cell.name))
    notes = notes_of(mine, settings)
    if not args.force:
        known = store.roster.cells
        check_cells([c for c in mine if c.name not in known or known[c.name].standing == "out"])
    ensure(args)
    if not store.roster.uid:
        store.note("queue", file=path, uid=secrets.token_hex(8))
    if args.retry:
        store.note("retry", cells=_retried(args, store))
    store.note("go", settings=settings.to_json())
    _start_runner(args, place, store, {cell.name for cell in mine})
    if args.wait:
        _await_end(place, store)
    return _answer(args, place, store, notes)


def _settings(args: argparse.Namespace, before: Settings) -> Settings:
    """What is asked for, else as it was before. Raises UsageError."""
    made = before
    if args.at_once is not None:
        if args.at_once < 1:
            raise UsageError("--at-once is a number of cells", "--at-once 2")
        made = replace(
            made,
            mode="at-once" if args.at_once > 1 else "serial",
            at_once=args.at_once,
            slots=(),
        )
    if args.each_gpu:
        made = replace(made, mode="each-gpu", at_once=1, slots=gpu_slots(os.environ))
    if args.shard:
        try:
            made = replace(made, shard=str(shard(args.shard)))
        except ValueError as error:
            raise UsageError(str(error), "--shard 1/3") from None
    return made


def _retried(args: argparse.Namespace, store: QueueStore) -> list[str]:
    """Names of the cells to start again. Raises UsageError for one that is not known or not over."""
    cells = store.roster.cells
    names: list[str] = []
    for name in args.retry:
        if name == "failed":
            names += failed_names(store.roster)
            continue
        if name not in cells:
            near = meant(name, cells) or f"see: middlewatch queue {args.file} --status"
            raise UsageError(f"there is no cell {name!r}", near)
        if cells[name].standing not in ("failed", "lost", "elsewhere"):
            raise UsageError(
                f"{name} is {cells[name].standing}: only what failed, is lost or is elsewhere is tried again",
                "to run a finished cell once more, give it another name in the file",
            )
        names.append(name)
    return list(dict.fromkeys(names))


def _start_runner(
    args: argparse.Namespace, place: QueuePlace, store: QueueStore, names: set[str]
) -> None:
    """Have a runner that has read what was written just now, and the cells ``names``. Raises
    MiddlewatchError.

    One is started in any case: if another holds the queue, it ends by itself; if that one was about to
    end, the new one goes on.
    """
    config = args.config or (os.environ.get("MIDDLEWATCH_CONFIG") and config_file()) or ""
    words = [*module_argv("middlewatch.daemon.queues.runner"), str(place.state.root), place.name]
    words.append(str(Path(config).absolute()) if config else "")
    with os.fdopen(open_private(place.log, os.O_WRONLY | os.O_APPEND), "ab") as log:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    clock = store.clock
    until = clock.monotonic() + START_S
    while clock.monotonic() < until:
        store.refresh()
        code = process.poll()
        known = names <= store.roster.cells.keys()
        if store.roster.over or (known and _is_read(store, process.pid, code)):
            return
        if code not in (None, 0, 1):
            break
        clock.sleep(0.05)
    raise MiddlewatchError("the runner of the queue did not start", f"its log: {place.log}")


def _is_read(store: QueueStore, ours: int, code: int | None) -> bool:
    """Whether a runner lives that is ours and has looked at everything, or which ours has found."""
    roster = store.roster
    return lives(roster.runner) and (
        (roster.ready and roster.runner.get("pid") == ours) or code == 0
    )


def _await_end(place: QueuePlace, store: QueueStore) -> None:
    """Wait until the runner is through. Raises MiddlewatchError if it is gone before."""
    while not store.roster.over:
        store.clock.sleep(LOOK_S)
        alive = lives(store.roster.runner)
        store.refresh()
        if not alive and not store.roster.over and not lives(store.roster.runner):
            raise MiddlewatchError(
                "the runner of the queue is gone; cells that run go on",
                f"middlewatch queue {shlex.quote(store.roster.file)} goes on with the rest; {place.log}",
            )


def _answer(
    args: argparse.Namespace, place: QueuePlace, store: QueueStore, notes: list[str]
) -> int:
    status = status_of(place, store, notes)
    if args.json:
        console.as_json(as_dict(status))
    else:
        show(status)
        say_phone(args)
    return int(bool(status.failed) and (args.wait or store.roster.over))


def _known(args: argparse.Namespace, path: str) -> tuple[QueuePlace, QueueStore]:
    place = place_of(state(args), path)
    if not place.journal.exists():
        raise UsageError(f"{args.file} was never started here", f"middlewatch queue {args.file}")
    return place, QueueStore(place, SystemClock())


def _status(args: argparse.Namespace, path: str) -> int:
    place, store = _known(args, path)
    status = status_of(place, store, [])
    if args.json:
        console.as_json(as_dict(status))
    else:
        show(status, whole=True)
    return int(bool(status.failed))


def _stop(args: argparse.Namespace, path: str) -> int:
    place, store = _known(args, path)
    store.note("stop")
    status = status_of(place, store, [])
    if args.json:
        console.as_json(as_dict(status))
        return 0
    running = [row.name for row in status.rows if row.standing == "running"]
    console.say(f"{place.name}: no further cell is started")
    if running:
        console.say(f"  go on        {', '.join(running)} (to end one: middlewatch end NAME)")
    console.say(f"  start again  middlewatch queue {shlex.quote(args.file)}")
    return 0


def _print(args: argparse.Namespace, file: QueueFile) -> int:
    settings = _settings(args, Settings())
    cells = [cell for cell in file.cells if shard(settings.shard).has(cell.name)]
    notes = notes_of(cells, settings)
    if args.json:
        console.as_json(
            {
                "file": file.path,
                "settings": settings.to_json(),
                "cells": [
                    {
                        "cell": cell.name,
                        "line": cell.line,
                        "command": shown(cell.words),
                        "workdir": cell.settings.workdir,
                        "dir": cell.dir,
                        "gpus": cell.settings.gpus,
                        "env_names": sorted(cell.settings.env),
                        "after": [f"{gate.kind}:{gate.what}" for gate in cell.settings.after],
                    }
                    for cell in cells
                ],
                "notes": notes,
            }
        )
        return 0
    for cell in cells:
        console.say(f"{cell.name}: {shlex.join(shown(cell.words))}")
        for gate in cell.settings.after:
            console.say(f"  after   {gate.kind} {gate.what}")
        console.say(f"  folder  {cell.dir}")
    for note in notes:
        console.complain(f"note: {note}")
    return 0
