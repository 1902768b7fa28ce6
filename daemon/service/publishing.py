"""Writing the files of a run (status page, checkpoint index) and the store.

A change is pushed first and written afterwards, so that a full or slow disk delays no alert.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..checkpoints.ranking import RankingRules
from ..report.index_file import write_index
from ..report.status_page import page
from ..sources.far_copies import FarCopies
from ..system.clock import iso
from ..system.errors import Refused
from ..system.files import write_whole
from .context import Context
from .watched_run import WatchedRun

FORGET_S = 7 * 86400.0
"""Ended runs and resolved incidents are dropped from memory after a week (our choice)."""
NAMES = ("training_status.md", "checkpoints_index.json")
KEEP_DOCS = 1000
"""Incidents, and messages, that the store keeps when it grew past its limit; the newest."""


class Publisher:
    """Writes status pages, indexes and the store; the same write error is logged only once."""

    def __init__(self, context: Context, log_line: Callable[[str], None]) -> None:
        self._context = context
        self._log_line = log_line
        self._complained = ""
        self._indexes: dict[str, dict[str, Any]] = {}
        self.copies = FarCopies(context.guards)

    def publish(self, watched: WatchedRun) -> None:
        """Write the run's status page and index, and commit the run to the store."""
        now, context, run = self._context.clock.now(), self._context, watched.spec.id
        watched.index_stale = False
        watched.reindex(now, RankingRules.of(context.config))
        status = context.status(watched)
        text = page(status, context.box_report(watched), status["watch"], str(iso(now)))
        bare = {k: v for k, v in watched.index.items() if k != "updated_at"}
        fresh = self._indexes.get(run) != bare
        own = context.state.run(run)
        folders = [own]
        if context.config.watch.status_dir:
            folders += self._second(Path(context.config.watch.status_dir) / run, own, now)
        trouble = ""
        for folder in folders:
            private = folder == own  # whom a second copy is for, its folder and the umask decide
            try:
                if private:
                    context.state.make_run(run)
                else:
                    folder.mkdir(parents=True, exist_ok=True)
                write_whole(str(folder / NAMES[0]), text, private=private)
                if fresh:  # an index that did not change is not written again
                    write_index(str(folder / NAMES[1]), watched.index, private=private)
            except (OSError, Refused) as error:
                trouble = f"cannot write {folder}: {getattr(error, 'strerror', None) or error}"
        if not trouble:
            self._indexes[run] = bare
        context.store.put("run", run, watched.save(), now)
        if not context.store.flush():
            trouble = f"the store cannot be written: {context.store.trouble}"
        trouble = trouble or self.copies.trouble
        if trouble and trouble != self._complained:
            self._log_line(trouble)
        self._complained = trouble

    def _second(self, folder: Path, own: Path, now: float) -> list[Path]:
        """The folder of a person for the same files; empty if a child copies them there."""
        far = self._context.guards.of(str(folder), now)
        if far is None:
            return [folder]
        for name in NAMES:
            self.copies.want(str(own / name), str(folder / name), far)
        return []

    def tidy(self) -> None:
        """Forget what ended more than a week ago, and trim the store to its largest size."""
        now, context = self._context.clock.now(), self._context
        for run, watched in list(context.runs.items()):
            if watched.ended_at is not None and watched.ended_at < now - FORGET_S:
                for incident in context.incidents.open(run):
                    if incident.run != run:
                        continue
                    context.incidents.resolve(incident, now, "its run ended a week ago")
                    context.save_incident(incident)
                context.store.drop("run", run)
                self._indexes.pop(run, None)
                del context.runs[run]
        context.incidents.forget_resolved(now - FORGET_S)
        for incident in context.incidents.open():
            context.save_incident(incident)
        context.store.flush()
        if context.store.size() > context.config.watch.store_max_bytes:
            context.store.trim(("incident", "message"), KEEP_DOCS)
