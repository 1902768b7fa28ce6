"""Writing down what is true: the run's files and the store, after the person was told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..checkpoints.ranking import Rules
from ..report.index_file import write_index
from ..report.status_page import page
from ..system.clock import iso
from ..system.files import write_whole
from .context import Room
from .watched_run import WatchedRun

FORGET_S = 7 * 86400.0
"""Ended runs and resolved incidents leave memory after a week; the store keeps the newest."""
KEEP_DOCS = 1000


class Publisher:
    """Writes status pages, indexes and the store; a full disk is said once, not forever."""

    def __init__(self, room: Room, say: Callable[[str], None]) -> None:
        self._room = room
        self._say = say
        self._complained = ""
        self._indexes: dict[str, dict[str, Any]] = {}

    def publish(self, watched: WatchedRun) -> None:
        """Write the run's files and commit."""
        now, room, run = self._room.clock.now(), self._room, watched.spec.id
        watched.index_stale = False
        watched.reindex(now, Rules.of(room.config))
        status = room.status(watched)
        text = page(status, room.box_report(watched), status["watch"], str(iso(now)))
        bare = {k: v for k, v in watched.index.items() if k != "updated_at"}
        fresh = self._indexes.get(run) != bare
        folders = [room.state.run(run)]
        if room.config.watch.status_dir:
            folders.append(Path(room.config.watch.status_dir) / run)
        trouble = ""
        for folder in folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                write_whole(str(folder / "training_status.md"), text)
                if fresh:  # one that did not change is as true as it was
                    write_index(str(folder / "checkpoints_index.json"), watched.index)
            except OSError as error:
                trouble = f"cannot write {folder}: {error.strerror}"
        if not trouble:
            self._indexes[run] = bare
        room.store.put("run", run, watched.save(), now)
        if not room.store.flush():
            trouble = f"the store cannot be written: {room.store.trouble}"
        if trouble and trouble != self._complained:
            self._say(trouble)
        self._complained = trouble

    def tidy(self) -> None:
        """Forget what ended a week ago, and keep the store within its bounds."""
        now, room = self._room.clock.now(), self._room
        for run, watched in list(room.runs.items()):
            if watched.ended_at is not None and watched.ended_at < now - FORGET_S:
                for incident in room.keeper.open(run):
                    room.keeper.resolve(incident, now)
                    room.keep(incident)
                room.store.drop("run", run)
                self._indexes.pop(run, None)
                del room.runs[run]
        room.keeper.forget_resolved(now - FORGET_S)
        for incident in room.keeper.open():
            room.keep(incident)
        room.store.flush()
        if room.store.size() > room.config.watch.store_max_bytes:
            room.store.trim(("incident", "message"), KEEP_DOCS)
