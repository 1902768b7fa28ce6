"""``manifest``: list what the runs of this box leave behind; ``pull`` and ``teardown`` ask it over ssh."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from middlewatch.sentinels.kit.numbers import size

from ..box.platforms import recognise
from ..checkpoints.index import read
from ..config.paths import StateDir
from ..config.run_spec import ENDED, RunSpec
from ..config.secrets import mask_words
from ..remote.manifest import SCHEMA, BoxName, Manifest, RunFiles, to_json
from ..remote.roster import Roster, RunToList
from ..system import procfs
from ..system.clock import SystemClock, iso
from ..system.errors import DaemonUnreachable, UsageError
from ..system.ownership import name_of
from . import console, offline
from .context import client, configuration, state

_GENTLE = 10
"""Added to the CPU priority, as for other commands that people wait for. Not the lowest: on a box whose
training takes every core this would not end, and somebody at home waits for it.
"""


def manifest(args: argparse.Namespace) -> int:
    """Print the manifest of one run or of all; exit 1 when nothing is there."""
    os.nice(_GENTLE)
    where, notes = state(args), []
    try:
        known = [_of_daemon(args, where, status) for status in client(args).ask("runs")]
    except DaemonUnreachable as error:
        notes.append(f"no daemon answers: {error}")
        known = [_of_store(where, spec) for spec in offline.stored_runs(where)]
    wanted = [one for one in known if args.run in (None, one.run, one.name)]
    if args.run and not wanted:
        raise UsageError(f"no run is called {args.run!r}", "middlewatch runs")
    if not args.run:  # what only may be a training is listed when it is named
        wanted = [one for one in wanted if not (one.status or {}).get("provisional")]
    listed = [Roster(one, quick=args.quick).listed() for one in wanted]
    box = BoxName(
        _box_id(where),
        os.uname().nodename,
        name_of(os.geteuid()),
        [one.id for one in recognise(name=configuration(args).platform.name)],
    )
    made = Manifest(SCHEMA, box, str(iso(SystemClock().now())), listed, args.quick, notes)
    if args.json:
        console.as_json(to_json(made))
    else:
        for run in listed:
            _show(run)
    return int(not any(run.files for run in listed))


def _show(run: RunFiles) -> None:
    files, kept = len(run.files), [c for c in run.checkpoints if c.state == "ok"]
    console.say(
        f"{run.run} ({run.state}): {files:,} files, {size(run.bytes)}, "
        f"{len(kept)} of {len(run.checkpoints)} checkpoints verified"
    )
    for place in run.places:
        console.say(f"  {place.name:<24} {place.root}")
    for one in run.left_out:
        console.say(f"  left out  {one.path}: {one.why}")


def _box_id(where: StateDir) -> str:
    """The same as long as the box is: machine, host name and state directory."""
    told = [os.uname().nodename, str(where.root)]
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            told.append(procfs.read_file(path, 64).decode("ascii", "replace").strip())
        except OSError:
            continue
    try:
        told.append(str(os.stat(where.root).st_ino))
    except OSError:
        told.append("-")
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _of_daemon(args: argparse.Namespace, where: StateDir, status: Mapping[str, Any]) -> RunToList:
    asked, run = client(args), status["run"]
    index = asked.ask("checkpoints", run=run)
    shared = {one["path"] for one in status.get("checkpoint_folders", ()) if not one["whole"]}
    return RunToList(
        run,
        str(status["name"]),
        str(status["state"]),
        _lives(status),
        tuple(os.path.normpath(folder) for folder in status["checkpoint_dirs"]),
        frozenset(os.path.normpath(folder) for folder in shared),
        tuple(_names(status["logs"])),
        str(where.run(run)),
        index["checkpoints"],
        _number(status["now"]["step"]),
        {**status, "command": mask_words(status["command"])},
        tuple(asked.ask("incidents", all=True, run=run)),
    )


def _lives(status: Mapping[str, Any]) -> bool:
    """Whether it may still write: a run of which nothing is known any more counts as alive while its
    process does."""
    if status["state"] in ENDED or status["ended_at"] is not None:
        return False
    pid = status.get("pid")
    return status["state"] != "unknown" or (isinstance(pid, int) and procfs.exists(pid))


def _names(logs: Any) -> Iterator[str]:
    for log in logs:
        yield str(log["path"] if isinstance(log, Mapping) else log)


def _of_store(where: StateDir, spec: RunSpec) -> RunToList:
    index = read(str(where.checkpoint_index(spec.id))) or {"checkpoints": []}
    alive = spec.pid is not None and procfs.start_ticks(spec.pid) == spec.start_ticks
    return RunToList(
        spec.id,
        spec.name,
        "unknown",
        alive,
        tuple(os.path.normpath(folder) for folder in spec.checkpoint_dirs),
        frozenset(os.path.normpath(f.path) for f in spec.save_folders if not f.whole),
        spec.logs,
        str(where.run(spec.id)),
        index["checkpoints"],
        incidents=tuple(offline.stored_incidents(where, everything=True, run=spec.id)),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
