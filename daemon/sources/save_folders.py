"""Learns where a run saves for as long as it lives: when to look again, and what to ask.

The looking itself is done by a child (:mod:`.programs.save_search`) that opens files and lists
folders, any of which may hang. Here only /proc is read: once a second how much the processes have
written, and, when that was much, which files they have open for writing.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit import CheckpointSaved, Observation

from ..config.save_folder import SaveFolder, shape
from ..system import procfs
from ..system.processes import open_files
from ..system.source import Source
from ..system.worker import JsonWorker
from .searches import SEARCH_DEADLINE_S, Searches

REGULAR_S = (1.0, 4.0, 12.0, 30.0, 60.0, 120.0)
"""Seconds after the start of this watch at which it looks whatever happens: most runs save first
in these minutes. Our choice."""
LATER_S = 600.0
"""Seconds between two looks after that. One costs 0.1 s of CPU in the child (measured)."""
BURST_BYTES = 32 << 10
"""Bytes that one process writes within a second, above which it may have saved: logs and progress
bars stay below, the smallest models do not. Our choice."""
AGAIN_S = (1.0, 6.0, 25.0)
"""Seconds after a sign of a save at which it is looked for: many log lines come before the save,
and a large one takes a while."""
PAUSE_S, MOST_PAUSE_S = 3.0, 300.0
"""Seconds between two looks; doubled after each that found nothing, so that a run that writes much
and saves nothing costs little."""
GROWING_S = 8.0
"""A sign of a save needs no look when one of the known folders grew within this time: it was that
save. Four scans of the folders."""
NOTICE_S = 4.0
"""Seconds in which a save to a known folder is noticed: two scans of the folders."""
MOST_CLAIMS = 16
MOST_WRITERS = 16
"""Processes whose writing is measured: those with a rank, and the largest."""
MOST_OPEN = 256
"""Open files looked at per process after a burst."""
_KEPT_WRITING = 64


class SaveFolders(Source):
    """Hands new folders to ``take``; makes no observations."""

    name = "save_folders"
    every_s = 1.0

    def __init__(
        self,
        question: Callable[[], dict[str, Any]],
        writers: Callable[[], Sequence[int]],
        grown_at: Callable[[], float | None],
        take: Callable[[list[SaveFolder], list[str]], None],
        root: str = procfs.PROC,
        searches: Searches | None = None,
    ) -> None:
        """``question``: what is known of the run, see :mod:`.programs.save_search`; claims and
        open files are added here. ``writers``: pids, the likeliest first. ``grown_at``: when a
        known folder last grew, epoch seconds. ``take``: gets new folders, and saves that may be
        somebody else's."""
        self._question = question
        self._writers = writers
        self._grown_at = grown_at
        self._take = take
        self._searches = searches or Searches()
        self._worker: JsonWorker | None = None
        """The child that looks for this run now."""
        self._stuck: JsonWorker | None = None
        """One that could not be killed: no second one is started into the same trouble."""
        self._root = root
        self._began: float | None = None
        self._regular = list(REGULAR_S)
        self._signs: deque[tuple[float, float]] = deque(maxlen=64)
        """(when to look, when the sign of a save was seen), epoch seconds."""
        self._put_off = False
        """A look was due, and the child could not be started."""
        self._looked_at = float("-inf")
        self._pause_s = PAUSE_S
        self._by_sign = False
        """The look that was asked for last was for a sign of a save."""
        self._claims: deque[tuple[CheckpointSaved, str]] = deque(maxlen=MOST_CLAIMS)
        self._shapes: set[str] = set()
        self._written: dict[int, int] = {}
        self._writing: dict[tuple[int, str], None] = {}
        self._error = ""
        self.looks = 0

    # -- signs of a save ----------------------------------------------------------------

    def claimed(self, claim: CheckpointSaved, text: str, now: float) -> None:
        """The log claims a save. ``text``: the line."""
        self._claims.append((claim, text))
        kind = shape(claim.path or "")
        if kind not in self._shapes and len(self._shapes) < 256:
            self._shapes.add(kind)
            self._pause_s = PAUSE_S
        self._sign(now)

    def ended(self, now: float) -> None:
        """The run has ended: what it saved last is looked for at once."""
        self._pause_s = 0.0
        self._signs.extend((now + wait, float("inf")) for wait in (0.0, 3.0))

    @property
    def busy(self) -> bool:
        """Whether a look is under way, or one after the end is still to come."""
        return self._worker is not None or any(seen == float("inf") for _, seen in self._signs)

    def _sign(self, now: float) -> None:
        if not self._signs or self._signs[-1][1] < now - 1:
            self._signs.extend((now + wait, now) for wait in AGAIN_S)

    def _watch_writing(self, now: float) -> None:
        """Notice a process that has written much since the last turn, and what it has open."""
        before, self._written = self._written, {}
        for pid in self._writers()[:MOST_WRITERS]:
            io = procfs.io(pid, self._root)
            if io is None:
                continue
            self._written[pid] = io.wchar
            if io.wchar - before.get(pid, io.wchar) >= BURST_BYTES:
                self._note_open(pid)
                self._sign(now)

    def _note_open(self, pid: int) -> None:
        for _, file in zip(range(MOST_OPEN), open_files(pid, self._root), strict=False):
            if file.fd > 2 and file.regular and file.writable:
                self._writing.pop((pid, file.target), None)
                self._writing[pid, file.target] = None
        while len(self._writing) > _KEPT_WRITING:
            del self._writing[next(iter(self._writing))]

    # -- looking ------------------------------------------------------------------------

    def fds(self) -> Iterable[int]:
        """The pipe of the child that looks for this run."""
        fd = None if self._worker is None else self._worker.fileno()
        return () if fd is None else (fd,)

    def read(self, now: float) -> Iterable[Observation]:
        """Notice signs of a save, and ask for a look when one is due."""
        if self._began is None:
            self._began = now
        self._watch_writing(now)
        self._searches.look_after(now)
        if self._worker is not None and self._worker.overdue(now) > 0:
            self._lose(self._worker, f"a look took more than {SEARCH_DEADLINE_S:.0f} s")
        if self._stuck is not None and self._stuck.stuck_pid is None:
            self._stuck = None
        if self._searches.free() and self._is_due(now):
            worker = self._searches.lend()
            self._put_off = not worker.ask(self._asked(), now)
            if self._put_off:
                self._searches.give_back(worker)
            else:
                self._worker = worker
                self._looked_at = now
                self.looks += 1
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the answer of the child."""
        worker = self._worker
        if worker is None or fd != worker.fileno():
            return ()  # it looks for another run meanwhile
        answers = worker.answers()
        if answers:
            self._worker = None
            self._searches.give_back(worker)
        elif not worker.waiting:
            self._lose(worker, "the child that looks has ended")
        for answer in answers:
            self._error = str(answer.get("error") or "")
            found = [one for one in map(_folder, answer.get("folders") or ()) if one is not None]
            unclear = [str(path) for path in answer.get("unclear") or ()]
            if found:
                self._pause_s = PAUSE_S
            elif self._by_sign:
                self._be_patient()
            self._take(found, unclear)
        return ()

    def _lose(self, worker: JsonWorker, why: str) -> None:
        """The child did not answer: it is not used for other runs, and this one waits for longer."""
        self._worker = None
        self._searches.drop(worker)
        self._stuck = worker if worker.stuck_pid is not None else None
        self._error = why
        self._be_patient()

    def _be_patient(self) -> None:
        self._pause_s = min(MOST_PAUSE_S, max(PAUSE_S, 2 * self._pause_s))

    def trouble(self, now: float) -> str:
        """Why nothing is found at present; empty when all is well. A remark, not a failed source:
        a mount that does not answer is told by the source that watches it."""
        late = 0.0 if self._worker is None else self._worker.overdue(now)
        why = f"a look is overdue by {late:.0f} s" if late > 0 else self._error
        return why and f"checkpoint folders are not looked for now: {why}"

    def close(self) -> None:
        """End a look that is under way."""
        if self._worker is not None:
            self._searches.drop(self._worker)
            self._worker = None

    def _is_due(self, now: float) -> bool:
        assert self._began is not None
        if self._worker is not None or self._stuck is not None:
            return False
        if 0 <= now - self._looked_at < self._pause_s:
            return False
        due, self._by_sign = self._put_off, False
        while self._regular and now >= self._began + self._regular[0]:
            del self._regular[0]
            due = True
        if not self._regular and now >= max(self._looked_at, self._began) + LATER_S:
            due = True
        grown = self._grown_at()
        for when, seen_at in [sign for sign in self._signs if sign[0] <= now]:
            if grown is not None and now < seen_at + NOTICE_S < float("inf"):
                continue  # it is most likely a save to a known folder, which shows soon
            self._signs.remove((when, seen_at))
            if grown is None or grown < seen_at - GROWING_S:
                due = self._by_sign = True
        return due

    def _asked(self) -> dict[str, Any]:
        claims = [
            {"path": claim.path, "text": text[:160]} for claim, text in self._claims if claim.path
        ]
        writing = [[pid, path] for pid, path in self._writing]
        return {**self._question(), "claims": claims, "writing": writing}


def _folder(told: Mapping[str, Any]) -> SaveFolder | None:
    """A folder of an answer; ``None`` for anything else."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        path, names = str(told["path"]), tuple(str(name) for name in told["names"])
        if path.startswith("/"):
            return SaveFolder(path, str(told["why"])[:400], bool(told["whole"]), names)
    return None
