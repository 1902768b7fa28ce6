"""``mirror``: copy verified checkpoints to a destination, and read the copies back."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..checkpoints.verify import levels
from ..mirror.copy import Copying, destination_of
from ..mirror.receipt import CheckpointGone, CopyJob, MirrorError, is_of, job_for
from ..mirror.source import place_of
from ..mirror.targets import MirrorTarget, parse, same_disk
from ..system.clock import Clock, SystemClock, iso
from ..system.errors import UsageError
from ..system.worker_main import step_back
from . import console
from .context import configuration, state, taken_state
from .selection import Selection, select
from .sizes import size_of

Row = dict[str, Any]


def mirror(args: argparse.Namespace) -> int:
    """Copy verified checkpoints; exit 1 when a copy failed or was not the same when read back."""
    settings = configuration(args).mirror
    text = args.to or settings.to
    if not text:
        raise UsageError(
            "no destination is given", "use --to DEST, or set [mirror] to in the configuration"
        )
    limit = size_of(args.limit) if args.limit else settings.limit_bytes_per_s
    clock = SystemClock()
    try:
        place = parse(text)
    except MirrorError as trouble:
        raise UsageError(str(trouble)) from None
    if args.run and args.dir:
        raise UsageError("name a run or --dir, not both", "leave one out")
    if place.kind == "folder" and os.path.lexists(place.path) and not os.path.isdir(place.path):
        raise UsageError(f"{text} is not a folder", "name a folder on another disk")
    if args.dir:
        _check_apart(place, [args.dir])
    if place.kind == "folder" and not os.path.isdir(place.path):
        raise UsageError(
            f"there is no folder {place.path}: is its disk mounted?",
            f"if it is: mkdir -p {shlex.quote(place.path)}",
        )
    found = select(args)
    _check_apart(place, found.folders)
    rows = []
    with contextlib.suppress(UsageError):  # the mirror keeps a file there
        taken_state(args)
    step_back()
    best_only = args.best_only or settings.best_only
    for entry in _wanted(found.index, best_only=best_only):
        job = _Job(entry, found, place, limit, str(state(args).root / "mirror.json"), args)
        rows.append(job.run(clock, shown=console.progress_wanted(as_json=args.json)))
        if not args.json:
            _show(rows[-1])
    warning = _warning(place, found.folders)
    if args.json:
        console.as_json({"to": text, "run": found.index["run"], "warning": warning, "copies": rows})
    elif not rows:
        which = (
            "no checkpoint is known to be the best" if best_only else "no checkpoint is verified"
        )
        console.say(f"{which}: nothing to copy")
    elif warning:
        console.say(warning)
    return int(any(row["state"] != "ok" for row in rows))


class _Job:
    """Copies one checkpoint; one that was not read in full yet is verified first."""

    def __init__(
        self,
        entry: Row,
        found: Selection,
        place: MirrorTarget,
        limit: int,
        memory: str,
        args: argparse.Namespace,
    ) -> None:
        self._entry = entry
        self._place = place
        self._limit = limit
        self._memory = memory
        folders = [os.path.normpath(folder) for folder in found.folders]
        self._below = place_of(entry["path"], folders, "" if args.dir else found.name)
        self._again: bool = args.check

    def run(self, clock: Clock, *, shown: bool) -> Row:
        """Make the copy; returns its row of ``mirror --json``."""
        entry = self._entry
        row = {"path": entry["path"], "step": entry["step"], "copy": f"{self._place}/{self._below}"}
        row |= {
            "state": "failed",
            "checked": self._again,
            "copied": False,
            "detail": "",
            "digest": None,
            "at": None,
        }
        try:
            copy_job = self._job_of()
            row["bytes"] = copy_job.bytes
            copying = Copying(
                copy_job,
                self._place,
                lambda: str(iso(clock.now())),
                limit_bytes_per_s=self._limit,
                memory=self._memory,
                again=self._again,
            )
            progress = console.ProgressBar(copying.total, clock, shown=shown)

            def tell() -> bool:
                progress.at(copying.done, copy_job.base)
                return False

            try:
                outcome = copying.advance(tell)
            finally:
                copying.close()
                progress.clear()
        except CheckpointGone as trouble:
            return row | {"state": "gone", "detail": str(trouble)}
        except MirrorError as trouble:
            return row | {"detail": str(trouble)}
        assert outcome is not None, "only tell() could stop it, and returns False"
        told = {"digest": outcome.digest, "at": outcome.at, "detail": outcome.detail}
        return row | {"state": "ok", "copied": outcome.copied, **told}

    def _job_of(self) -> CopyJob:
        """What to copy, with its digest. Raises :class:`MirrorError` when it is not ok."""
        entry = self._entry
        verified: Mapping[str, Any] = entry["verified"]
        digest = entry.get("digest")
        bare = job_for(entry["path"], self._below, step=entry["step"], verified=verified)
        if digest is None and not self._is_there(bare):
            found = levels.describe(entry["path"])
            if found["state"] != "ok":
                raise MirrorError(f"{found['state']}: {found['detail']}")
            verified = {**verified, "level": found["level"], "detail": found["detail"]}
            digest = found["digest"]
        return replace(bare, verified=verified, digest=digest)

    def _is_there(self, copy_job: CopyJob) -> bool:
        """True when the destination has a receipt for these files: no need to verify them again."""
        asking = destination_of(self._place, 0).receipt_of(copy_job)
        while True:
            try:
                next(asking)
            except StopIteration as end:
                return is_of(end.value, copy_job)


def _wanted(index: Mapping[str, Any], *, best_only: bool) -> list[Row]:
    """The verified checkpoints to copy, newest first: that one is the most valuable."""
    entries = [e for e in reversed(index["checkpoints"]) if e["verified"]["state"] == "ok"]
    return [e for e in entries if not best_only or e["path"] == index["best"]]


def _check_apart(place: MirrorTarget, folders: Sequence[str]) -> None:
    """Raises UsageError for a destination inside a folder that is copied: a copy there would be
    taken for a checkpoint and copied again."""
    if place.kind != "folder":
        return
    target = os.path.realpath(place.path)
    for folder in map(os.path.realpath, folders):
        if f"{target}/".startswith(f"{folder}/"):
            raise UsageError(
                f"{place.path} is inside the folder that is copied, {folder}",
                "name a folder elsewhere, best on another disk",
            )


def _warning(place: MirrorTarget, folders: Sequence[str]) -> str:
    if place.kind == "folder" and any(same_disk(place.path, folder) for folder in folders):
        return (
            f"{place.path} is on the same file system as the checkpoints: "
            "if that is lost, so are the copies"
        )
    return ""


def _show(row: Row) -> None:
    if row["state"] == "ok":
        what = "copied and read back" if row["copied"] else "there already"
        what += ", read back" if row["checked"] and not row["copied"] else ""
        line = f"{what}: {row['copy']} ({levels.human_bytes(row['bytes'])}, {row['digest']})"
        console.say(line + (f"; {row['detail']}" if row["detail"] else ""))
    else:
        console.say(f"{row['state'].upper()}: {row['path']}: {row['detail']}")
