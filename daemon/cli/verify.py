"""``verify``: check whether checkpoints are whole and finite, and whether torch loads them."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Mapping
from typing import Any

from ..checkpoints.followed import FilesFingerprint
from ..checkpoints.load import interpreters, memory_budget
from ..checkpoints.load import loader as loading
from ..checkpoints.verify import bitrot, manifest, structure
from ..checkpoints.verify import levels as checks
from ..checkpoints.verify.skipped import skipped
from ..client import Client, RemoteError
from ..config.run_spec import RunSpec
from ..system.clock import SystemClock
from ..system.errors import DaemonUnreachable, UsageError
from . import console, offline
from .context import client, state
from .named_files import near
from .quarantine import quarantine
from .selection import mark_now

Entry = dict[str, Any]
INTERRUPTED = 130
_AT_ONCE = 500
"""Verdicts in one message: of 1 KiB each, a fraction of what a message may have."""


def verify(args: argparse.Namespace) -> int:
    """Check every checkpoint that is named or is in a named folder; exit 1 when one is not ok."""
    if args.deep and args.level:
        raise UsageError("--deep checks all levels", "leave --level out")
    if args.python and not args.deep:
        raise UsageError(
            "--python is for --deep, which loads the checkpoints with it", "add --deep"
        )
    python = _python(args) if args.deep else None
    if args.path and not any(map(os.path.lexists, args.path)):
        guess = near(args.path[0]) if len(args.path) == 1 else ""
        hint = guess or "name a checkpoint, or its folder"
        raise UsageError(f"there is no {', '.join(args.path)}", hint)
    checking = _Checking(args)
    try:
        checking.read()
        if python is not None:
            checking.load(python)
    except KeyboardInterrupt:
        checking.interrupted = True
    finally:
        checking.bar.clear()
    checking.tell_rest()
    checking.tell_data()
    checking.hand_over(client(args))
    if args.quarantine and not checking.interrupted:
        checking.quarantine()
    if checking.refused:
        raise UsageError(
            f"nothing could be loaded: {checking.refused}", "name a python: --python PATH"
        )
    return checking.status


def _python(args: argparse.Namespace) -> interpreters.Python:
    """The Python to load with. Chosen before the checkpoints are read, which may take hours, so
    that an error shows at once."""
    specs = offline.stored_runs(state(args))
    paths = [os.path.realpath(path) for path in args.path]
    owners = [spec for spec in specs if _saves_to(spec, paths)]
    notes: list[str] = []
    others = [s for s in specs if s not in owners]
    python = interpreters.find(args.python, owners, others, notes, paths)
    for sentence in notes:
        console.complain(f"middlewatch: {sentence}")
    return python


def _saves_to(spec: RunSpec, paths: list[str]) -> bool:
    folders = [os.path.realpath(folder) for folder in spec.checkpoint_dirs]
    return any(
        path == folder or path.startswith(folder + "/") or folder.startswith(path + "/")
        for path in paths
        for folder in folders
    )


class _Checking:
    """One call of the command."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.interrupted = False
        self.refused = ""
        """Why no Python could load anything; empty if one could."""
        self._loaded_by = ""
        self._json: bool = args.json
        self._level: str = args.level or checks.FINITE
        self._deep: bool = args.deep
        self._paths: list[str] = args.path
        self._runs = str(state(args).root / "runs")
        self._found: list[Entry] = []
        self._marks: dict[str, FilesFingerprint] = {}
        """The state of the files when they were verified, of those that did not change meanwhile."""
        self._told = 0
        self._past = 0
        self.bar = self._bar(0)

    @property
    def status(self) -> int:
        """Exit status."""
        if self.interrupted:
            return INTERRUPTED
        return int(any(entry["state"] != "ok" for entry in self._found))

    def read(self) -> None:
        """Check all levels up to the wanted one (``finite`` at most), without torch."""
        inside = [each for path in self._paths for each in _inside(path)]
        known = bitrot.recorded(bitrot.indexes(self._runs, inside))
        by_path = {os.path.realpath(path): entry for path, entry in known.items()}
        before_it = {path: mark_now(path) for path in inside}
        self.bar = self._bar(sum(mark.bytes for mark in before_it.values()))
        for entry in checks.results(self._paths, self._level, self._progress):
            self._past += entry["bytes"]
            mark = mark_now(entry["path"])
            if mark == before_it.get(entry["path"]):
                self._marks[entry["path"]] = mark
            before = by_path.get(os.path.realpath(entry["path"]))
            changed = before and bitrot.why_corrupt(
                before, entry["digest"], mark.bytes, mark.newest_ns / 1e9
            )
            if changed:
                entry = _rotten(entry, changed)
            elif self._level != structure.LEVEL and entry["state"] in ("ok", "unverifiable"):
                state, why = manifest.why_other(entry["path"])
                entry = {**_rotten(entry, why), "state": state} if why else entry
            self._found.append(entry)
            if not self._deep:
                self._tell(len(self._found))

    def load(self, python: interpreters.Python) -> None:
        """Load every checkpoint that passed the other levels with torch."""
        sound = [n for n, entry in enumerate(self._found) if entry["state"] == "ok"]
        self.bar.clear()
        self.bar = self._bar(loading.total([self._found[n]["path"] for n in sound]))
        self._past = 0
        with loading.Loader(python, memory_budget.memory(), SystemClock()) as loader:
            for number in sound:
                entry = self._found[number]
                try:
                    loaded = loader.check(entry["path"], self._progress)
                except loading.NoLoader as error:
                    self.refused = str(error)
                    return
                if loader.torch:
                    self._loaded_by = f"torch {loader.torch} in {python.path} ({python.origin})"
                self._found[number] = loading.raised(entry, loaded)
                self._past += loading.total([entry["path"]])
                self._tell(number + 1)

    def tell_rest(self) -> None:
        """Print the results that have not been printed yet; with ``--json`` all of them."""
        if self._json:
            console.as_json(self._found)
            return
        self._tell(len(self._found))
        if self._loaded_by:
            console.say(f"loaded by {self._loaded_by}")

    def tell_data(self) -> None:
        """Say which files of tensors lie where data lies: they are no saves, and none was opened."""
        for path in () if self.interrupted else self._paths:
            if os.path.isdir(path) and (note := skipped(path, _inside(path)).note()):
                console.complain(note)

    def hand_over(self, daemon: Client) -> None:
        """Tell the daemon, if one runs: its index and its pushes then say the same."""
        found = [
            {
                "paths": [*dict.fromkeys((os.path.abspath(path), os.path.realpath(path)))],  # noqa: PTH100
                "bytes": mark.bytes,
                "saved_at": mark.newest_ns / 1e9,
                **{name: entry[name] for name in ("state", "level", "detail", "digest")},
            }
            for entry in self._found
            if (mark := self._marks.get(path := entry["path"])) is not None
        ]
        with contextlib.suppress(DaemonUnreachable, RemoteError):
            for start in range(0, len(found), _AT_ONCE):
                daemon.ask("verified", found=found[start : start + _AT_ONCE])

    def quarantine(self) -> None:
        """Rename what is bad. What was handed over to the daemon before tells why it is gone."""
        newest = {path: mark.newest_ns / 1e9 for path, mark in self._marks.items()}
        quarantine(self._found, newest, SystemClock().now(), say=self._say)

    def _say(self, text: str) -> None:
        """Beside JSON a sentence goes to standard error."""
        (console.complain if self._json else console.say)(text)

    def _tell(self, count: int) -> None:
        """Print those of the first ``count`` results that have not been printed yet."""
        if self._json:
            return
        fresh, self._told = self._found[self._told : count], max(count, self._told)
        if fresh:
            self.bar.clear()
        for line in checks.rows(fresh):
            console.say(line, flush=True)

    def _bar(self, total: int) -> console.ProgressBar:
        return console.ProgressBar(
            total, SystemClock(), shown=console.progress_wanted(as_json=self._json)
        )

    def _progress(self, path: str, done: int, _total: int) -> None:
        self.bar.at(self._past + done, os.path.basename(path.rstrip("/")))


def _inside(path: str) -> list[str]:
    """The checkpoints under a path; none for one that cannot be read, which is reported when it is
    checked."""
    try:
        return checks.expand(path)
    except OSError:
        return []


def _rotten(entry: Mapping[str, Any], why: str) -> Entry:
    detail = "; ".join(text for text in (why, entry["detail"]) if text)
    return {**entry, "state": "corrupt", "level": "checksum", "detail": detail}
