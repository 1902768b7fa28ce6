"""One tree that is mirrored: notices what changes in it, and copies that, in short turns.

Two things say what is to be copied: the hints of the watch, and looks at the whole tree, which compare
every file with the ledger. So a hint that never came costs time only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..system import mounts
from . import tree_walk
from .receipt import MirrorError
from .remote import CopyProgress, Work
from .tree import Home, opened_folder
from .tree_goal import Goal
from .tree_ledger import Ledger
from .tree_walk import Folder
from .tree_watch import LATELY_S, MOST_POLLED, POLLED_SHARE, How, TreeWatch

SETTLE_S = 1.0
"""Seconds from the first hint about a file to its copy: what is written and renamed at once, or written
in several pieces, is copied once."""
MOST_PENDING = 20_000
"""Files that are known to be copied next. A look at the tree stops there, and goes on when they are."""
SOON_S = 30.0
"""Seconds until the tree is looked at whole when hints may have been lost, or a new folder was made, whose
files may have come before its watch. Our choice."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 30.0, 900.0
"""Seconds between two tries where the destination cannot be written; twice as long each time."""
PLACE_S = 10.0
"""Seconds after which the destination is looked at again before something is written: its file system
may have been unmounted. Our choice."""
PROVE_S = 60.0
"""Seconds between two looks for copies that are to be compared."""
MANY = 50
"""Files in one turn from which on they are not flushed one by one, but all together at the end."""


class MirroredTree:
    """Keeps one tree at one destination."""

    def __init__(
        self,
        source: str,
        leave: tuple[str, ...],
        goal: Goal,
        ledger: Ledger,
        number: int,
        batch: int = 1,
    ) -> None:
        """``leave``: folders of checkpoints inside the tree; ``number``: of the tree in the ledger;
        ``batch``: files that are copied together."""
        self.source = source
        self._leave = leave
        self._goal = goal
        self._ledger = ledger
        self._number = number
        self._batch = batch
        self._open: contextlib.ExitStack | None = None
        self._home: Home | None = None
        self._watch: TreeWatch | None = None
        self._why = ""
        """Why the kernel does not tell of changes here."""
        # The first ones are taken out again and again, which a plain dict would search for.
        self._pending: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """Files to copy: monotonic time of the first hint, bytes that are missing."""
        self._looking: Iterator[Folder] | None = None
        self._look_s = self._took_s = 0.0
        """Seconds of CPU that this look has taken so far, and that the newest whole one took."""
        self._look_at = float("-inf")
        self._folders = self._files = 0
        self._counted = (0, 0)
        """Folders and files of the newest whole look."""
        self._checked = False
        """The copies were looked at as well, once since this process began."""
        self.looks = 0
        self._wanted_look = self._done_look = 0
        self._began_look = 0
        self._work: Work[Any] | None = None
        self._begun_at = float("-inf")
        self._proved_at = float("-inf")
        self._loose = 0
        self.failed = ""
        self._pause_s = FIRST_PAUSE_S
        self._not_before = 0.0

    # -- a turn -----------------------------------------------------------------------

    def turn(self, until: float, pace: Callable[[int], None]) -> bool:
        """Work until the monotonic time ``until``; returns whether more can be done at once.

        ``pace`` gets the bytes that were sent, and waits where there is a limit.
        """
        now = _mono()
        if now < self._not_before or not self._is_open():
            return False
        try:
            self._notice(now)
            more = self._go_on(until, pace)
            self.failed = "" if not self._pending else self.failed
            return more
        except MirrorError as trouble:
            self._put_off(str(trouble))
            return False

    def _put_off(self, why: str) -> None:
        self._drop_work()
        self._begun_at = float("-inf")
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S) if self.failed else FIRST_PAUSE_S
        self.failed = why
        self._not_before = _mono() + self._pause_s

    def _go_on(self, until: float, pace: Callable[[int], None]) -> bool:
        while _mono() < until:
            if self._work is None and not self._choose():
                return False
            assert self._work is not None
            try:
                tick = next(self._work)
                if isinstance(tick, CopyProgress):
                    pace(tick.sent)
            except StopIteration:
                self._work = None
        return True

    def _choose(self) -> bool:
        """Begin the next piece of work; ``False`` if there is none now."""
        now = _mono()
        if self._looking is not None and len(self._pending) < MOST_PENDING:
            self._work = self._look_on()
            return True
        due = []
        for name, (since, _) in self._pending.items():
            if now - since >= SETTLE_S:
                due.append(name)
                if len(due) >= self._batch:
                    break
        if due:
            self._goal.flush = len(self._pending) < MANY
            self._work = self._copy(due)
            return True
        if self._loose and len(self._pending) < MANY:
            self._goal.settle()
            self._loose = 0
            self._ledger.loosen(self._number, loose=False)
        return False

    def _copy(self, names: list[str]) -> Work[None]:
        assert self._home is not None
        if _mono() - self._begun_at > PLACE_S:
            yield from self._goal.begin(self._home, self.source)
            self._begun_at = _mono()
        if not self._goal.flush and not self._loose:
            self._loose = 1
            self._ledger.loosen(self._number, loose=True)
            self._ledger.commit()
        began = {name: self._pending[name] for name in names}
        again = yield from self._goal.copy(self._home, names)
        self.failed = ""
        now = _mono()
        for name in names:
            if self._pending.get(name) == began[name]:
                del self._pending[name]
            if name in again:
                self._pending[name] = now, 0

    def look_again(self, number: int) -> None:
        """Look at the whole tree once more, unless that was done for this number."""
        if number > self._wanted_look:
            self._wanted_look, self._look_at = number, float("-inf")

    # -- what has changed -------------------------------------------------------------

    def _notice(self, now: float) -> None:
        watch, home = self._watch, self._home
        assert watch is not None
        assert home is not None
        files, folders, lost = watch.changed()
        for name, since in files.items():
            self._take(home, name, since)
        for folder in folders:
            self._take_folder(home, folder, now)
        if lost or folders:
            self._look_at = min(self._look_at, now + max(SOON_S, self._took_s * POLLED_SHARE))
        if self._looking is None and now >= self._look_at:
            self._begin_look()
        elif not self._pending and self._work is None and now - self._proved_at > PROVE_S:
            self._proved_at = now
            self._work = self._prove()

    def _take(self, home: Home, name: str, since: float) -> None:
        if name in self._pending or tree_walk.is_left(home.fd, name, self._leave):
            return
        try:
            info = os.stat(name, dir_fd=home.fd, follow_symlinks=False)
        except (OSError, ValueError):
            return  # it is gone: its copy stays
        if not stat.S_ISREG(info.st_mode):
            return
        missing = tree_walk.missing_bytes(self._ledger.get(self._number, name), info)
        if missing is None:
            return
        if len(self._pending) < MOST_PENDING:
            self._pending[name] = since, missing
        else:
            self._look_at = min(self._look_at, since + SOON_S)

    def _take_folder(self, home: Home, name: str, now: float) -> None:
        """A folder was made or moved: what lies in it may have come before it was watched."""
        for folder in tree_walk.walk(home.fd, self._leave, name):
            for one, missing in tree_walk.differing(folder, self._ledger, self._number):
                if len(self._pending) >= MOST_PENDING:
                    return
                self._pending.setdefault(one, (now, missing))

    def _begin_look(self) -> None:
        assert self._home is not None
        self._looking = tree_walk.walk(self._home.fd, self._leave)
        self._goal.left_out.clear()
        self._look_s, self._began_look = 0.0, self._wanted_look
        self._folders = self._files = 0

    def _look_on(self) -> Work[None]:
        """Look at the next folders, for as long as few enough files are to be copied."""
        assert self._watch is not None
        assert self._looking is not None
        since = time.process_time()
        for folder in self._looking:
            self._folders += 1
            self._files += len(folder.files)
            self._watch.saw(folder, time.time_ns())
            sizes = None if self._checked else self._goal.sizes(folder.name)
            now = _mono()
            for name, missing in tree_walk.differing(folder, self._ledger, self._number, sizes):
                # What was found by a look has waited long enough.
                self._pending.setdefault(name, (now - SETTLE_S, missing))
            self._look_s += time.process_time() - since
            if len(self._pending) >= MOST_PENDING:
                return
            yield CopyProgress()
            since = time.process_time()
        self._end_look()

    def _end_look(self) -> None:
        assert self._watch is not None
        self._looking = None
        self._took_s = took = self._look_s
        self._counted = self._folders, self._files
        self._checked = True
        self.looks += 1
        self._done_look = self._began_look
        seen = self._watch.how == "events"
        self._look_at = _mono() + self._watch.rest_s(self._folders, took)
        if seen and self._watch.watched() < self._folders:
            # More are counted than there are after some were deleted, which is no harm.
            missing = self._folders - self._watch.watched()
            self._watch_by_polling(f"the kernel has no watch left for {missing} of its folders")
        elif not seen and (self._watch.how == "polling") != (sum(self._counted) <= MOST_POLLED):
            self._begin_watch("polling" if self._watch.how == "looking" else "looking")
            self._look_at = min(self._look_at, _mono() + SOON_S)  # what came in between

    def _prove(self) -> Work[None]:
        """Compare copies that were made by growth, once their files have been quiet for a while."""
        assert self._home is not None
        quiet = time.time_ns() - int(LATELY_S * 1e9)
        for name in self._ledger.unproved(self._number, quiet):
            yield from self._goal.prove(self._home, name)

    # -- the folder -------------------------------------------------------------------

    def _is_open(self) -> bool:
        """Open the tree, and open it again when another folder has its name."""
        try:
            now = os.stat(self.source)
            if not stat.S_ISDIR(now.st_mode):
                raise NotADirectoryError
        except OSError:
            self._close_tree()
            return False
        home, watch = self._home, self._watch
        if home is not None and os.path.samestat(home.info, now) and watch and not watch.dead:
            return True
        self._close_tree()
        self._open = contextlib.ExitStack()
        try:
            self._home = self._open.enter_context(opened_folder(self.source))
            self._begin_watch(self._first_choice())
        except OSError as error:
            self._close_tree()
            self.failed = f"cannot be read: {error.strerror}"
            self._not_before = _mono() + FIRST_PAUSE_S
            return False
        self._look_at = float("-inf")
        return True

    def _first_choice(self) -> How:
        mount = mounts.Mounts(mounts.readable_table()).of(self._real())
        if mount is not None and mounts.is_local(mount.fstype):
            self._why = ""
            return "events"
        kind = mount.fstype if mount is not None else "an unknown file system"
        self._why = f"{kind} does not tell of changes"
        return "looking"  # until its size is known

    def _begin_watch(self, how: How) -> None:
        assert self._home is not None
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        try:
            self._watch = TreeWatch(self._real(), self._home.fd, how, self._leave)
        except OSError as error:
            if how != "events":
                raise
            full = error.errno in (errno.ENOSPC, errno.EMFILE)
            why = "the kernel has no watch left" if full else f"inotify fails: {error.strerror}"
            self._watch_by_polling(why)

    def _watch_by_polling(self, why: str) -> None:
        self._why = why
        self._begin_watch("looking")
        self._look_at = float("-inf")  # it has to see every folder once

    def _real(self) -> str:
        """A path of the open folder without links; as it was given where that leads elsewhere."""
        assert self._home is not None
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{self._home.fd}")
            if os.path.samestat(os.stat(path), self._home.info):
                return path
        return self.source

    def _drop_work(self) -> None:
        if self._work is not None:
            self._work.close()
            self._work = None

    def _close_tree(self) -> None:
        self._drop_work()
        self._looking = None
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._open is not None:
            self._open.close()
        self._open = self._home = None

    def close(self) -> None:
        """Stop watching, and leave what is under way."""
        self._close_tree()

    # -- what is told -----------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """How far the copy is behind, for the daemon."""
        now = _mono()
        oldest = min((since for since, _ in self._pending.values()), default=now)
        busy = bool(self._pending) or self._looking is not None or not self.looks
        there = self._home is not None
        state = "failed" if self.failed else "copying" if busy else "ok"
        left = next(iter(self._goal.left_out.values()), "")
        return {
            "source": self.source,
            "state": state if there or self.failed else "missing",
            "files": self._counted[1],
            "behind_files": len(self._pending),
            "behind_bytes": sum(missing for _, missing in self._pending.values()),
            "behind_s": round(max(0.0, now - oldest), 1),
            "looks": self.looks,
            "look": self._done_look,
            "looking": self._looking is not None,
            "watching": self._watch.how if self._watch is not None else None,
            "why": self._why,
            "left_out": len(self._goal.left_out),
            "detail": self.failed or left[:400],
        }


def _mono() -> float:
    return time.monotonic()  # noqa: TID251 (a separate process, without the clock of the daemon)
