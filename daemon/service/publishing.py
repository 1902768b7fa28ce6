"""Writing the files of a run (status page, checkpoint index) and the store.

A change is pushed first and written afterwards, so that a full or slow disk delays no alert.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..checkpoints.index import read as read_index
from ..checkpoints.ranking import RankingRules
from ..report.index_file import index_text
from ..report.status_page import page
from ..sources.far_copies import FarCopies
from ..system.bounded import bounded
from ..system.clock import iso
from ..system.errors import Refused
from ..system.files import write_beside_others, write_whole
from .context import Context
from .watched_run import WatchedRun

FORGET_S = 7 * 86400.0
"""Ended runs and resolved incidents are dropped from memory after a week (our choice)."""
MANY_SAVES = 500
"""From so many saves on, writing the files of a run is worth a pause: it takes 0.05 s."""
RESTS = 20
"""A pause is so many times as long as writing took: with 20,000 saves that takes a second. Meanwhile the
files are written for a change of the run, not for one more save. Our choice: a twentieth of a core."""
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
        self._due: dict[str, float] = {}
        """Run -> monotonic seconds before which one more save is no reason to write its files."""
        self._left: set[str] = set()
        """Runs whose files could not be written."""
        self.copies = FarCopies(context.guards)

    def publish(self, watched: WatchedRun, *, anew: bool = False) -> None:
        """Write the run's status page and index, and commit the run to the store.

        ``anew``: write the index although it did not change: the file may be lost.
        """
        now, context, run = self._context.clock.now(), self._context, watched.spec.id
        began = context.clock.monotonic()
        self.reindex(watched)
        trouble = self._write(watched, now, anew=anew)
        context.store.put("run", run, watched.save(), now)
        if not context.store.flush():
            trouble = f"the store cannot be written: {context.store.trouble}"
        trouble = trouble or self.copies.trouble
        if trouble and trouble != self._complained:
            self._log_line(trouble)
        self._complained = trouble
        if len(watched.index["checkpoints"]) >= MANY_SAVES:
            ended = context.clock.monotonic()
            self._due[run] = ended + RESTS * (ended - began)

    def reindex(self, watched: WatchedRun) -> None:
        """Build the index of a run anew, without writing it."""
        watched.index_stale = False
        watched.reindex(self._context.clock.now(), RankingRules.of(self._context.config))

    def is_due(self, watched: WatchedRun) -> bool:
        """Whether saves came, went or were judged, and it is time to write that."""
        due = self._due.get(watched.spec.id, 0.0)
        return watched.index_stale and self._context.clock.monotonic() >= due

    def want(self, watched: WatchedRun) -> None:
        """Write the files of a run that has ended, if what is there is not the truth (a full disk)."""
        run, state = watched.spec.id, self._context.state
        index = read_index(str(state.checkpoint_index(run))) or {}
        head = b""
        with suppress(OSError), state.status_page(run).open("rb") as page_file:
            head = page_file.readline(4096).strip()
        same = _bare(index) == _bare(watched.index)
        if not same or head != f"# {run}: {watched.state}".encode():
            self._left.add(run)

    def write_left(self) -> None:
        """Write the files that could not be written, of runs that may be no longer watched."""
        for run in list(self._left):
            watched = self._context.runs.get(run)
            if watched is None or not self._write(watched, self._context.clock.now(), anew=True):
                self._left.discard(run)

    def _write(self, watched: WatchedRun, now: float, *, anew: bool) -> str:
        """Write page and index, as they are known; returns what is in the way, or nothing."""
        context, run = self._context, watched.spec.id
        text = self._page(watched, now)
        bare = _bare(watched.index)
        fresh = anew or self._indexes.get(run) != bare
        own = context.state.run(run)
        folders = [own]
        if context.config.watch.status_dir:
            folders += self._second(Path(context.config.watch.status_dir) / run, own, now)
        texts = {NAMES[0]: text} if text else {}
        if fresh:  # an index that did not change is not written again
            texts[NAMES[1]] = index_text(watched.index)
        trouble = ""
        for folder in folders:
            try:
                if folder == own:
                    context.state.make_run(run)
                    for name, content in texts.items():
                        write_whole(str(own / name), content, private=True)
                else:  # whom a second copy is for, its folder and the umask decide
                    write_beside_others(str(folder), texts)
            except (OSError, Refused) as error:
                trouble = f"cannot write {folder}: {getattr(error, 'strerror', None) or error}"
        if trouble:
            self._left.add(run)
        else:
            self._left.discard(run)
            self._indexes[run] = bare
        return trouble

    def _page(self, watched: WatchedRun, now: float) -> str:
        """The status page; empty if that fails, and then index and store are written all the same."""
        context, isolation, run = self._context, self._context.pump.isolation, watched.spec.id
        if isolation.left_out("page", run, now):
            return ""
        try:
            text = bounded(partial(_page, context, watched, now))
        except Exception as error:  # noqa: BLE001 - a mistake in our words
            isolation.failed("page", run, error, now)
            return ""
        isolation.worked("page", run, now)
        return text

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
                self._due.pop(run, None)
                del context.runs[run]
        context.incidents.forget_resolved(now - FORGET_S)
        for incident in context.incidents.open():
            context.save_incident(incident)
        context.store.flush()
        if context.store.size() > context.config.watch.store_max_bytes:
            context.store.trim(("incident", "message"), KEEP_DOCS)


def _page(context: Context, watched: WatchedRun, now: float) -> str:
    status = context.status(watched)
    return page(status, context.box_report(watched), status["watch"], str(iso(now)))


def _bare(index: Mapping[str, Any]) -> dict[str, Any]:
    """An index without the time at which it was made."""
    return {key: value for key, value in index.items() if key != "updated_at"}
