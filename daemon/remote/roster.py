"""On the box: list the files of a run with sizes and digests. Nothing is written, no link is followed.

A checkpoint that the watch has verified keeps the digest of that reading, if its files are as they were
then. Everything else is read once for its digest, at the lowest priority.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from ..checkpoints import finder, followed
from ..checkpoints.formats import names
from ..checkpoints.verify import levels, scan
from ..system import places
from ..system.clock import epoch
from .manifest import PAGES, UNREADABLE, LeftOut, OneCheckpoint, OneFile, Place, RunFiles, unsafe

MOST_FILES = 1_000_000
"""Files of one run. Our choice: their manifest is 200 MB."""
DEEPEST = 32
_PIECE = 1 << 20
_GRAIN_S = 0.002
"""Seconds: the index keeps the time of a save to the millisecond."""


@dataclass(frozen=True, slots=True)
class RunToList:
    """What is known of a run."""

    run: str
    name: str
    state: str
    alive: bool
    folders: tuple[str, ...]
    """Its checkpoint folders."""
    shared: frozenset[str]
    """Those of them that others use as well: only the checkpoints of the run are taken from there."""
    logs: tuple[str, ...]
    own: str
    """The folder of the run in the state directory: its page, its index, its output."""
    index: Sequence[Mapping[str, Any]]
    """The checkpoints in its index."""
    last_step: float | None = None
    status: dict[str, Any] | None = None
    incidents: tuple[dict[str, Any], ...] = ()


class Roster:
    """Lists one run."""

    def __init__(self, known: RunToList, *, quick: bool) -> None:
        """``quick``: no digests but those of the index."""
        self._known = known
        self._quick = quick
        self._places: list[Place] = []
        self._found: dict[tuple[int, str], os.stat_result] = {}
        self._left_out: list[LeftOut] = []
        self._logs: list[str] = []

    def listed(self) -> RunFiles:
        """Read all of it. Raises nothing for what is found."""
        known = self._known
        whole = [folder for folder in known.folders if folder not in known.shared]
        for folder in _outermost(whole):
            self._walk(self._place(f"checkpoints/{_base(folder)}", folder), folder)
        checkpoints = [one for entry in known.index for one in self._checkpoint(entry)]
        for path in dict.fromkeys(known.logs):
            self._log(path)
        if not known.alive and os.path.isdir(known.own):
            self._walk(self._place("watch", known.own), known.own)
        covered = {(one.place, name) for one in checkpoints if one.digest for name in one.members}
        files = list(self._files(covered))
        there = {(one.place, one.name) for one in files}
        whole_ones = [c for c in checkpoints if all((c.place, n) in there for n in c.members)]
        return RunFiles(
            known.run,
            known.name,
            known.state,
            known.alive,
            self._places,
            files,
            whole_ones,
            self._left_out,
            self._logs,
            known.last_step,
            known.status,
            list(known.incidents),
            dict(self._pages()),
        )

    def _pages(self) -> Iterator[tuple[str, str]]:
        """What the watch has written of the run."""
        for name in PAGES:
            with contextlib.suppress(OSError, ValueError):
                yield name, Path(self._known.own, name).read_text(encoding="utf-8")

    # ------------------------------------------------------------------------ folders

    def _place(self, name: str, root: str) -> int:
        """The number of the place with this root, made if there is none."""
        for number, place in enumerate(self._places):
            if place.root == root:
                return number
        safe = "/".join(part if not unsafe(part) else "unnamed" for part in name.split("/"))
        taken = {place.name for place in self._places}
        tried = (safe if n == 1 else f"{safe}-{n}" for n in range(1, len(taken) + 2))
        self._places.append(Place(next(one for one in tried if one not in taken), root))
        return len(self._places) - 1

    def _where(self, path: str) -> tuple[int, str] | None:
        """(place, name there) of a path below a place that is listed whole."""
        for number, place in enumerate(self._places):
            if path.startswith(f"{place.root.rstrip('/')}/"):
                name = path[len(place.root.rstrip("/")) + 1 :]
                if (number, name) in self._found or os.path.isdir(path):
                    return number, name
        return None

    def _walk(self, place: int, root: str) -> None:
        todo = [("", root, 0)]
        while todo:
            prefix, here, depth = todo.pop()
            try:
                with os.scandir(here) as entries:
                    for entry in entries:
                        name = prefix + entry.name
                        if entry.is_dir(follow_symlinks=False):
                            if names.is_leftover(entry.name):
                                self._leave(
                                    entry.path, "it is being written, or was left half-written"
                                )
                            elif depth < DEEPEST:
                                todo.append((f"{name}/", entry.path, depth + 1))
                            else:
                                self._leave(entry.path, "it lies too deep")
                        else:
                            self._take(place, name, entry.path)
            except OSError as error:
                self._leave(here, f"{UNREADABLE}: {error.strerror}")

    def _take(self, place: int, name: str, path: str) -> bool:
        """Add one file, or say why not."""
        if (place, name) in self._found:
            return True
        if self._places[place].root == self._known.own and name in PAGES:
            return False
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            return False  # deleted meanwhile
        except OSError as error:
            self._leave(path, f"{UNREADABLE}: {error.strerror}")
            return False
        if why := self._refused(name, info):
            self._leave(path, why)
            return False
        self._found[place, name] = info
        return True

    def _refused(self, name: str, info: os.stat_result) -> str:
        if stat.S_ISLNK(info.st_mode):
            return "it is a link, and links are not followed"
        if not stat.S_ISREG(info.st_mode):
            return "it is no regular file"
        if names.is_leftover(os.path.basename(name)):
            return "it is being written, or was left half-written"
        if len(self._found) >= MOST_FILES:
            return f"there are more than {MOST_FILES:,} files"
        return unsafe(name)

    def _leave(self, path: str, why: str) -> None:
        self._left_out.append(LeftOut(os.fsencode(path).decode("utf-8", "replace"), why))

    def _log(self, path: str) -> None:
        path = os.path.normpath(path)
        if not path.startswith("/") or path.startswith(("/proc/", "/dev/")):
            return
        where = self._where(path)
        if where is None and path.startswith(f"{self._known.own.rstrip('/')}/"):
            where = self._place("watch", self._known.own), os.path.basename(path)
        if where is None:
            where = self._place("logs", os.path.dirname(path)), os.path.basename(path)
        if self._take(*where, path):
            self._logs.append(f"{self._places[where[0]].name}/{where[1]}")

    # ------------------------------------------------------------------------ checkpoints

    def _checkpoint(self, entry: Mapping[str, Any]) -> Iterator[OneCheckpoint]:
        """One checkpoint of the index; nothing for one that is gone, or not verified yet."""
        path, step = str(entry["path"]), entry.get("step")
        step = float(step) if isinstance(step, int | float) else None
        if names.is_leftover(os.path.basename(path.rstrip("/"))):
            return  # half-written: no checkpoint, or not one yet
        try:
            members = scan.members(path)
        except OSError:
            return
        if not members:
            return
        home = path if os.path.isdir(path) else os.path.dirname(path)
        where = self._where(path)
        if where is None:
            # Of a folder that others use as well only this is taken.
            above, base = os.path.split(path.rstrip("/"))
            where = self._place(f"checkpoints/{_base(above)}", above), base
        place, name = where
        prefix = f"{name}/" if home == path else f"{os.path.dirname(name)}/".lstrip("/")
        taken = [f"{prefix}{member.name}" for member in members]
        missed = [
            m.path for n, m in zip(taken, members, strict=True) if not self._take(place, n, m.path)
        ]
        if missed:
            self._wait(path, f"{missed[0]} cannot be taken", step)
            return
        found = self._verdict(entry, path)
        if found["state"] == "pending":
            self._wait(path, found["detail"] or "it is not verified yet", step)
            return
        yield OneCheckpoint(
            place,
            name,
            path,
            found["state"],
            found["level"],
            found["digest"],
            sum(member.bytes for member in members),
            taken,
            step,
            found["detail"],
        )

    def _verdict(self, entry: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """What is known of it; read now where nothing is known and the run is over."""
        verified, digest = entry["verified"], entry.get("digest")
        kind: names.Kind | None = "folder" if os.path.isdir(path) else None
        mark = followed.fingerprint_of(
            finder.CheckpointPath(path, kind, leftover=False, mtime_ns=0)
        )
        same = (entry["bytes"], entry["files"]) == (mark.bytes, mark.files)
        same = same and abs(epoch(entry["saved_at"]) - mark.newest_ns / 1e9) < _GRAIN_S
        if same and digest and verified["state"] in ("ok", "corrupt"):
            return {**verified, "digest": digest}
        if same and verified["state"] in ("corrupt", "incomplete"):
            return {**verified, "digest": None}
        if self._known.alive or self._quick:
            why = "it is not verified yet" if same else "it was written to since it was verified"
            return {"state": "pending", "level": None, "detail": why, "digest": None}
        return levels.describe(path)

    def _wait(self, path: str, why: str, step: float | None) -> None:
        self._left_out.append(LeftOut(path, why, checkpoint=True, step=step))

    # ------------------------------------------------------------------------ digests

    def _files(self, covered: set[tuple[int, str]]) -> Iterator[OneFile]:
        waiting = {one.path for one in self._left_out if one.checkpoint}
        for (place, name), info in sorted(self._found.items()):
            path = f"{self._places[place].root.rstrip('/')}/{name}"
            if any(path == one or path.startswith(f"{one}/") for one in waiting):
                continue
            digest = None
            if not self._quick and (place, name) not in covered:
                try:
                    digest = _digest(path, info.st_size)
                except OSError as error:
                    self._leave(path, f"{UNREADABLE}: {error.strerror or error}")
                    continue
            yield OneFile(place, name, info.st_size, info.st_mtime_ns, digest)


def _digest(path: str, count: int) -> str:
    """Of the first ``count`` bytes: a log may have grown. Raises OSError."""
    digest = xxhash.xxh3_128()
    with open(places.open_file(path), "rb", buffering=0) as file:
        left = count
        while left and (data := file.read(min(left, _PIECE))):
            digest.update(data)
            left -= len(data)
    if left:
        raise OSError(5, "it was made shorter while it was read")
    return f"xxh3:{digest.hexdigest()}"


def _outermost(folders: Iterable[str]) -> list[str]:
    """Without those that lie in another one of them."""
    every = [folder.rstrip("/") or "/" for folder in dict.fromkeys(folders)]
    return [f for f in every if not any(f != one and f.startswith(f"{one}/") for one in every)]


def _base(folder: str) -> str:
    return os.path.basename(folder.rstrip("/")) or "root"
