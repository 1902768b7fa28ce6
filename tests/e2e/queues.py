"""A queue on a box: its file, its cells as tiny real processes, and its runner."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.queues.journal import Journal
from middlewatch.daemon.queues.places import place_of
from middlewatch.daemon.queues.runner import lives
from middlewatch.daemon.system import procfs

from ..fakes.box import Box, end

OVER = ("finished", "failed", "elsewhere")
RAN = 'echo "$0" >> ran/"$0"; '
"""Script of a cell that writes down, in a file of its own, that it ran; its first word is its name."""


@dataclass
class Queue:
    """One queue file on a box, and what is true of it."""

    box: Box
    file: Path
    state: Path

    def command(self, *words: str, check: bool = True) -> dict[str, Any]:
        """``middlewatch queue FILE … --json``."""
        options = ("--state-dir", str(self.state), "--json")
        done = self.box.command("queue", str(self.file), *words, *options, check=False)
        assert not check or done.returncode in (0, 1), done.stdout + done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return {**told, "exit": done.returncode}

    def status(self) -> dict[str, Any]:
        return self.command("--status")

    def records(self) -> list[dict[str, Any]]:
        return list(Journal(place_of(StateDir(self.state), str(self.file)).journal).news())

    def standing(self) -> dict[str, str]:
        return {cell["cell"]: cell["state"] for cell in self.status()["cells"]}

    def over(self) -> dict[str, Any]:
        """The roster, once nothing is left to do and the runner is gone."""

        def look() -> dict[str, Any] | None:
            told = self.status()
            return told if told["state"] in ("finished", "failed") and not self.runner() else None

        told: dict[str, Any] = self.box.until(look, "the end of the queue")
        return told

    def runner(self) -> int | None:
        """The pid of its runner, if it lives."""
        found = [record for record in self.records() if record["t"] == "runner"]
        return int(found[-1]["pid"]) if found and lives(found[-1]) else None

    def kill_runner(self) -> None:
        """kill -9, and wait until it is gone."""
        pid = self.runner()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self.box.until(lambda: procfs.start_ticks(pid) is None, "the runner is gone")

    def ran(self) -> dict[str, list[str]]:
        """What the cells wrote themselves: name of the file -> its lines."""
        folder = self.file.parent / "ran"
        return {path.name: path.read_text().split() for path in folder.iterdir()}

    def close(self) -> None:
        """End the runner and every cell."""
        self.kill_runner()
        for record in self.records():
            if record["t"] == "started" and procfs.start_ticks(record["pid"]) == record["ticks"]:
                end(record["pid"])


def queue(box: Box, text: str, name: str = "sweep.txt", folder: str = "work") -> Queue:
    """Write a queue file into a folder of its own on the box."""
    place = box.root / folder
    (place / "ran").mkdir(parents=True, exist_ok=True)
    file = place / name
    file.write_text(text, encoding="utf-8")
    return Queue(box, file, box.state)
