"""Is what lies at home what the box has, and is it any good? Every byte is read once.

The roster is exact: every file of the manifest, and no other. A checkpoint is read by the verifier to its
last number, and the digest of that same reading is compared with that of the box. Everything else is
compared by its digest. Where a Python with torch is at hand, checkpoints are loaded as well.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import xxhash

from ..checkpoints.verify import levels
from ..system.clock import Clock, iso
from .manifest import PAGES, OneCheckpoint, OneFile, RunFiles
from .receipt import MEMORY

HISTORY = "history.json"
"""In the folder of a run: its last status and its incidents, as the box told them."""
OWN = frozenset({MEMORY, HISTORY, *PAGES})
_NOT_COUNTED = frozenset({".DS_Store"})
"""What a Mac leaves in folders that somebody has looked at."""
_PIECE = 1 << 20
_MOST_TOLD = 20
LOADED_ON_BOX = "torch on the box"

Told = Callable[[str, int], None]
"""Is called with a name and the bytes read so far."""
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something at home that is not as on the box."""

    name: str
    why: str
    files: tuple[str, ...] = ()
    """Names of the files to send again; empty where that cannot help."""


@dataclass(slots=True)
class Proof:
    """The result of reading all of it."""

    wrong: list[Wrong] = field(default_factory=list)
    checkpoints: list[Entry] = field(default_factory=list)
    damaged: list[Entry] = field(default_factory=list)
    """Checkpoints that are damaged on the box, and came home as they are."""
    read: int = 0
    """Bytes."""


class Reader:
    """Reads the folder of one run at home."""

    def __init__(self, folder: str, clock: Clock, told: Told) -> None:
        self._folder = folder
        self._clock = clock
        self._told = told
        self._read = 0

    def prove(self, run: RunFiles, before: Mapping[str, Entry]) -> Proof:
        """Compare everything. ``before``: checkpoints proved earlier, by name; those that the box
        has deleted since are read again and stay in the receipt."""
        proof = Proof()
        by_name = {run.at_home(one): one for one in run.files}
        older = [
            {**entry, "gone_from_box": True}
            for name, entry in before.items()
            if not set(entry["members"]) & set(by_name)
            and all(os.path.lexists(f"{self._folder}/{m}") for m in entry["members"])
        ]
        expected = set(by_name) | {name for entry in older for name in entry["members"]}
        proof.wrong += self._strays(expected)
        covered: set[str] = set()
        for checkpoint in run.checkpoints:
            if checkpoint.digest is None:
                proof.damaged.append(self._entry(run, checkpoint))
                continue
            covered |= self._members(run, checkpoint)
            self._checkpoint(run, checkpoint, proof)
        for entry in older:
            self._older(entry, proof)
        for name, file in by_name.items():
            if name in covered:
                if why := self._size(name, file, exact=True):
                    proof.wrong.append(Wrong(name, why, (name,)))
                continue
            if why := self._file(name, file, exact=not run.alive):
                proof.wrong.append(Wrong(name, why, (name,)))
        proof.read = self._read
        return proof

    def one(self, run: RunFiles, checkpoint: OneCheckpoint) -> tuple[Entry | None, str]:
        """Prove one checkpoint: (its entry, why not)."""
        proof = Proof()
        self._checkpoint(run, checkpoint, proof)
        done = [*proof.checkpoints, *proof.damaged]
        return (done[0], "") if done else (None, proof.wrong[0].why)

    # ------------------------------------------------------------------------ checkpoints

    def _checkpoint(self, run: RunFiles, known: OneCheckpoint, proof: Proof) -> None:
        name, members = run.at_home(known), sorted(self._members(run, known))
        found = self._described(name)
        if found["digest"] != known.digest:
            why = "its bytes are not those that were verified on the box"
            if found["digest"] is None:
                why = found["detail"] or "it cannot be read"
            proof.wrong.append(Wrong(name, why, tuple(members)))
            return
        entry = self._entry(run, known) | {"level": found["level"], "state": found["state"]}
        if known.level == "load" and found["state"] == "ok":
            entry |= {"level": "load", "loaded_by": LOADED_ON_BOX}
        entry["detail"] = found["detail"]
        (proof.checkpoints if found["state"] == "ok" else proof.damaged).append(entry)

    def _older(self, entry: Entry, proof: Proof) -> None:
        found = self._described(entry["name"])
        if found["digest"] != entry["digest"] or found["state"] != "ok":
            why = "it is no longer what was proved earlier, and the box has deleted it"
            proof.wrong.append(Wrong(entry["name"], why))
        else:
            proof.checkpoints.append(entry | {"at": iso(self._clock.now())})

    def _described(self, name: str) -> Entry:
        begun = self._read

        def tell(_path: str, done: int, _total: int) -> None:
            self._told(name, begun + done)

        found = levels.describe(f"{self._folder}/{name}", progress=tell)
        self._read = begun + found["bytes"]
        return found

    def _entry(self, run: RunFiles, known: OneCheckpoint) -> Entry:
        return {
            "name": run.at_home(known),
            "path": known.path,
            "step": known.step,
            "state": known.state,
            "level": known.level,
            "digest": known.digest,
            "bytes": known.bytes,
            "detail": known.detail,
            "members": sorted(self._members(run, known)),
            "at": iso(self._clock.now()),
            "loaded_by": None,
            "gone_from_box": False,
        }

    def _members(self, run: RunFiles, known: OneCheckpoint) -> set[str]:
        return {f"{run.places[known.place].name}/{name}" for name in known.members}

    # ------------------------------------------------------------------------ files

    def _file(self, name: str, known: OneFile, *, exact: bool) -> str:
        """Why a file is not what the box has; empty when it is."""
        if why := self._size(name, known, exact=exact):
            return why
        digest, left = xxhash.xxh3_128(), known.bytes
        try:
            with open(f"{self._folder}/{name}", "rb", buffering=0) as file:
                while left and (data := file.read(min(left, _PIECE))):
                    digest.update(data)
                    left -= len(data)
                    self._read += len(data)
                    self._told(name, self._read)
        except OSError as error:
            return f"it cannot be read: {error.strerror}"
        if known.digest is None or f"xxh3:{digest.hexdigest()}" != known.digest:
            return "its bytes are not those of the box"
        return ""

    def _size(self, name: str, known: OneFile, *, exact: bool) -> str:
        try:
            info = os.lstat(f"{self._folder}/{name}")
        except OSError:
            return "it is not here"
        if not stat.S_ISREG(info.st_mode):
            return "something else lies in its place"
        if info.st_size < known.bytes or (exact and info.st_size != known.bytes):
            return f"it has {info.st_size:,} bytes and not {known.bytes:,}"
        return ""

    def _strays(self, expected: set[str]) -> Iterator[Wrong]:
        """Files that are of no manifest."""
        for name in itertools.islice(strays(self._folder, expected), _MOST_TOLD):
            yield Wrong(name, "it is no file of this run: move it away")


def strays(folder: str, expected: set[str]) -> Iterator[str]:
    """Names below the folder of a run that are not expected, in order."""
    for here, folders, found in os.walk(folder):
        folders.sort()
        prefix = os.path.relpath(here, folder)
        links = [one for one in folders if os.path.islink(f"{here}/{one}")]
        for base in sorted([*found, *links]):
            name = base if prefix == "." else f"{prefix}/{base}"
            if name not in expected and name not in OWN and base not in _NOT_COUNTED:
                yield name
