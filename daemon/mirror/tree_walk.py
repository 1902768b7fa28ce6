"""Looks at a tree whole, a folder at a time: which of its files are not at the destination as they are.

No link is followed, and nothing on another file system below is entered. Temporary names are passed
over, as their writers rename them, and so are checkpoints in the folders that are known to hold them:
these are copied as checkpoints, with a proof.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..checkpoints.formats import names
from ..system import places
from .tree_ledger import Copied, Ledger

_DEEPEST = 64


class Folder(NamedTuple):
    """One folder of a tree, as it was looked at."""

    name: str
    """Its path inside the tree; empty for the tree itself."""
    mtime_ns: int
    files: list[tuple[str, os.stat_result]]
    """Regular files that are to be copied: path inside the tree, and what stat says."""
    folders: list[str]


def look(fd: int, name: str, leave: Sequence[str]) -> Folder:
    """Look at one folder. Raises OSError where it is gone or may not be read.

    ``fd``: the open tree. ``leave``: folders of checkpoints, by their paths inside the tree.
    """
    here = places.open_beneath(fd, name or ".", directory=True)
    try:
        files, folders = [], []
        info = os.fstat(here)
        holds_saves = any(name == one or not one for one in leave)
        with os.scandir(here) as entries:
            for entry in entries:
                if names.is_leftover(entry.name):
                    continue
                whole = f"{name}/{entry.name}" if name else entry.name
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if stat.S_ISDIR(found.st_mode):
                    below = found.st_dev == info.st_dev and whole.count("/") < _DEEPEST
                    if below and not (holds_saves and _is_save(here, entry.name)):
                        folders.append(whole)
                elif stat.S_ISREG(found.st_mode) and not (
                    holds_saves and names.is_checkpoint_file(entry.name)
                ):
                    files.append((whole, found))
    finally:
        os.close(here)
    return Folder(name, info.st_mtime_ns, files, folders)


def is_left(fd: int, name: str, leave: Sequence[str]) -> bool:
    """Whether a file that an event named is passed over. ``fd``: the open tree."""
    pieces = name.split("/")
    if any(names.is_leftover(piece) for piece in pieces):
        return True
    for one in leave:
        depth = len(one.split("/")) if one else 0
        if pieces[:depth] != (one.split("/") if one else []) or len(pieces) <= depth:
            continue
        if len(pieces) == depth + 1:
            return names.is_checkpoint_file(pieces[-1])
        with contextlib.suppress(OSError):
            here = places.open_beneath(fd, one or ".", directory=True)
            try:
                return _is_save(here, pieces[depth])
            finally:
                os.close(here)
    return False


def walk(fd: int, leave: Sequence[str], start: str = "") -> Iterator[Folder]:
    """Every folder from ``start`` on. What is gone by then, or may not be read, is passed over."""
    todo = [start]
    while todo:
        try:
            folder = look(fd, todo.pop(), leave)
        except OSError:
            continue
        todo += folder.folders
        yield folder


def differing(
    folder: Folder, ledger: Ledger, tree: int, sizes: Mapping[str, int] | None = None
) -> Iterator[tuple[str, int]]:
    """The files of a folder that are not copied as they are now, with the bytes that are missing.

    ``sizes``: of the copies, by the names of the files, where they were looked at too.
    """
    known = ledger.folder(tree, folder.name)
    for name, info in folder.files:
        base = name.rpartition("/")[2]
        missing = missing_bytes(known.get(base), info)
        if missing is None and sizes is not None and sizes.get(base) != info.st_size:
            missing = info.st_size
        if missing is not None:
            yield name, missing


def missing_bytes(row: Copied | None, info: os.stat_result) -> int | None:
    """Bytes that are to be copied; ``None`` for a file that is copied as it is now."""
    if row is None:
        return info.st_size
    if row.is_of(info):
        return None
    return info.st_size - row.copied if info.st_size > row.copied else info.st_size


def _is_save(parent: int, name: str) -> bool:
    """Whether a folder is a checkpoint, by what lies right in it."""
    try:
        here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except OSError:
        return False
    try:
        with os.scandir(here) as entries:
            found = [(e.name, e.is_dir(follow_symlinks=False)) for e in entries]
    except OSError:
        return False
    finally:
        os.close(here)
    files, folders = [n for n, d in found if not d], [n for n, d in found if d]
    return names.folder_kind(name, files, folders) is not None
