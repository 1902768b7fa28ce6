"""Which of the names in a folder are checkpoints, and in which folders below there may be some."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..config.save_folder import SaveFolder, shape
from .formats import names

NEVER = frozenset({"__pycache__", "wandb", "mlruns", "tensorboard", "tb_logs", "node_modules"})

_MOST_PEEKED = 20_000

FileState = tuple[int, int, int]
"""Of a file: its modification time in nanoseconds, its size and its inode."""
Entries = list[os.DirEntry[str]]


class CheckpointPath(NamedTuple):
    """A file or folder that is a checkpoint, or may become one."""

    path: str
    kind: names.Kind | None
    """``None`` for a file."""
    leftover: bool
    """It has a temporary name: a sign of a save, never a checkpoint."""
    mtime_ns: int
    """Of a folder: it changes when a name inside is added or removed. 0 for a file."""


class SaveNames:
    """Chooses among the names of the folders below ``roots``.

    ``learnt``: what is known of some of the folders, by path. With ``leads_far``, links for which it is
    true are not followed. :attr:`far` has the roots in which something was left out. Without ``opens`` no file
    is opened: what only its first bytes can tell is put down in :attr:`unsure` until :meth:`learn` says it.
    """

    def __init__(
        self,
        roots: Sequence[str],
        learnt: Mapping[str, SaveFolder],
        leads_far: Callable[[str], bool] | None,
        *,
        opens: bool = True,
    ) -> None:
        self.far: set[str] = set()
        self.barred: Container[str] = ()
        """Folders that are not touched."""
        self._roots, self._learnt, self._leads_far = roots, learnt, leads_far
        self._models: set[str] = set()
        """Series of files that were found to be models."""
        self._peeked: dict[str, FileState] = {}
        """Files that were opened and are none -> how they were then."""
        self._opens = opens
        self.unsure: dict[str, FileState] = {}
        """Files that somebody else has to look at."""

    def sort(self, found: Iterable[os.DirEntry[str]], root: str) -> tuple[Entries, Entries]:
        """Files and folders, without what must not be touched and what is found elsewhere."""
        files: Entries = []
        folders: Entries = []
        for entry in found:
            if entry.path in self.barred:
                self.far.add(root)
                continue
            if entry.is_symlink():
                if self._leads_far is not None and self._leads_far(entry.path):
                    self.far.add(root)
                    continue
                if not self._leads_out(entry.path):
                    continue
            (folders if entry.is_dir() else files).append(entry)
        return files, folders

    def kind(self, path: str, depth: int, files: Entries, folders: Entries) -> names.Kind | None:
        """What kind of checkpoint a folder is by the names in it; ``None``: it is none itself."""
        learnt = self._learnt.get(path)
        if learnt is not None and not learnt.whole:
            return None
        file_names = {e.name for e in files}
        name = path.rpartition("/")[2]
        folder_names = {e.name for e in folders}
        kind = names.folder_kind(name, file_names, folder_names)
        if kind is None and names.is_one_save(file_names, folder_names, watched=depth == 0):
            kind = "folder"
        if kind == "folder" and self._among_data(path) and not names.says_save(name):
            kind = None
        if kind == "folder" and not any(
            n in names.MARKS or names.is_weights(n) for n in file_names
        ):
            # samples/step_100 holds pictures; a watched folder called 20000 holds checkpoints.
            # runs/123456 is the folder of a job.
            kind = None if depth == 0 or not folders or name.isdigit() else "folder"
        if depth > 0 and names.is_leftover_checkpoint(name):
            kind = kind or "folder"
        return kind

    def files(self, path: str, files: Entries) -> Iterator[CheckpointPath]:
        """The checkpoints among the files of a folder."""
        learnt = self._learnt.get(path)
        if learnt is not None and not learnt.whole:
            yield from (place for e in files for place in _named(learnt, e))
            return
        among_data = self._among_data(path)
        data = (e.name for e in files if names.TENSORFLOW_DATA.match(e.name))
        there = {key for name in data for key in names.member_of(name)}
        for entry in files:
            name = entry.name
            called_so = names.is_checkpoint_file(name) or names.is_leftover_checkpoint(name)
            if not called_so and names.may_be_checkpoint(name):
                called_so = self._is_one(entry, there)
            if called_so and (not among_data or names.says_save(name)):
                yield CheckpointPath(entry.path, None, names.is_leftover(name), 0)
            elif learnt is not None and learnt.names:
                yield from _named(learnt, entry)

    def _is_one(self, entry: os.DirEntry[str], there: Container[str]) -> bool:
        """Whether a file whose name says too little is a checkpoint: by the files beside it, else by its
        first bytes, which are read once. ``there``: the families of the files beside it."""
        if entry.name.endswith(names.TENSORFLOW):
            return names.family_of(entry.name) in there
        shape = names.series(entry.path)
        if shape in self._models:
            return True
        try:
            found = entry.stat()
        except OSError:
            return False
        if not stat.S_ISREG(found.st_mode):
            return False  # a pipe would wait for somebody who writes
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        if self._peeked.get(entry.path) == mark:
            return False
        if not self._opens:
            if len(self.unsure) < _MOST_PEEKED:
                self.unsure[entry.path] = mark
            return False
        from .formats.readers import models  # few folders have such files

        model = models.is_model(entry.path)
        self.learn(entry.path, mark, model=model)
        return model

    def learn(self, path: str, mark: FileState, *, model: bool) -> None:
        """What the first bytes of a file say."""
        if self.unsure.get(path) == mark:
            del self.unsure[path]
        if model:  # the next of its kind need not be opened, nor be whole
            self._models.add(names.series(path))
            return
        if len(self._peeked) >= _MOST_PEEKED:
            self._peeked.clear()
        self._peeked[path] = mark

    def folders(self, path: str, folders: Entries) -> Iterator[str]:
        """The folders in a folder in which there may be checkpoints."""
        learnt = self._learnt.get(path)
        if learnt is not None and not learnt.whole:
            return (e.path for e in folders if _counts(learnt, e.name))
        return (
            e.path
            for e in folders
            if names.is_leftover_checkpoint(e.name)
            or not (e.name.startswith(".") or e.name in NEVER or names.is_compiled(e.name))
        )

    def _among_data(self, path: str) -> bool:
        """Whether it lies in a data folder. The name of a watched folder itself does not count."""
        root = max((r for r in self._roots if path.startswith(r)), key=len, default="")
        return any(map(names.is_data, path[len(root) :].split("/")))

    def _leads_out(self, path: str) -> bool:
        """Whether a link points outside; the target of others (``last.ckpt``) is found anyway."""
        target = os.path.realpath(path)
        return not any(
            target == root or target.startswith(root + "/")
            for root in map(os.path.realpath, self._roots)
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
