"""Find the checkpoints under some folders. Repeated scans are cheap.

A folder is listed again only when its modification time has changed. A name that is added or
removed changes it; growth of a file does not, and is noticed in :mod:`.followed`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..config.save_folder import SaveFolder, shape
from .formats import names

DEEPEST = 3
"""Levels of folders below a watched one that are searched: ``out/run/checkpoints/step_10``."""
MOST_NAMES = 20_000
"""Limit on the names listed under all watched folders together, newest folders first."""
_SETTLED_S = 2.0
"""Seconds. A folder that was changed less than this before a scan is listed again at the next one:
a further change may leave its modification time as it is, because that time advances in steps of
the kernel tick (4 ms), on a file server of up to 1 s."""
_NAMES_PER_S = 2_000
"""Names per second: a folder with many names is listed only as often as this rate allows. Listing
costs 2.3 us a name (measured), so it takes 0.5 % of a core at most."""
_NEVER = frozenset({"__pycache__", "wandb", "mlruns", "tensorboard", "tb_logs", "node_modules"})


class CheckpointPath(NamedTuple):
    """A file or folder that is a checkpoint, or may become one."""

    path: str
    kind: names.Kind | None
    """``None`` for a file."""
    leftover: bool
    """It has a temporary name: a sign of a save, never a checkpoint."""
    mtime_ns: int
    """Of a folder: it changes when a name inside is added or removed. 0 for a file."""


@dataclass(slots=True)
class _Folder:
    """The result of listing one folder."""

    mtime_ns: int
    entries: int = 0
    again_at: float = 0.0
    kind: names.Kind | None = None
    here: list[CheckpointPath] = field(default_factory=list)
    below: list[str] = field(default_factory=list)


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
    ) -> None:
        """``learnt``: what is known of some of the folders; of the others everything counts."""
        self.far: set[str] = set()
        self._leads_far = leads_far
        self._barred: Container[str] = ()
        self._root_now = ""
        self._learnt = {f.path.rstrip("/") or "/": f for f in learnt}
        plain = [f.rstrip("/") or "/" for f in folders]
        # A folder that counts only in part is searched last: another may contain it.
        every = dict.fromkeys((*plain, *self._learnt))
        self.roots = tuple(sorted(every, key=lambda path: not self._whole(path)))
        self._folders: dict[str, _Folder] = {}
        self._left = 0
        self._seen: dict[str, _Folder] = {}

    def _whole(self, path: str) -> bool:
        known = self._learnt.get(path)
        return known is None or known.whole

    def scan(self, now: float, barred: Container[str] = ()) -> dict[str, CheckpointPath]:
        """All checkpoints that exist now, by path. ``now``: wall time in epoch seconds.

        ``barred``: folders that are not touched, nor what is in them. Raises OSError when watched
        folders exist and none of them can be read.
        """
        self._left = MOST_NAMES
        self._seen = {}
        self._barred = barred
        self.far.clear()
        places: dict[str, CheckpointPath] = {}
        refused = [error for root in self.roots if (error := self._root(root, now, places))]
        if refused and not self._seen:
            raise refused[0]
        self._folders = self._seen
        return places

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
        if folder is None or (folder.mtime_ns != mtime_ns and now >= folder.again_at):
            folder = self._list(path, depth, mtime_ns, now)
        self._seen[path] = folder
        self._left -= folder.entries
        if folder.kind is not None:
            leftover = names.is_leftover(path.rpartition("/")[2])
            places[path] = CheckpointPath(path, folder.kind, leftover, mtime_ns)
            return
        for place in folder.here:
            places[place.path] = place
        if depth < DEEPEST and folder.below:
            self._descend(folder.below, depth + 1, now, places)

    def _descend(
        self, paths: Sequence[str], depth: int, now: float, places: dict[str, CheckpointPath]
    ) -> None:
        """Visit folders, the one changed last first, until :data:`MOST_NAMES` are listed."""
        found = []
        for path in paths:
            if path in self._barred:
                self.far.add(self._root_now)
                continue
            mtime_ns = _mtime_ns(path)
            if mtime_ns is not None:
                found.append((mtime_ns, path))
        found.sort(reverse=True)
        for mtime_ns, path in found:
            if self._left <= 0:
                return
            try:
                self._visit(path, mtime_ns, depth, now, places)
            except OSError:
                continue  # deleted meanwhile, or no permission

    def _list(self, path: str, depth: int, mtime_ns: int, now: float) -> _Folder:
        with os.scandir(path) as entries:
            found = list(itertools.islice(entries, MOST_NAMES))
        files: list[os.DirEntry[str]] = []
        folders: list[os.DirEntry[str]] = []
        for entry in found:
            if entry.path in self._barred:
                self.far.add(self._root_now)
                continue
            if entry.is_symlink():
                if self._leads_far is not None and self._leads_far(entry.path):
                    self.far.add(self._root_now)
                    continue
                if not self._leads_out(entry.path):
                    continue
            (folders if entry.is_dir() else files).append(entry)
        folder = _Folder(mtime_ns, entries=len(found), again_at=now + len(found) / _NAMES_PER_S)
        if now - mtime_ns / 1e9 < _SETTLED_S:
            folder.mtime_ns = -1  # changed too recently: list it again next time
        learnt = self._learnt.get(path)
        if learnt is not None and not learnt.whole:
            folder.here = [place for e in files for place in _named(learnt, e)]
            folder.below = [e.path for e in folders if _counts(learnt, e.name)]
            return folder
        file_names = {e.name for e in files}
        name = path.rpartition("/")[2]
        among_data = self._among_data(path)
        folder.kind = names.folder_kind(name, file_names, {e.name for e in folders})
        if among_data and folder.kind == "folder" and not names.says_save(name):
            folder.kind = None
        if folder.kind == "folder" and not any(map(names.is_weights, file_names)):
            # samples/step_100 holds pictures; a watched folder called 20000 holds checkpoints.
            # runs/123456 is the folder of a job.
            folder.kind = None if depth == 0 or not folders or name.isdigit() else "folder"
        if depth > 0 and names.is_leftover_checkpoint(name):
            folder.kind = folder.kind or "folder"
        if folder.kind is None:
            folder.here = [
                CheckpointPath(e.path, None, names.is_leftover(e.name), 0)
                for e in files
                if (names.is_checkpoint_file(e.name) or names.is_leftover_checkpoint(e.name))
                and (not among_data or names.says_save(e.name))
            ]
            if learnt is not None and learnt.names:
                found_here = {place.path for place in folder.here}
                by_name = [place for e in files for place in _named(learnt, e)]
                folder.here += [place for place in by_name if place.path not in found_here]
            folder.below = [
                e.path
                for e in folders
                if names.is_leftover_checkpoint(e.name)
                or not (e.name.startswith(".") or e.name in _NEVER or names.is_compiled(e.name))
            ]
        return folder

    def _among_data(self, path: str) -> bool:
        """Whether it lies in a data folder. The name of a watched folder itself does not count."""
        root = max((r for r in self.roots if path.startswith(r)), key=len, default="")
        return any(map(names.is_data, path[len(root) :].split("/")))

    def _leads_out(self, path: str) -> bool:
        """Whether a link points outside; the target of others (``last.ckpt``) is found anyway."""
        target = os.path.realpath(path)
        return not any(
            target == root or target.startswith(root + "/")
            for root in map(os.path.realpath, self.roots)
        )


def _counts(learnt: SaveFolder, name: str) -> bool:
    """Whether a name is one of the run's, or the temporary name of one: ``last.pt.tmp``."""
    if learnt.holds(name):
        return True
    return names.is_leftover(name) and any(
        one.removeprefix("=") in (name if one.startswith("=") else shape(name))
        for one in learnt.names
    )


def _named(learnt: SaveFolder, entry: os.DirEntry[str]) -> list[CheckpointPath]:
    """The place of a file whose name is one of the run's; else none."""
    if not _counts(learnt, entry.name):
        return []
    return [CheckpointPath(entry.path, None, names.is_leftover(entry.name), 0)]


def _mtime_ns(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
