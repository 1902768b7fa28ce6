"""New files below a folder, within bounds, without what is never a save. Runs in a child."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Collection, Iterator

from ..checkpoints.formats import names

DEEP = 6
"""Levels of folders below the first: ``outputs/DATE/TIME/checkpoints/step_1`` is five."""
MOST_FOLDERS = 400
"""Folders listed in one look. Our choice, like the next two: 20,000 entries with their times take
0.1 s on a local disk (measured: 5 us each), and the child has the lowest priority."""
MOST_ENTRIES = 20_000
LOOK_S = 2.0
"""Seconds of listing in one look, for slow network disks."""
MOST_LISTED = 5000
"""Entries listed of one folder: with more it is a data set."""

_NEVER = frozenset({"__pycache__", "wandb", "node_modules", "site-packages"})
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


class Walk:
    """Lists folders; one look has one of these, so that its bounds are for all of it together."""

    def __init__(
        self, since: float, folders: int = MOST_FOLDERS, entries: int = MOST_ENTRIES
    ) -> None:
        """``since``: epoch seconds; older files do not count. ``folders`` and ``entries``: listed at most."""
        self._since = since
        self._folders, self._entries = folders, entries
        self._until = time.monotonic() + LOOK_S  # noqa: TID251 (a program of its own)
        self._seen: set[str] = set()

    def fresh(self, root: str) -> Iterator[str]:
        """Paths of the files below ``root`` that were written since then, folders changed last
        first."""
        level = [root]
        for _ in range(DEEP + 1):
            below: list[tuple[float, str]] = []
            for folder in level:
                for path, changed in self._list(folder):
                    if changed is None:
                        yield path
                    else:
                        below.append((changed, path))
            level = [path for _, path in sorted(below, reverse=True)]

    def _list(self, folder: str) -> Iterator[tuple[str, float | None]]:
        """(path, ``None``) of each new file, and (path, time of its last change) of each folder."""
        late = time.monotonic() > self._until  # noqa: TID251
        if folder in self._seen or self._folders <= 0 or self._entries <= 0 or late:
            return
        self._seen.add(folder)
        self._folders -= 1
        entries = listed(folder)
        self._entries -= len(entries)
        inside = {entry.name for entry in entries}
        if any(mark in inside for mark in _ENVIRONMENTS) or _is_download(folder, inside):
            return
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    if not _is_passed_over(entry.name):
                        yield entry.path, entry.stat().st_mtime
                elif (
                    entry.is_file(follow_symlinks=False)
                    and not entry.name.startswith(".")
                    and entry.stat().st_mtime >= self._since
                ):
                    yield entry.path, None


def listed(folder: str) -> list[os.DirEntry[str]]:
    """The entries of a folder, at most :data:`MOST_LISTED`; none when it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry for _, entry in zip(range(MOST_LISTED), entries, strict=False)]
    except OSError:
        return []


def _is_passed_over(name: str) -> bool:
    return name.startswith((".", "models--")) or name in _NEVER or names.is_compiled(name)


def _is_download(folder: str, inside: Collection[str]) -> bool:
    """Whether the hub of Hugging Face has put a copy there (``local_dir``)."""
    return ".cache" in inside and os.path.isdir(f"{folder}/.cache/huggingface")


def is_foreign(path: str, homes: Collection[str]) -> bool:
    """Whether a path lies in a cache, an environment, or what a tracker or a hub writes.

    Folders above the working directories of the run (``homes``) do not count.
    """
    home = max((h for h in homes if path.startswith(f"{h.rstrip('/')}/")), key=len, default="")
    parts = [part for part in path[len(home) :].split("/") if part][:-1]
    hub = any(a == "hub" and b == "checkpoints" for a, b in itertools.pairwise(parts))
    return hub or any(map(_is_passed_over, parts))
