"""Writing the files of a run (status page, checkpoint index) and the store.

A change is pushed first and written afterwards, so that a full or slow disk delays no alert.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..checkpoints.index import read as read_index
from ..checkpoints.ranking import RankingRules
from ..report.index_file import index_text
from ..report.status_page import page
from ..sources.far_copies import FarCopies
from ..system.bounded import CPU_S, SHORT_CPU_S, bounded
from ..system.clock import iso
from ..system.errors import Refused
from ..system.files import write_beside_others, write_whole
from ..system.loop import Callback
from .context import Context
from .watched_run import WatchedRun

FORGET_S = 7 * 86400.0
"""Ended runs and resolved incidents are dropped from memory after a week (our choice)."""
MANY_SAVES = 500
"""From so many saves on, writing the files of a run is worth a pause: it takes 0.05 s. Its index has a
document of its own in the store, which is written when it changed."""
PAGE_S = 50.0
"""Seconds between two writings of the files of a run of which nothing has changed but its numbers
(contract: a minute). Each run has a moment of its own in them, so that a disk is asked for the pages of
three hundred runs one by one, and not for all of them at once."""
LAST_S = 5.0
"""Seconds for pages that nothing has changed on, when the daemon ends: ``middlewatch stop`` waits for 20."""
RESTS = 20
"""A pause is so many times as long as writing took: with 20,000 saves that takes a second. Meanwhile the
files are written for a change of the run, not for one more save. Our choice: a twentieth of a core."""
STEPS = 4
"""Into so many steps the writing of such a run is cut: its index, page, index file, and the store. Each
takes 0.1 s for 20,000 saves."""
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
        """Run -> its index as it was written last, without the time."""
        self._stored: dict[str, dict[str, Any]] = {}
        """The same of the indexes that have a document of their own in the store."""
        self._beats: dict[str, int] = {}
        """Run -> the number of the :data:`PAGE_S` in which its files were written last."""
        self._due: dict[str, float] = {}
        """Run -> monotonic seconds before which one more save is no reason to write its files."""
        self._left: set[str] = set()
        """Runs whose files could not be written."""
        self._writing_left = False
        self.copies = FarCopies(context.guards)

    def publish(self, watched: WatchedRun, *, anew: bool = False) -> None:
        """Write the run's status page and index, and commit the run to the store.

        ``anew``: write the index although it did not change: the file may be lost.
        """
        for _ in self._steps(watched, anew=anew):
            pass

    def steps(self, watched: WatchedRun) -> Iterator[Callback]:
        """The same as calls of the loop: one, or several for a run with very many saves."""
        if len(watched.history.checkpoints) < MANY_SAVES:
            yield partial(self.publish, watched)
            return
        work = self._steps(watched)
        for _ in range(STEPS):
            yield partial(next, work, None)

    def _steps(self, watched: WatchedRun, *, anew: bool = False) -> Iterator[None]:
        """The work of :meth:`publish`, cut at :data:`STEPS` places."""
        context, run = self._context, watched.spec.id
        mono, spent, trouble = context.clock.monotonic, 0.0, ""
        self._beats[run] = self._beat(run)
        parts: tuple[Callable[[], str], ...] = (
            partial(self.reindex, watched),
            partial(self._write, watched, NAMES[:1]),
            partial(self._write, watched, NAMES[1:], anew=anew),
            partial(self._keep, watched, anew=anew),
        )
        for part in parts:
            began = mono()
            trouble = part() or trouble
            spent += mono() - began
            if part is not parts[-1]:
                yield
        trouble = trouble or self.copies.trouble
        if trouble and trouble != self._complained:
            self._log_line(trouble)
        self._complained = trouble
        if len(watched.index["checkpoints"]) >= MANY_SAVES:
            self._due[run] = mono() + RESTS * spent

    def _keep(self, watched: WatchedRun, *, anew: bool = False) -> str:
        """Commit what is known of a run; a very large index only if it changed."""
        store = self._context.store
        self._put(watched, anew=anew)
        return "" if store.flush() else f"the store cannot be written: {store.trouble}"

    def _put(self, watched: WatchedRun, *, anew: bool = False) -> None:
        context, run, now = self._context, watched.spec.id, self._context.clock.now()
        doc = watched.save()
        if len(watched.index["checkpoints"]) >= MANY_SAVES:
            index = doc.pop("index")
            bare = _bare(index)
            if anew or self._stored.get(run) != bare:
                context.store.put("index", run, index, now)
                self._stored[run] = bare
        context.store.put("run", run, doc, now)

    def reindex(self, watched: WatchedRun) -> str:
        """Build the index of a run anew, without writing it; nothing can be in the way of that."""
        watched.index_stale = False
        watched.reindex(self._context.clock.now(), RankingRules.of(self._context.config))
        return ""

    def is_due(self, watched: WatchedRun) -> bool:
        """Whether saves came, went or were judged, and it is time to write that."""
        due = self._due.get(watched.spec.id, 0.0)
        return watched.index_stale and self._context.clock.monotonic() >= due

    def is_old(self, watched: WatchedRun) -> bool:
        """Whether the files of a run are to be written because their time has come."""
        run = watched.spec.id
        return self._beats.get(run) != self._beat(run)

    def _beat(self, run: str) -> int:
        own = zlib.crc32(run.encode("utf-8", "surrogateescape")) / 2**32
        return math.floor(self._context.clock.monotonic() / PAGE_S + own)

    def last(self) -> Iterator[Callback]:
        """The files of all living runs, once more before the daemon ends. What it has to know of them when
        it starts again comes first, in one transaction, then changed indexes. A disk may be too slow for
        three hundred pages: the rest stays as it is after :data:`LAST_S` seconds, a minute old at most."""
        yield self._keep_all
        until = self._context.clock.monotonic() + LAST_S
        living = self._context.living_runs()
        fresh = {run.spec.id for run in living if self._is_new(run)}
        for watched in sorted(living, key=lambda run: run.spec.id not in fresh):
            if watched.spec.id in fresh or self._context.clock.monotonic() < until:
                yield partial(self.publish, watched)

    def _is_new(self, watched: WatchedRun) -> bool:
        """Whether the index of a run is another one than that which was written."""
        return self._indexes.get(watched.spec.id) != _bare(watched.index)

    def _keep_all(self) -> None:
        context = self._context
        for watched in context.living_runs():
            self.reindex(watched)
            self._put(watched)
        context.store.flush()

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
        if self._left and not self._writing_left:
            self._writing_left = True
            self._context.pump.loop.each(self._lefts())

    def _lefts(self) -> Iterator[Callback]:
        try:
            for run in list(self._left):
                yield partial(self._write_left, run)
        finally:
            self._writing_left = False

    def _write_left(self, run: str) -> None:
        watched = self._context.runs.get(run)
        if watched is None or not self._write(watched, NAMES, anew=True):
            self._left.discard(run)

    def _write(self, watched: WatchedRun, names: tuple[str, ...], *, anew: bool = False) -> str:
        """Write page and index, as they are known; returns what is in the way, or nothing."""
        context, run, now = self._context, watched.spec.id, self._context.clock.now()
        text = self._page(watched, now) if NAMES[0] in names else ""
        bare = _bare(watched.index)
        fresh = NAMES[1] in names and (anew or self._indexes.get(run) != bare)
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
                        # After a crash of the box the page of a minute ago tells as much.
                        index = name == NAMES[1]
                        write_whole(str(own / name), content, durable_name=index, private=True)
                else:  # whom a second copy is for, its folder and the umask decide
                    write_beside_others(str(folder), texts)
            except (OSError, Refused) as error:
                trouble = f"cannot write {folder}: {getattr(error, 'strerror', None) or error}"
        if trouble:
            self._left.add(run)
        elif NAMES[1] in names:
            self._left.discard(run)
            self._indexes[run] = bare
        return trouble

    def _page(self, watched: WatchedRun, now: float) -> str:
        """The status page; empty if that fails, and then index and store are written all the same."""
        context, isolation, run = self._context, self._context.pump.isolation, watched.spec.id
        if isolation.left_out("page", run, now):
            return ""
        most_s = isolation.cpu_s("page", CPU_S, SHORT_CPU_S, now)
        try:
            text = bounded(partial(_page, context, watched, now), most_s)
        except Exception as error:  # noqa: BLE001 - a mistake in our words
            isolation.failed("page", run, error, now, code="page")
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
                self.forget(run, "its run ended a week ago")
        context.incidents.forget_resolved(now - FORGET_S)
        for incident in context.incidents.open():
            context.save_incident(incident)
        context.store.flush()
        if context.store.size() > context.config.watch.store_max_bytes:
            context.store.trim(("incident", "message"), KEEP_DOCS)

    def forget(self, run: str, why: str) -> None:
        """Take a run off the list; its open incidents are over, and ``why`` says so."""
        context = self._context
        for incident in context.incidents.open(run):
            if incident.run != run:
                continue
            context.incidents.resolve(incident, context.clock.now(), why)
            context.save_incident(incident)
        context.store.drop("run", run)
        context.store.drop("index", run)
        self._stored.pop(run, None)
        self._indexes.pop(run, None)
        self._due.pop(run, None)
        self._beats.pop(run, None)
        del context.runs[run]


def _page(context: Context, watched: WatchedRun, now: float) -> str:
    status = context.status(watched)
    return page(status, context.box_report(watched), status["watch"], str(iso(now)))


def _bare(index: Mapping[str, Any]) -> dict[str, Any]:
    """An index without the time at which it was made."""
    return {key: value for key, value in index.items() if key != "updated_at"}
