"""Find the checkpoints under some folders. Repeated scans are cheap.

A folder is listed again only when its modification time has changed. A name that is added or
removed changes it; growth of a file does not, and is noticed in :mod:`.followed`.

A scan lists so many names and no more; what is left is listed by the next scans. A *long* folder, with
more names than that, is gone through from scan to scan, a part in each, and its names are forgotten but
for those of checkpoints: a million files beside these cost time until a new one is seen, nothing else.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from middlewatch.sentinels.kit.numbers import span

from ..config.save_folder import SaveFolder
from .formats import names
from .save_names import CheckpointPath, FileState, SaveNames

__all__ = ["DEEPEST", "CheckpointFinder", "CheckpointPath"]

DEEPEST = 5
"""Levels of folders below a watched one that are searched. Ultralytics saves to ``runs/detect/train/weights``, MLflow
to ``mlartifacts/ID/artifacts/checkpoints/epoch_0``."""
MOST_NAMES = 20_000
"""Names listed in one scan, under all watched folders together, newest folders first: 50 ms. The last of
these folders is listed whole, if it has no more names than this."""
MOST_FOLDERS = 5_000
"""Folders looked at in one scan, newest first: 2 us each (measured). The others are not followed."""
MOST_FOUND = 20_000
"""Checkpoints that are followed under all watched folders together, newest folders first."""
TOLD_S = 30.0
"""Seconds for a pass through a long folder from which a person is told: a verdict about a save is due in
so many."""
EVERY_S = 2.0
"""Seconds between two scans of a run that is watched."""
_SETTLED_S = 2.0
"""Seconds. A folder that was changed less than this before a scan is listed again at the next one:
a further change may leave its modification time as it is, because that time advances in steps of
the kernel tick (4 ms), on a file server of up to 1 s."""
_NAMES_PER_S = 2_000
"""Names per second: a folder with many names is listed only as often as this rate allows. Listing
costs 2.3 us a name (measured), so it takes 0.5 % of a core at most. A long one that changes all the time
is gone through again and again, at the rate of the scans: 2 %."""

T = TypeVar("T")


class _Rest:
    """The names of a folder that were not given yet."""

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        self._entries = os.scandir(path)

    def some(self, count: int) -> list[os.DirEntry[str]]:
        """The next names; fewer than ``count`` at the end, or where no more can be read."""
        found: list[os.DirEntry[str]] = []
        try:
            found.extend(itertools.islice(self._entries, count))
        except OSError:  # it was deleted, or its disk is gone
            self.close()
        return found

    def close(self) -> None:
        self._entries.close()


@dataclass(slots=True)
class _Folder:
    """The result of listing one folder."""

    mtime_ns: int
    again_at: float = 0.0
    kind: names.Kind | None = None
    here: list[CheckpointPath] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    cut: bool = False
    """There was more in it than is followed."""
    long: bool = False
    """It has more names than are listed in one scan."""
    listed: int = 0
    """Of a long one: names that were listed in this pass."""
    passes: int = 0
    """Of a long one: how often it was gone through."""
    changed_ns: int = 0
    """Of a long one: its modification time when it was last looked at."""
    before: _Folder | None = None
    """Of a long one: what was found until this pass began; counts until it is over."""


class CheckpointFinder:
    """Scans the watched folders; one that does not exist yet is skipped until it does.

    With ``leads_far``, links for which it is true are not followed. :attr:`far` has the watched
    folders in which something was left out.
    """

    def __init__(
        self,
        folders: Sequence[str],
        learnt: Sequence[SaveFolder] = (),
        leads_far: Callable[[str], bool] | None = None,
        *,
        at_once: int | None = None,
        opens: bool = True,
    ) -> None:
        """``learnt``: what is known of some of the folders; of the others everything counts.
        ``at_once``: in place of :data:`MOST_NAMES`. ``opens``: see :class:`SaveNames`."""
        known = {f.path.rstrip("/") or "/": f for f in learnt}
        plain = [f.rstrip("/") or "/" for f in folders]
        # A folder that counts only in part is searched last: another may contain it.
        every = dict.fromkeys((*plain, *known))
        self.roots = tuple(sorted(every, key=lambda p: p in known and not known[p].whole))
        self._names = SaveNames(self.roots, known, leads_far, opens=opens)
        self._at_once = at_once or MOST_NAMES
        self._most_folders = MOST_FOLDERS
        self._root_now = ""
        self._folders: dict[str, _Folder] = {}
        self._seen: dict[str, _Folder] = {}
        self._left = self._looks = 0
        self._waits = self._over = self._whole_once = False
        self._turns: dict[str, None] = {}
        """The long folders, in the order in which they are gone through."""
        self._rest: _Rest | None = None
        """What is left of the one that is gone through now: the first of them."""

    @property
    def far(self) -> set[str]:
        """The watched folders in which something far was left out."""
        return self._names.far

    @property
    def unsure(self) -> Mapping[str, FileState]:
        """Files that only their first bytes can tell, which this finder does not read."""
        return self._names.unsure

    def told(self, asked: Mapping[str, FileState], models: Container[str]) -> None:
        """Which of these files are checkpoints: their folders are listed again."""
        for path, mark in asked.items():
            self._names.learn(path, mark, model=path in models)
            folder = self._folders.get(path.rpartition("/")[0] or "/")
            if folder is not None and path in models:
                folder.mtime_ns = -1

    @property
    def first_pass(self) -> bool:
        """True until everything has been listed once: what is found so far was there before."""
        return not self._whole_once

    def scan(self, now: float, barred: Container[str] = ()) -> dict[str, CheckpointPath]:
        """All checkpoints that exist now, by path. ``now``: wall time in epoch seconds.

        ``barred``: folders that are not touched, nor what is in them. Raises OSError when watched
        folders exist and none of them can be read.
        """
        self._left, self._looks = self._at_once, self._most_folders
        self._waits = self._over = False
        self._seen = {}
        self._names.barred = barred
        self.far.clear()
        places: dict[str, CheckpointPath] = {}
        refused = [error for root in self.roots if (error := self._root(root, now, places))]
        if refused and not self._seen:
            raise refused[0]
        self._folders = self._seen
        self._go_through(now, places)
        return places

    def scan_all(self) -> dict[str, CheckpointPath]:
        """As :meth:`scan`, of all names at once; for a command, which may take its time."""
        self._most_folders = MOST_FOUND  # once, where the daemon looks every two seconds
        try:
            places = self.scan(math.inf)  # nothing has changed just now
            while self.first_pass:
                places = self.scan(math.inf)
            return places
        finally:
            self.close()

    def notes(self) -> list[str]:
        """Sentences for a person about what is seen late, or not at all."""
        told = []
        long = [
            (max(folder.listed, folder.before.listed if folder.before else 0), path)
            for path, folder in self._folders.items()
            if folder.long
        ]
        count, path = max(long, default=(0, ""))
        late_s = (count // self._at_once + 1) * EVERY_S
        if late_s > TOLD_S:
            known = "or more" if not self._folders[path].passes else "of files and folders"
            others = f", and {len(long) - 1} others have many" if len(long) > 1 else ""
            told.append(
                f"{path} has {count:,} names {known}{others}: "
                f"it takes up to {span(2 * late_s)} until a new save there is seen"
            )
        if self._over or any(folder.cut for folder in self._folders.values()):
            told.append(
                f"there are more than {MOST_FOUND:,} saves or {self._most_folders:,} folders below "
                f"{', '.join(self.roots)}: the others are not followed"
            )
        return told

    def close(self) -> None:
        """Give back the descriptor of a long folder."""
        if self._rest is not None:
            self._rest.close()
            self._rest = None

    def _root(self, path: str, now: float, places: dict[str, CheckpointPath]) -> OSError | None:
        self._root_now = path
        try:
            self._visit(path, os.stat(path).st_mtime_ns, 0, now, places)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return error
        return None

    def _visit(
        self, path: str, mtime_ns: int, depth: int, now: float, places: dict[str, CheckpointPath]
    ) -> None:
        if path in self._seen:
            return  # one watched folder inside another
        folder = self._folders.get(path)
        if folder is None and self._left <= 0:
            self._waits = True
            return
        if folder is not None and folder.long:
            folder.changed_ns = mtime_ns  # it has its turn when the others were listed
        elif folder is None or (
            folder.mtime_ns != mtime_ns and now >= folder.again_at and self._left > 0
        ):
            folder = self._list(path, depth, mtime_ns, now)
        self._seen[path] = folder
        if folder.kind is not None:
            leftover = names.is_leftover(path.rpartition("/")[2])
            places[path] = CheckpointPath(path, folder.kind, leftover, mtime_ns)
            return
        both = (folder,) if folder.before is None else (folder, folder.before)
        for place in itertools.chain.from_iterable(one.here for one in both):
            if len(places) >= MOST_FOUND and place.path not in places:
                self._over = True
                break
            places[place.path] = place
        if depth < DEEPEST:
            below = itertools.chain.from_iterable(one.below for one in both)
            self._descend(dict.fromkeys(below), depth + 1, now, places)

    def _descend(
        self, paths: dict[str, None], depth: int, now: float, places: dict[str, CheckpointPath]
    ) -> None:
        """Visit folders, the one changed last first."""
        found = []
        for path in paths:
            if path in self._names.barred:
                self.far.add(self._root_now)
                continue
            if self._looks <= 0:
                self._over = True
                break
            self._looks -= 1
            mtime_ns = _mtime_ns(path)
            if mtime_ns is not None:
                found.append((mtime_ns, path))
        found.sort(reverse=True)
        for mtime_ns, path in found:
            try:
                self._visit(path, mtime_ns, depth, now, places)
            except OSError:
                continue  # deleted meanwhile, or no permission

    def _list(self, path: str, depth: int, mtime_ns: int, now: float) -> _Folder:
        rest = _Rest(path)
        try:
            found = rest.some(self._at_once)
        finally:
            rest.close()
        self._left -= len(found)
        folder = _Folder(mtime_ns, again_at=now + len(found) / _NAMES_PER_S)
        if now - mtime_ns / 1e9 < _SETTLED_S:
            folder.mtime_ns = -1  # changed too recently: list it again next time
        files, folders = self._names.sort(found, self._root_now)
        folder.kind = self._names.kind(path, depth, files, folders)
        self._keep(folder, path, files, folders)
        if len(found) == self._at_once and folder.kind is None:
            folder.long, folder.listed, folder.changed_ns = True, len(found), mtime_ns
            self._turns[path] = None
        return folder

    def _go_through(self, now: float, places: dict[str, CheckpointPath]) -> None:
        """List more of the long folders, as much as this scan has left after all others.

        One after the other is gone through to its end, so that one descriptor is enough.
        """
        for path in list(self._turns):
            folder = self._folders.get(path)
            if folder is None or not folder.long:
                self._end(path)
                continue
            due = folder.passes == 0 or folder.mtime_ns != folder.changed_ns
            if self._rest is None and not due:
                continue
            if self._left <= 0:
                break
            if self._rest is None and not self._begin(path, folder, now):
                continue
            if self._pass(self._rest, path, folder, places):
                self._end(path)
                self._turns[path] = None
        new = any(folder.long and folder.passes == 0 for folder in self._folders.values())
        self._whole_once = self._whole_once or not (self._waits or new)

    def _begin(self, path: str, folder: _Folder, now: float) -> bool:
        """Begin to go through a long folder, which comes first from now on; False if that cannot be
        done now."""
        try:
            self._rest = _Rest(path)
        except OSError:
            return False
        self._turns = dict.fromkeys((path, *self._turns))
        settled = now - folder.changed_ns / 1e9 >= _SETTLED_S
        folder.mtime_ns = folder.changed_ns if settled else -1
        folder.before = replace(folder, before=None)
        folder.here, folder.below, folder.listed, folder.cut = [], [], 0, False
        return True

    def _pass(
        self, rest: _Rest | None, path: str, folder: _Folder, places: dict[str, CheckpointPath]
    ) -> bool:
        """List a part of a long folder; True at its end."""
        want, here, below = min(self._left, self._at_once), len(folder.here), len(folder.below)
        found = rest.some(want) if rest is not None else []
        self._left -= len(found)
        folder.listed += len(found)
        root = next((root for root in self.roots if path.startswith(root)), path)
        self._keep(folder, path, *self._names.sort(found, root))
        room = max(0, MOST_FOUND - len(places))
        places.update((place.path, place) for place in folder.here[here : here + room])
        self._waits = self._waits or len(folder.below) > below
        if len(found) == want:
            return False
        folder.passes, folder.before = folder.passes + 1, None
        return True

    def _end(self, path: str) -> None:
        """A long folder was gone through, or is none any more."""
        if path == next(iter(self._turns)):
            self.close()
        del self._turns[path]

    def _keep(
        self,
        folder: _Folder,
        path: str,
        files: list[os.DirEntry[str]],
        folders: list[os.DirEntry[str]],
    ) -> None:
        """Add the checkpoints among these files, and the folders in which there may be some."""
        if folder.kind is None:
            here = _add(folder.here, self._names.files(path, files), MOST_FOUND)
            below = _add(folder.below, self._names.folders(path, folders), self._most_folders)
            folder.cut = folder.cut or not (here and below)


def _add(known: list[T], more: Iterator[T], most: int) -> bool:
    """Add some until there are ``most``; False if not all of them could be added."""
    known.extend(itertools.islice(more, most - len(known)))
    return next(more, None) is None


def _mtime_ns(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
