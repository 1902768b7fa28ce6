"""Where the files of a queue lie: a folder in the state directory."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from ..config.paths import StateDir
from ..system.private import make_private

FOLDER = "queues"
LONGEST = 40
"""Characters of the file's name in that of the queue."""


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """The files of one queue on this box."""

    state: StateDir
    name: str

    @property
    def folder(self) -> Path:
        """All of them are in it."""
        return self.state.root / FOLDER / self.name

    @property
    def journal(self) -> Path:
        """What was done, a line each."""
        return self.folder / "journal.jsonl"

    @property
    def lock(self) -> Path:
        """Held by the runner while it lives."""
        return self.folder / "runner.lock"

    @property
    def log(self) -> Path:
        """What the runner says."""
        return self.folder / "runner.log"

    @property
    def claims(self) -> Path:
        """A file for each start of a cell: see :mod:`.claims`."""
        return self.folder / "claims"

    @property
    def scripts(self) -> Path:
        """Copies of the scripts that cells name, by their digest."""
        return self.folder / "scripts"

    def make(self) -> None:
        """Make the folders. Raises OSError and Refused."""
        for folder in (self.state.root / FOLDER, self.folder, self.claims, self.scripts):
            make_private(folder)


def place_of(state: StateDir, file: str) -> QueuePlace:
    """The queue of a file: known by the file's real path, so that it is the same one from everywhere."""
    path = os.path.realpath(file)
    stem = os.path.splitext(os.path.basename(path))[0]
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in stem)[:LONGEST] or "queue"
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:6]
    return QueuePlace(state, f"{safe}-{digest}")
