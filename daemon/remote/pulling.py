"""Bring the runs of a box home: ask for the manifest, copy, prove, and only then sign.

What the proof finds wrong is sent again and proved again, at most :data:`ROUNDS` times in all; so is
what changed on the box meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..report.index_file import strict
from ..system.clock import Clock, iso
from ..system.errors import MiddlewatchError
from ..system.files import write_whole
from . import manifest as manifests
from . import receipt
from .connection import Box
from .loading import load_here, load_on_box
from .manifest import BoxName, Manifest, OneFile, RunFiles
from .proof import HISTORY, Entry, Proof, Reader, Wrong
from .transfer import Portion, Transfer, check_room

ROUNDS = 3
"""Our choice: a byte that is damaged on the way is rare; what is wrong three times has another cause."""

Progress = Callable[[str, int, int], None]
"""Is called with what is done now, the bytes so far and the bytes in all."""


@dataclass(slots=True)
class Result:
    """What became of one run; a row of ``pull --json``."""

    run: str
    state: str
    ok: bool = False
    """It was brought home whole, and proved."""
    files: int = 0
    bytes: int = 0
    checkpoints: list[Entry] = field(default_factory=list)
    damaged: list[Entry] = field(default_factory=list)
    wrong: list[dict[str, str]] = field(default_factory=list)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    repeats: int = 0
    receipt: str | None = None


ReadLogs = Callable[[str, Sequence[str]], list[dict[str, Any]]]
"""Reads logs (a folder, and names in it) and says what is in them."""


class Puller:
    """Brings runs of one box to one folder."""

    def __init__(
        self,
        box: Box,
        dest: str,
        clock: Clock,
        progress: Progress,
        *,
        read_logs: ReadLogs,
        python: str | None = None,
        limit_bytes_per_s: int = 0,
    ) -> None:
        self._box = box
        self._dest = dest
        self._clock = clock
        self._progress = progress
        self._read_logs = read_logs
        self._python = python
        self._transfer = Transfer(box.host, clock, limit_bytes_per_s)

    def manifest(self, run: str | None, *, quick: bool = False) -> Manifest:
        """What the box has. Raises MiddlewatchError."""
        words = ["manifest", "--json", *(["--quick"] if quick else ()), *([run] if run else ())]
        return manifests.parse(self._box.middlewatch(*words, ok=(0, 1)))

    def pull(self, name: BoxName, run: RunFiles) -> Result:
        """Bring one run home whole, and sign for it. Raises MiddlewatchError."""
        folder = f"{self._dest}/{run.run}"
        os.makedirs(folder, mode=0o700, exist_ok=True)
        entry = receipt.take_back(self._dest, run.run, {"id": name.id})
        before = {one["name"]: one for one in entry.get("checkpoints", ())}
        before |= receipt.remembered(folder)
        proof = Proof()
        for left in reversed(range(ROUNDS)):
            if not run.files:
                break
            self.bring(run)
            proof = self._prove(run, before)
            again = [one for one in proof.wrong if one.files]
            if not again or not left:
                break
            _mistrust(folder, again)
            # The box may have written meanwhile: what it has now is what counts.
            run = manifests.chosen(self.manifest(run.run), run.run)[0]
        result = self._result(run, proof)
        if not run.files:
            result.wrong.append({"name": run.run, "why": "the box has no file of this run"})
        if not result.wrong:
            self._load(folder, result)
            with contextlib.suppress(OSError):
                os.sync()  # a receipt for what only the memory has is worth nothing
            self._sign(name, run, result, proof)
        return result

    def bring(self, run: RunFiles) -> None:
        """Copy all files of a manifest, one place after the other."""
        portions = self._portions(run)
        check_room(self._dest, portions)
        whole = sum(sum(one.bytes for one in each.files) for each in portions)
        past = 0
        for each in portions:
            present = each.present()
            label = each.place.name

            def told(count: int, base: int = past + present, label: str = label) -> None:
                self._progress(label, min(base + count, whole), whole)

            self._transfer.bring(each, told)
            past += sum(one.bytes for one in each.files)
        self.keep_history(run)

    def keep_history(self, run: RunFiles) -> None:
        """Write what the box told of the run: status, incidents, and the pages of the watch."""
        told = {
            "run": run.run,
            "state": run.state,
            "status": run.status,
            "incidents": run.incidents,
        }
        text = json.dumps(strict(told), indent=1) + "\n"
        for name, page in {HISTORY: text, **run.pages}.items():
            write_whole(f"{self._dest}/{run.run}/{name}", page, private=True)

    def _portions(self, run: RunFiles) -> list[Portion]:
        by_place: dict[int, list[OneFile]] = {}
        for one in run.files:
            by_place.setdefault(one.place, []).append(one)
        return [
            Portion(
                run.places[number],
                tuple(files),
                f"{self._dest}/{run.run}/{run.places[number].name}",
            )
            for number, files in sorted(by_place.items())
        ]

    def _prove(self, run: RunFiles, before: Mapping[str, Entry]) -> Proof:
        folder, whole = f"{self._dest}/{run.run}", run.bytes

        def told(name: str, done: int) -> None:
            self._progress(f"reading {name}", min(done, whole), whole)

        return Reader(folder, self._clock, told).prove(run, before)

    def _load(self, folder: str, result: Result) -> None:
        """Load the checkpoints that no torch has loaded yet."""
        todo = [one for one in result.checkpoints if one["level"] != "load"]
        if not todo:
            return
        whole = sum(one["bytes"] for one in todo)

        def told(name: str, done: int) -> None:
            self._progress(f"loading {name}", min(done, whole), whole)

        why = load_here(folder, todo, self._python, self._clock, told)
        rest = [one for one in todo if one["level"] != "load"]
        if rest and why:
            on_box = load_on_box(self._box, rest)
            if on_box:
                result.notes.append(f"not loaded here: {why}; not loaded on the box: {on_box}")
        bad = [one for one in todo if one["state"] != "ok"]
        result.damaged += bad
        result.checkpoints = [one for one in result.checkpoints if one not in bad]

    def _result(self, run: RunFiles, proof: Proof) -> Result:
        wrong = [{"name": one.name, "why": one.why} for one in proof.wrong]
        waiting = [{"path": one.path, "step": one.step, "why": one.why} for one in run.waiting]
        if not run.alive:  # nothing will verify them any more
            wrong += [{"name": one.path, "why": one.why} for one in run.waiting]
        unread = [one for one in run.left_out if one.why.startswith(manifests.UNREADABLE)]
        wrong += [{"name": one.path, "why": one.why} for one in unread if not one.checkpoint]
        return Result(
            run.run,
            run.state,
            files=len(run.files),
            bytes=run.bytes,
            checkpoints=proof.checkpoints,
            damaged=proof.damaged,
            wrong=wrong,
            waiting=waiting,
            left_out=[
                {"path": one.path, "why": one.why} for one in run.left_out if not one.checkpoint
            ],
            repeats=self._transfer.repeats,
        )

    def _sign(self, name: BoxName, run: RunFiles, result: Result, proof: Proof) -> None:
        folder = f"{self._dest}/{run.run}"
        result.metrics = self._read_logs(folder, run.logs)
        entry = {
            "name": run.name,
            "state": run.state,
            "alive": run.alive,
            "verified_at": iso(self._clock.now()),
            "files": len(run.files),
            "bytes": run.bytes,
            "bytes_read": proof.read,
            "roster": [
                {
                    "name": run.at_home(one),
                    "path": run.on_box(one),
                    "bytes": one.bytes,
                    "mtime_ns": one.mtime_ns,
                    "digest": one.digest,
                }
                for one in run.files
            ],
            "checkpoints": result.checkpoints,
            "damaged": result.damaged,
            "metrics": result.metrics,
            "left_out": result.left_out,
            "waiting": result.waiting,
        }
        receipt.remember(folder, {one["name"]: one for one in result.checkpoints})
        box = {"id": name.id, "host": name.host, "platforms": name.platforms}
        result.receipt = receipt.sign(self._dest, run.run, box, self._box.host, entry)
        result.ok = True


def _mistrust(folder: str, wrong: Sequence[Wrong]) -> None:
    """Have rsync compare these files block by block, although they have the size and time of the box."""
    for one in wrong:
        for name in one.files:
            path = f"{folder}/{name}"
            with contextlib.suppress(OSError):
                if os.path.islink(path):
                    raise MiddlewatchError(f"{path} is a link, and not written through")
                os.utime(path, (0, 0))
