"""One look for the folders to which a run saves. Runs in a child (:mod:`.programs.save_search`).

What the run names (options, settings), says (claims in its log) and has open for writing leads to
folders; so do new files below its working directory. A file counts as a save if its name says so
or its content does. Where others work in the same folder, only what can be told to be the run's
counts, and by its own name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..checkpoints.finder import DEEPEST, CheckpointFinder
from ..checkpoints.formats import names
from ..config.save_folder import SaveFolder, joined, shape
from ..launch.checkpoint_args import BIG, above_steps
from ..system import procfs
from ..system.processes import Process, Processes
from . import save_evidence as evidence
from .save_content import holds_state, may_hold_state
from .save_evidence import Hint, Program, Written
from .save_walk import Walk, is_foreign, listed

MOST_CONTENTS = 24
"""Files opened in one look because their names do not say what they are; one takes about 2 ms."""
MOST_FOUND = 64
"""Saves judged in one look, the newest."""
YOUNG_S = 2.0
"""Seconds by which a file may be older than the run by its time stamps: boot times are right to a
second."""
_EVERYBODYS = frozenset(
    {"/", "/tmp", "/var/tmp", "/dev/shm", "/mnt", "/data", "/workspace", "/root", "/home", "/opt"}
)
"""Folders that belong to nobody: only the names that the run wrote count there."""


class _Place(NamedTuple):
    """A save: a file, or the folder that is one checkpoint."""

    path: str
    why: str
    saved_at: float


class _Rival(NamedTuple):
    """A program that may have written something instead of the run."""

    program: Program
    reach: tuple[str, ...]
    """Folders that it writes to."""
    until: float = float("inf")
    """Epoch seconds: when it ended."""


class Search:
    """One look. ``question``: see :mod:`.programs.save_search`."""

    def __init__(self, question: Mapping[str, Any], proc: str = procfs.PROC) -> None:
        self._box = Processes(proc)
        self.cwd = str(question.get("cwd") or "")
        self.started_at = float(question.get("started_at") or 0.0)
        self.command: Sequence[str] = question.get("command") or ()
        self.beside = [self.cwd] if self.cwd else list(question.get("beside") or ())
        self.claims: Sequence[Mapping[str, Any]] = question.get("claims") or ()
        self.writing: Sequence[Sequence[Any]] = question.get("writing") or ()
        self.others: Sequence[Mapping[str, Any]] = question.get("others") or ()
        self.known = [
            SaveFolder(f["path"], "", bool(f["whole"]), tuple(f["names"]))
            for f in question.get("known") or ()
        ]
        self.never = [os.path.realpath(str(folder)) for folder in question.get("never") or ()]
        self.processes = self._living(question.get("pids") or ())
        self.homes = {self.cwd, *(p.lasting(p.cwd) for p in self.processes[:4] if p.cwd)} - {""}
        self.hints: list[Hint] = []
        self.unclear: list[str] = []
        """Saves that somebody else may have written as well."""
        self._opened = 0
        self._known_rivals: list[_Rival] | None = None

    def _living(self, pids: Sequence[Sequence[int]]) -> list[Process]:
        known = ((self._box.get(pid), ticks) for pid, ticks in pids)
        return [p for p, ticks in known if p is not None and p.start_ticks == ticks]

    def look(self) -> list[SaveFolder]:
        """What is new: folders, and names in known folders."""
        self.hints = list(evidence.hints(self.processes[:16], self.cwd))
        known = {f.path: f for f in self.known}
        found: dict[str, SaveFolder] = {}
        for hint in self.hints:
            if hint.sure and hint.path not in known and hint.path not in self.homes:
                found[hint.path] = SaveFolder(hint.path, hint.why)
        for place in self._places([*self.known, *found.values()]):
            folder = self._folder(place)
            if folder is not None:
                before = found.get(folder.path, folder)
                found[folder.path] = joined(before, folder)
        return list(found.values())

    # -- what was written ---------------------------------------------------------------

    def _places(self, known: Sequence[SaveFolder]) -> list[_Place]:
        """The newest saves that the watch of the known folders does not report, oldest first."""
        finder = CheckpointFinder([f.path for f in known], known)
        try:
            reported = finder.scan(0.0).keys()
        except OSError:
            reported = {}.keys()
        finally:
            finder.close()
        found: dict[str, _Place] = {}
        for written in self._written():
            path = written.path
            if path in found or _within(path, reported):
                continue
            place = self._place(written)
            if place is not None and not _within(place.path, reported):
                found.setdefault(place.path, place)
        return sorted(found.values(), key=lambda p: p.saved_at)[-MOST_FOUND:]

    def _written(self) -> Iterator[Written]:
        """What the run says it wrote, what it writes, and what is new where it may write."""
        roots: dict[str, str] = {}
        for claim in self.claims:
            why = f"the log says {str(claim.get('text') or claim['path'])!r}"
            for path in evidence.claimed(str(claim["path"]), self.processes[:8], self.beside):
                yield Written(path, why, claimed=True)
                roots.setdefault(path, why)
        for pid, path in self.writing:
            process = self._box.get(pid)
            if process is not None:
                yield Written(process.lasting(path), f"process {pid} writes {path}")
        for process, path, _ in evidence.open_for_writing(self.processes, BIG):
            yield Written(process.lasting(path), f"process {process.pid} writes {path}")
        for hint in self.hints:
            roots.setdefault(hint.path, hint.why)
        for home in self.homes:
            roots.setdefault(home, "it is the working directory")
        walk = Walk(self.started_at - YOUNG_S)
        for root, why in roots.items():
            for path in walk.fresh(root):
                below = path[len(root.rstrip("/")) + 1 :]
                yield Written(path, f"{below} was saved in {root}, and {why}")

    def _place(self, written: Written) -> _Place | None:
        """What was written, if it is a save: by its name, by its content, or because it is said."""
        path = written.path
        try:
            seen = os.stat(path)
        except OSError:
            return None
        if seen.st_mtime < self.started_at - YOUNG_S or is_foreign(path, self.homes):
            return None
        if self.never and any(_below(os.path.realpath(path), folder) for folder in self.never):
            return None
        name = os.path.basename(path)
        if os.path.isdir(path):
            kind = names.folder_kind(name, *_listing(path)) if written.claimed else None
            return None if kind is None else _Place(path, written.why, seen.st_mtime)
        if not seen.st_size or names.is_leftover(name):
            return None
        save = written.claimed or self._named(path) or self._content(path)
        return _Place(_checkpoint_of(path), written.why, seen.st_mtime) if save else None

    def _named(self, path: str) -> bool:
        """Whether the name of a file, or of its folder, says that it is a save."""
        folder, _, name = path.rpartition("/")
        home = max((h for h in self.homes if path.startswith(f"{h}/")), key=len, default=folder)
        parts = [part for part in folder[len(home) :].split("/") if part]
        among_data = any(map(names.is_data, parts))
        if names.COMPANIONS.match(name) or names.shard(name):
            return _checkpoint_of(path) != path
        if not names.is_checkpoint_file(name):
            return False
        if names.says_save(name) or name.endswith(names.OF_TRAININGS):
            return True
        return not among_data and any(map(names.says_save, parts[-2:]))

    def _content(self, path: str) -> bool:
        if self._opened >= MOST_CONTENTS or not may_hold_state(path):
            return False
        self._opened += 1
        return holds_state(path)

    # -- whose it is --------------------------------------------------------------------

    def _folder(self, place: _Place) -> SaveFolder | None:
        """The folder of a save, and what of it is the run's; ``None``: whose it is is not known."""
        folder, _, name = place.path.rpartition("/")
        against = [
            rival.program
            for rival in self._rivals(place.path)
            if rival.program.started_at - YOUNG_S <= place.saved_at <= rival.until + YOUNG_S
        ]
        if against:
            mine = self._mine()
            home = next((h for h in self.homes if _below(place.path, h)), folder)
            inside = place.path[len(home) :]
            ours = evidence.speaks_for(mine, place.path, inside, against)
            theirs = any(evidence.speaks_for(one, place.path, inside, [mine]) for one in against)
            if ours == theirs:
                self.unclear.append(place.path)
            if theirs or not ours:
                return None
            return SaveFolder(folder or "/", place.why, whole=False, names=(f"={name}",))
        above = str(above_steps(Path(folder or "/")))
        if not self._is_shared(above):
            depth = place.path[len(above) :].count("/") - 1
            plain = names.is_checkpoint_file(name) or os.path.isdir(place.path)
            if plain and depth <= DEEPEST:
                return SaveFolder(above, place.why)
            return SaveFolder(folder, place.why, names=(shape(name),))
        # Of a shared folder only the name below it counts: net_#.pt, step_#.
        top = place.path[len(above.rstrip("/")) + 1 :].partition("/")[0]
        return SaveFolder(above, place.why, whole=False, names=(shape(top),))

    def _is_shared(self, folder: str) -> bool:
        """Whether a folder is there for more than the saves of this run."""
        if folder in _EVERYBODYS or folder == os.path.expanduser("~"):
            return True
        return any(f"{home}/".startswith(f"{folder.rstrip('/')}/") for home in self.homes)

    def _mine(self) -> Program:
        claims = evidence.claims_of(self.claims)
        ended = (self.command, self.cwd)
        return evidence.program_of(self.processes, claims, self.started_at, ended)

    def _rivals(self, path: str) -> list[_Rival]:
        """Those who may have written it instead. Where an option names a folder as this run's,
        working in the same directory is no reason to write there."""
        if self._known_rivals is None:
            self._known_rivals = [*self._watched_rivals(), *self._other_rivals()]
        own = any(hint.sure and _below(path, hint.path) for hint in self.hints)
        return [
            rival
            for rival in self._known_rivals
            if any(_below(path, d) and not (own and d in self.homes) for d in rival.reach)
        ]

    def _watched_rivals(self) -> Iterator[_Rival]:
        """The other runs under watch that work in the same folders."""
        for other in self.others:
            dirs = tuple(str(d) for d in other.get("dirs") or ())
            reach = (*dirs, *self.homes) if other.get("cwd") in self.homes else dirs
            if reach:
                processes = self._living(other.get("pids") or ())
                told = evidence.claims_of(other.get("claims") or ())
                began = float(other.get("started_at") or 0.0)
                ended = (other.get("command") or (), str(other.get("cwd") or ""))
                until = other.get("ended_at")
                yield _Rival(
                    evidence.program_of(processes, told, began, ended),
                    reach,
                    float("inf") if until is None else float(until),
                )

    def _other_rivals(self) -> Iterator[_Rival]:
        """Programs that nobody watches, in the same working directory."""
        family = {int(pid) for other in self.others for pid, _ in other.get("pids") or ()}
        for process in self.processes:
            family |= {process.pid, *(p.pid for p in self._box.ancestors(process))}
        for process in self.processes[:1]:
            family |= {p.pid for p in self._box.descendants(process.pid)}
        for process in evidence.rivals(self._box, family, self.homes):
            told = evidence.program_of([process], (), process.started_at)
            yield _Rival(told, tuple(self.homes))


def _below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def _within(path: str, places: Any) -> bool:
    """Whether a path, or a folder above it, is among the known checkpoints."""
    while len(path) > 1:
        if path in places:
            return True
        path = os.path.dirname(path)
    return False


def _checkpoint_of(path: str) -> str:
    """The checkpoint that a file belongs to: a folder that is one, else the file itself."""
    here = path
    for _ in range(DEEPEST):
        here = os.path.dirname(here)
        files, folders = _listing(here)
        name = os.path.basename(here)
        kind = names.folder_kind(name, files, folders)
        # runs/123456/checkpoints is the folder of a job, 123456/model.pt a save.
        if kind is not None and (not name.isdigit() or any(map(names.is_weights, files))):
            return here
    return path


def _listing(folder: str) -> tuple[set[str], set[str]]:
    entries = listed(folder)
    folders = {entry.name for entry in entries if entry.is_dir()}
    return {entry.name for entry in entries} - folders, folders
