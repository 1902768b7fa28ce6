"""The checkpoints that a command is about: from the daemon, its state directory, or the disk."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from ..checkpoints import finder, followed, rebuild
from ..checkpoints.formats import names
from ..checkpoints.index import read
from ..checkpoints.ranking import RankingRules
from ..checkpoints.verify import structure
from ..client import Client, RemoteError
from ..system.clock import SystemClock, epoch
from ..system.errors import DaemonUnreachable, UsageError
from . import offline
from .context import client, configuration, state
from .named_files import near

Index = dict[str, Any]
_MOST_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """An index of checkpoints, and the folders that hold them."""

    index: Index
    folders: tuple[str, ...]
    origin: str
    """Where the index is from: ``daemon``, ``state`` (its file, if no daemon runs) or ``disk``."""
    name: str
    """Name of the run, or of the folder for ``--dir``; copies are named after it."""
    shared: frozenset[str] = frozenset()
    """Those of ``folders`` that the run shares with others: what else lies there is not its own."""
    bests: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Path of a checkpoint -> id of the run for which it is the best one. A resumed run saves to
    the same folder, but does not know the metrics in the log of the run before it."""


def select(args: argparse.Namespace) -> Selection:
    """The checkpoints of ``RUN`` or ``--dir DIR``; one that has changed since it was verified
    becomes ``pending``. Raises UsageError when there is no such run or folder.
    """
    if args.run and args.dir:
        raise UsageError("name a run or --dir, not both", "leave one out")
    found = _of_folder(args) if args.dir else _of_run(args)
    _doubt_changed(found.index)
    return dataclasses.replace(found, bests=_bests(args, found.index))


def _bests(args: argparse.Namespace, index: Index) -> dict[str, str]:
    """:attr:`Selection.bests`, by the indexes of all runs; only files that have not changed."""
    found: dict[str, str] = {}
    paths = {entry["path"] for entry in index["checkpoints"]}
    for path in sorted((state(args).root / "runs").glob("*/checkpoints_index.json")):
        told = read(str(path))
        if told is None or told.get("best") not in paths:
            continue
        entry = next((e for e in told["checkpoints"] if e["path"] == told["best"]), None)
        if entry is not None and unchanged(entry, mark_now(entry["path"])):
            found[entry["path"]] = told["run"]
    return found


def from_disk(folder: str, rules: RankingRules) -> Index:
    """An index of the checkpoints in a folder, each verified up to level ``structure``."""
    name, now = os.path.basename(folder), SystemClock().now()
    return rebuild.rebuilt(name, [folder], now, rules, level=structure.LEVEL)


def _of_run(args: argparse.Namespace) -> Selection:
    asked = client(args)
    try:
        status = asked.ask("status", run=args.run)
        index = asked.ask("checkpoints", run=status["run"])
    except DaemonUnreachable:
        return _of_state(args)
    folders = tuple(os.path.normpath(d) for d in status["checkpoint_dirs"])
    run = status["run"].rpartition("-")[0]  # safe in a path, unlike the name itself
    shared = _shared(status)
    return Selection(index, folders, "daemon", run, shared)


def _shared(status: Mapping[str, Any]) -> frozenset[str]:
    known = status.get("checkpoint_folders", ())
    return frozenset(os.path.normpath(f["path"]) for f in known if not f["whole"])


def _of_state(args: argparse.Namespace) -> Selection:
    """The newest index file in the state directory; of the run with that id or name, if given.

    Raises UsageError when there is none.
    """
    root = state(args).root / "runs"
    candidates = []
    for path in root.glob("*/checkpoints_index.json"):
        run = path.parent.name
        if args.run in (None, run, run.rpartition("-")[0]):
            with contextlib.suppress(OSError):
                candidates.append((path.stat().st_mtime, path))
    if not candidates:
        what = f"no run is called {args.run!r}" if args.run else "no run is known"
        raise UsageError(f"{what}, and no daemon answers", "name the folder: --dir DIR")
    path = max(candidates)[1]
    index = _read(str(path))
    run = path.parent.name
    folders = sorted({os.path.dirname(e["path"]) for e in index["checkpoints"]})
    specs = [spec for spec in offline.stored_runs(state(args)) if spec.id == run]
    shared = frozenset(f.path for spec in specs for f in spec.save_folders if not f.whole)
    return Selection(index, tuple(folders), "state", run.rpartition("-")[0] or run, shared)


def _read(path: str) -> Index:
    try:
        with open(path, encoding="utf-8") as file:
            index: Index = json.loads(file.read(_MOST_BYTES))
            assert isinstance(index["checkpoints"], list)
    except (OSError, ValueError, KeyError, TypeError, AssertionError, RecursionError) as error:
        raise UsageError(f"{path} cannot be used: {error}", "name the folder: --dir DIR") from None
    return index


def _of_folder(args: argparse.Namespace) -> Selection:
    folder = os.path.realpath(args.dir)
    if not os.path.isdir(folder):
        if os.path.exists(folder):
            raise UsageError(f"{args.dir} is not a folder", "name the folder that it lies in")
        raise UsageError(f"there is no {args.dir}", near(folder) or "name it with its path")
    name = os.path.basename(folder)
    watched = _watched_here(client(args), folder)
    if watched is not None:
        return Selection(watched, (folder,), "daemon", name)
    index = from_disk(folder, RankingRules.of(configuration(args)))
    return Selection(index, (folder,), "disk", name)


def _watched_here(asked: Client, folder: str) -> Index | None:
    """The daemon's index of the run that saves to this folder; ``None`` without one.

    Unlike an index made from the disk it has what the log said, such as metrics.
    """
    try:
        for run in reversed(asked.ask("runs")):
            own = set(run["checkpoint_dirs"]) - _shared(run)
            if folder in (os.path.realpath(d) for d in own):
                index: Index = asked.ask("checkpoints", run=run["run"])
                return index
    except (DaemonUnreachable, RemoteError):
        pass
    return None


def _doubt_changed(index: Index) -> None:
    """Remove checkpoints that are gone from the index; changed ones become ``pending``."""
    there = []
    for entry in index["checkpoints"]:
        mark = mark_now(entry["path"])
        if mark.files == 0:
            continue
        if not unchanged(entry, mark):
            entry["verified"] = {
                **entry["verified"],
                "state": "pending",
                "detail": "changed since it was verified",
            }
        there.append(entry)
    index["checkpoints"] = there
    paths = {entry["path"] for entry in there}
    for name in ("latest", "best", "resume_from"):
        if index.get(name) not in paths:
            index[name] = None


def mark_now(path: str) -> followed.FilesFingerprint:
    """The fingerprint of a checkpoint's files now; ``files`` is 0 when it is gone."""
    kind: names.Kind | None = "folder" if os.path.isdir(path) else None
    return followed.fingerprint_of(finder.CheckpointPath(path, kind, leftover=False, mtime_ns=0))


def unchanged(entry: Mapping[str, Any], mark: followed.FilesFingerprint) -> bool:
    """True when the fingerprint ``mark`` agrees with the sizes and times in the index."""
    if (entry["bytes"], entry["files"]) != (mark.bytes, mark.files):
        return False
    # The index has milliseconds only.
    return abs(epoch(entry["saved_at"]) - mark.newest_ns / 1e9) < 0.002
