"""Follow the folders to which a run saves its checkpoints.

A quick scan every two seconds finds checkpoints that are new, growing or gone. One that has not
changed for a while is given to the verifier, a child process that exists only while there is work.
A save that is still being written is ``pending``. It becomes ``corrupt`` or ``incomplete`` only
after it did not change for longer (the ``…_PATIENCE_S`` below) and no process holds it open.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit import CheckpointSeen

from ..checkpoints.finder import CheckpointPath
from ..checkpoints.followed import FULL_LOOK_EVERY, FilesFingerprint, Followed, remembered
from ..config.save_folder import SaveFolder
from ..system.guard import Guards
from ..system.source import Source
from ..system.worker import module_argv
from .far_scan import FolderSearch
from .restless import Restless
from .save_order import ByTime, DataOrder, DueQueue, MeetOrder
from .save_patience import CORRUPT_PATIENCE_S as CORRUPT_PATIENCE_S
from .save_patience import FILE_PATIENCE_S as FILE_PATIENCE_S
from .save_patience import FOLDER_PATIENCE_S as FOLDER_PATIENCE_S
from .save_patience import GONE_STILL_S as GONE_STILL_S
from .save_patience import LEFTOVER_FOLDER_STILL_S as LEFTOVER_FOLDER_STILL_S
from .save_patience import LEFTOVER_STILL_S as LEFTOVER_STILL_S
from .save_patience import MOST_PUT_OFF_S as MOST_PUT_OFF_S
from .save_patience import QUIET_S as QUIET_S
from .save_patience import SETTLE_S as SETTLE_S
from .save_patience import SMALL_BYTES as SMALL_BYTES
from .save_patience import WRITER_PATIENCE_S as WRITER_PATIENCE_S
from .told_verdicts import ToldVerdict, take
from .verifier import LEARNED_PATIENCE_S, READ_S, Verifier
from .verifier import MOST_FAILURES as _MOST_FAILURES
from .verifier import VERIFIER_DEADLINE_S as VERIFIER_DEADLINE_S

VERIFIER_ARGV = module_argv("middlewatch.daemon.checkpoints.verify.worker")


class CheckpointDir(Source):
    """The checkpoints of one run. Folders need not exist yet.

    Yields a :class:`CheckpointSeen` in state ``pending`` when a checkpoint appears or changes,
    and another one with its verdict. :meth:`checkpoints` always has the present state: no
    observation is made of a deleted checkpoint, it is only missing there. A temporary that nobody
    writes any more is reported as ``incomplete`` without a level, and as ``pending`` when it grows
    again or is gone; it is never in :meth:`checkpoints`.
    """

    every_s = 2.0

    def __init__(
        self,
        directories: Sequence[str],
        verify: Verifier,
        *,
        settle_s: float = SETTLE_S,
        earlier: Iterable[Mapping[str, Any]] = (),
        since: float = math.inf,
        learnt: Sequence[SaveFolder] = (),
        guards: Guards | None = None,
    ) -> None:
        """``settle_s``: seconds without a change before a checkpoint is verified. ``earlier``:
        entries of the last index, whose verdicts hold as long as the files are unchanged.
        ``since``: when the daemon began to watch this run (epoch seconds); the data of checkpoints
        saved later is read in full, also by a daemon that was restarted. ``learnt``: what is
        known of those of the folders that do not belong to the run alone. Without ``guards`` every
        folder counts as local."""
        # Folders are added later; by its name a blind spot is recognised again after a restart.
        self.name = f"checkpoint_dir:{next(iter(directories), '')}"
        self._search = FolderSearch(directories, guards, learnt)
        self._verify = verify
        self._settle_s = settle_s
        self._earlier = {str(entry.get("path")): entry for entry in earlier}
        self._followed: dict[str, Followed] = {}
        self._order, self._sorted = MeetOrder(), ByTime()
        self._due, self._data = DueQueue(), DataOrder()
        self._restless = Restless()
        self._asked: Followed | None = None
        self._reading = False
        """The outstanding question is to read the data, not only the structure."""
        self._grew_at: float | None = None
        self._refused_at: float | None = None
        self._put_off_at: float | None = None
        """When reading data was first put off; ``None`` if it is not put off."""
        self._since = since
        self._asked_at = self._spent_s = 0.0
        """When the last reading began, and the seconds spent on reading since the last scan."""
        self._now = 0.0
        self.looked = False
        """It was read at least once: what it knows is what is there."""
        self.writer_gone = False
        """The run's main process has ended: a file that does not change will not be finished."""

    def add(self, folder: SaveFolder) -> None:
        """Follow one more folder, or more names of it. What lies there already was saved during
        this watch, or is older than the run."""
        self._search.add(folder)

    @property
    def answers_later(self) -> bool:  # type: ignore[override]
        """True when there is a far folder."""
        return self._search.answers_later()

    def replace(self, folder: SaveFolder) -> None:
        """Know this of a folder instead of what was known: others save there as well."""
        self._search.replace(folder)

    def fds(self) -> Iterable[int]:
        """The pipes of the verifier and of the guards, while there are some."""
        fd = self._verify.fileno()
        return self._search.fds() + ([] if fd is None else [fd])

    def ready(self, fd: int, now: float) -> Iterable[CheckpointSeen]:
        """The verifier or a guard has answered, or has ended."""
        if fd != self._verify.fileno():
            return [*self._look(self._search.known(), now)] if self._search.take(now) else []
        reading = self._reading
        found = [*self._take_answers(now)]
        self._ask_next(now)
        if reading:
            self._spent_s += abs(now - self._asked_at)
            if self._spent_s < READ_S and self._is_free():
                self._ask_data(now)
        return found

    def read(self, now: float) -> Iterable[CheckpointSeen]:
        """Scan the folders once. Raises OSError when folders exist and none can be read."""
        self._now, self.looked = now, True
        found = [*self._take_answers(now), *self._look(self._search.scan(now), now)]
        found += self._hurry(now)
        self._due.fill(f for f in self._followed.values() if self._is_due(f, now))
        self._ask_next(now)
        self._spent_s = 0.0
        if self._is_free():
            self._data.fill(self._followed.values(), self._reads)
            self._ask_data(now)
        return found

    def stalled(self, now: float) -> str | None:
        """Which far file system does not answer, or why verdicts are overdue, if for so long no
        verifier could be started; else ``None``."""
        far = self._search.stalled()
        if far:
            return far
        if self._refused_at is None or abs(now - self._refused_at) < VERIFIER_DEADLINE_S:
            return None
        return f"no verifier could be started for {abs(now - self._refused_at):.0f} s"

    def notes(self) -> list[str]:
        """Sentences for a person about saves that are seen late, or not at all."""
        return self._search.notes()

    def close(self) -> None:
        """End the verifier, and let the guards go."""
        self._verify.close()
        self._search.close()

    def checkpoints(self) -> list[CheckpointSeen]:
        """Every checkpoint on disk now, by time of save."""
        found = [f.seen for f in self._followed.values() if f.seen and not f.place.leftover]
        unheard = tuple(folder.rstrip("/") + "/" for folder in self._search.unheard())
        if unheard:  # what is known from before counts until they can be looked at
            found += [
                remembered(entry, self._now)
                for path, entry in self._earlier.items()
                if path not in self._followed and path.startswith(unheard)
            ]
        return self._sorted.of(found)

    def rescan(self, now: float) -> None:
        """Verify everything again: structures at once, data at the usual rate of reading."""
        for followed in self._followed.values():
            if followed.seen is not None and not followed.place.leftover:
                followed.forget(now)

    def told(self, verdict: ToldVerdict, now: float) -> CheckpointSeen | None:
        """A command has verified one of them; what is new about it."""
        known = (self._followed.get(path) for path in verdict.paths)
        return next((take(f, verdict, now) for f in known if f is not None), None)

    def growing(self) -> float | None:
        """When a checkpoint or temporary last grew, in epoch seconds; ``None``: never."""
        return self._grew_at

    def _look(self, places: Mapping[str, CheckpointPath], now: float) -> Iterator[CheckpointSeen]:
        for path in self._followed.keys() - places.keys():
            gone = self._followed.pop(path)
            self._restless.gone(path)
            if gone is self._asked:
                self._asked = None
            if gone.left:
                yield dataclasses.replace(gone.left_over(now), state="pending", detail="gone")
        later = self._order.later(places.keys(), self._followed.keys())
        for place in places.values():
            followed = self._followed.get(place.path)
            if followed is None:
                if place.path in later:
                    continue
                followed = self._meet(place, now)
                changed = True
            else:
                near = self._search.is_near(place.path)
                changed = followed.check_files(place, now, self._search.look, seldom=near)
            if changed and followed.grew_at is not None:
                self._grew_at = max(self._grew_at or 0.0, followed.grew_at)
            if changed and _counts(followed):
                if followed.seen is None or followed.seen.state != "pending":
                    yield followed.restored(now)
                if followed.seen is None or followed.seen.state == "pending":
                    size = followed.fingerprint.bytes
                    followed.pending(now, self._restless.changed(followed.path, size, now))
            elif changed:
                followed.seen = None
                if followed.left:
                    followed.left = False
                    yield dataclasses.replace(followed.left_over(now), state="pending")

    def _meet(self, place: CheckpointPath, now: float) -> Followed:
        """Begin to follow a checkpoint; one with old files counts as unchanged since their time."""
        mark = self._search.look(place) or FilesFingerprint()
        first = self._search.was_first(place.path)
        saved_at = mark.newest_ns / 1e9
        old = mark.files > 0 and saved_at < now - self._settle_s
        followed = Followed(place, mark, saved_at if old else now)
        followed.fresh = not first or saved_at >= self._since
        followed.earlier = self._earlier.get(place.path)
        # Spread the full looks, so that not all checkpoints are due in the same scan.
        followed.skipped = len(self._followed) % FULL_LOOK_EVERY
        if not first and mark.bytes:
            followed.grew_at = now
        self._followed[place.path] = followed
        return followed

    def _ask_next(self, now: float) -> None:
        """Give the newest checkpoint that is due to the verifier; one question at a time."""
        if self._asked is not None or self._verify.waiting:
            return
        newest = self._due.take(lambda followed: self._is_due(followed, now))
        if newest is None:
            return
        if not self._verify.ask({"path": newest.path}, now):
            self._due.put_back(newest)
            self._refused_at = now if self._refused_at is None else self._refused_at
            return
        self._refused_at = None
        self._asked, self._reading = newest, False
        newest.asked = newest.fingerprint
        self._restless.tried(newest.path, now)

    def _ask_data(self, now: float) -> None:
        """Have a part of the data of the newest whole checkpoint read.

        Only checkpoints saved since the run is watched, else the newest, are read: a restart of the
        daemon must not read all that are on disk.
        """
        followed = self._data.first(self._reads)
        if followed is None or not followed.settled:
            self._put_off_at = None
            return
        if followed.fingerprint.bytes > SMALL_BYTES and self._busy(now):
            self._put_off_at = now if self._put_off_at is None else self._put_off_at
            if abs(now - self._put_off_at) < MOST_PUT_OFF_S:
                return
        if self._verify.ask({"path": followed.path, "level": "finite"}, now):
            self._asked, self._reading, self._asked_at = followed, True, now
            followed.asked = followed.fingerprint

    def _is_free(self) -> bool:
        """True while the verifier has nothing to do."""
        return self._asked is None and not self._verify.waiting

    def _reads(self, followed: Followed) -> bool:
        """Whether the data of a checkpoint is of interest, and can be read."""
        wanted = ("ok",) if followed.failures else ("ok", "unverifiable")  # of that its digest
        if followed.seen is None or not (followed.seen.state in wanted or followed.again):
            return False
        if self._followed.get(followed.path) is not followed:
            return False
        return not self._search.is_stalled(followed.path)

    def _busy(self, now: float) -> bool:
        """True while a save is probably being written."""
        return self._grew_at is not None and abs(now - self._grew_at) < QUIET_S

    def _is_due(self, followed: Followed, now: float) -> bool:
        if followed.settled or self._followed.get(followed.path) is not followed:
            return False
        if self._search.is_stalled(followed.path):
            return False
        still_s = abs(now - followed.changed_at)  # also right after the clock was set back
        if followed.place.leftover:
            alone = followed.place.kind is None
            patience = LEFTOVER_STILL_S if alone else LEFTOVER_FOLDER_STILL_S
            patience = GONE_STILL_S if self.writer_gone else patience
            return followed.fingerprint.files > 0 and still_s >= patience and now >= followed.ask_at
        if followed.seen is None or now < followed.ask_at:
            return False
        return still_s >= self._settle_s or self._restless.due(followed.path, now)

    def _take_answers(self, now: float) -> Iterator[CheckpointSeen]:
        for answer in self._verify.answers():
            followed, self._asked = self._asked, None
            reading, self._reading = self._reading, False
            if followed is None or followed.asked != followed.fingerprint:
                continue  # it was deleted, or changed meanwhile: then it is asked about again
            if "error" in answer or answer.get("path") != followed.path:
                yield from self._failed(
                    followed, str(answer.get("error", "no answer")), now, reading=reading
                )
            elif reading:
                seen = followed.read(answer, now)
                if seen is not None:
                    yield seen
            else:
                yield from self._judge(followed, answer, now)

    def _judge(
        self, followed: Followed, answer: Mapping[str, object], now: float
    ) -> Iterator[CheckpointSeen]:
        """Take a verdict, unless the save may still be under way."""
        if followed.place.leftover:
            if answer.get("writer") is None:
                followed.settled = followed.left = True
                yield followed.left_over(now)
            followed.ask_at = now + LEFTOVER_STILL_S
            return
        if answer.get("state") in ("corrupt", "incomplete"):
            alone = followed.place.kind is None
            patience = FILE_PATIENCE_S if alone else FOLDER_PATIENCE_S
            if not alone and answer.get("state") == "corrupt":
                patience = CORRUPT_PATIENCE_S
            if answer.get("writer") is not None:
                patience = WRITER_PATIENCE_S
            elif self.writer_gone and alone:
                patience = GONE_STILL_S
            elif answer.get("learned") and not self.writer_gone:
                patience = LEARNED_PATIENCE_S
            still_s = abs(now - followed.changed_at)
            if still_s < patience:
                followed.ask_at = now + min(patience - still_s, max(5.0, still_s))
                followed.pending(now, f"not whole yet: {answer.get('detail')}"[:400])
                return
        still = abs(now - followed.changed_at) >= self._settle_s
        self._restless.judged(followed.path, now, still=still)
        yield followed.add_verdict(answer, now)

    def _hurry(self, now: float) -> Iterator[CheckpointSeen]:
        """Restart a verifier that does not answer; note the failure of one that died."""
        reason = "the verifier died"
        asked = self._asked
        if asked is not None and self._search.is_stalled(asked.path):
            self._verify.restart()  # it hangs there, and is needed for other folders
        elif self._verify.overdue(now):
            self._verify.restart()
            reason = f"the verifier gave no answer in {VERIFIER_DEADLINE_S:.0f} s"
        if self._asked is not None and not self._verify.waiting:
            followed, self._asked = self._asked, None
            reading, self._reading = self._reading, False
            yield from self._failed(followed, reason, now, reading=reading)

    def _failed(
        self, followed: Followed, reason: str, now: float, *, reading: bool = False
    ) -> Iterator[CheckpointSeen]:
        if self._search.is_stalled(followed.path):
            return  # that is no fault of the checkpoint: it is asked about again
        followed.failures += 1
        if reading:
            followed.done = followed.failures >= _MOST_FAILURES
            return
        followed.ask_at = now + self._settle_s
        if followed.place.leftover:
            followed.settled = followed.failures >= _MOST_FAILURES
        elif followed.failures >= _MOST_FAILURES:
            yield followed.add_verdict({"state": "unverifiable", "detail": reason}, now)


def _counts(followed: Followed) -> bool:
    """True for a checkpoint: no temporary, and not only a folder with a number in its name."""
    if followed.place.leftover:
        return False
    return followed.fingerprint.weights and (
        followed.place.kind is not None or followed.fingerprint.files > 0
    )
