"""Searching folders for checkpoints: directly where that cannot block, else through a guard.

The folders of a run are searched in groups: all local ones by the daemon itself, and those of each
far file system by a child. A group that does not answer keeps its last result. A local folder with
something far in it (a mount, a link) is searched by a child as a whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..checkpoints.finder import CheckpointFinder, CheckpointPath
from ..checkpoints.followed import FULL_LOOK_EVERY, FilesFingerprint, fingerprint_of
from ..config.save_folder import SaveFolder, joined
from ..system.far import SLOW_S, Far
from ..system.guard import Guard, Guards
from .first_bytes import FirstBytes

NAMES_AT_ONCE = 10_000
"""Names that the daemon itself lists in one scan, 25 ms: half of what a child does."""
MOST_ROWS = 2000
"""Checkpoints in one answer of a child, each some 200 bytes: an answer is limited to 1 MiB."""

Searched = tuple[tuple[str, ...], tuple[SaveFolder, ...]]
"""Folders that are searched together, and what is known of some of them."""
Row = list[Any]
"""Path, kind, leftover, mtime_ns and the five numbers of the fingerprint."""

_clients = itertools.count()


class FarScan:
    """In the child: searches some folders, and says what changed since the last answer."""

    def __init__(self, folders: Sequence[str], learnt: Sequence[SaveFolder] = ()) -> None:
        self._finder = CheckpointFinder(folders, learnt)
        self._known: dict[str, tuple[CheckpointPath, FilesFingerprint]] = {}
        self._still: dict[str, int] = {}
        """Path -> looks for which its files did not change."""
        self._unsaid: dict[str, None] = {}

    def answer(self, now: float) -> dict[str, Any]:
        """``rows`` of the new and changed, the paths of those ``gone``, and whether there is
        ``more`` to say: then the search is not repeated at the next question. ``first``: not all was
        listed once yet. ``notes`` are for a person."""
        gone: list[str] = []
        if not self._unsaid:
            try:
                places = self._finder.scan(now)
            except OSError as error:
                text = error.strerror or str(error)
                return {"errno": error.errno or 5, "error": text, "file": error.filename}
            gone = [path for path in self._known if path not in places]
            for path in gone:
                del self._known[path]
                self._still.pop(path, None)
            for place in places.values():
                self._look(place)
        now_said = list(itertools.islice(self._unsaid, MOST_ROWS))
        for path in now_said:
            del self._unsaid[path]
        rows: list[Row] = []
        for path in now_said:
            place, mark = self._known[path]
            rows.append([path, place.kind, place.leftover, place.mtime_ns, list(mark)])
        first, notes = self._finder.first_pass, self._finder.notes()
        more = bool(self._unsaid)
        return {"rows": rows, "gone": gone, "more": more, "first": first, "notes": notes}

    def close(self) -> None:
        """Give back its descriptors."""
        self._finder.close()

    def _look(self, place: CheckpointPath) -> None:
        before = self._known.get(place.path)
        still = self._still.get(place.path, 0) + 1
        same_folder = before is not None and before[0] == place and place.kind is not None
        self._still[place.path] = still
        if same_folder and still > FULL_LOOK_EVERY and still % FULL_LOOK_EVERY:
            return  # as Followed.check_files does for a settled folder
        now = (place, fingerprint_of(place))
        if now != before:
            self._known[place.path] = now
            self._still[place.path] = 0
            self._unsaid[place.path] = None


class _Group:
    """The folders of one run on one far file system."""

    def __init__(self, far: Far, guard: Guard, place: Searched) -> None:
        self.far = far
        self.guard = guard
        self.place = place
        self.folders = place[0]
        self.client = f"{next(_clients)}:scan"
        self.begun = self.heard = False
        """The child knows the folders; it has answered in full once."""
        self.rows: dict[str, tuple[CheckpointPath, FilesFingerprint | None]] = {}
        self.told: dict[str, tuple[CheckpointPath, FilesFingerprint]] = {}
        """The answer so far; it counts when it is whole."""
        self.error: OSError | None = None
        self.first_pass = True
        """Not all names were listed once when it answered last."""
        self.notes: list[str] = []

    def late(self) -> bool:
        return self.guard.late_s(self.client) > 0

    def add(self, answer: Mapping[str, Any]) -> bool:
        """Add a part of an answer; True when it is whole."""
        if answer.get("lost"):
            self.begun = False
            self.told = {}
            return False
        if "errno" in answer:
            self.error = OSError(answer["errno"], answer["error"], answer["file"])
            return False
        self.error = None
        for path in answer["gone"]:
            self.told.pop(path, None)
        for path, kind, leftover, mtime_ns, mark in answer["rows"]:
            place = CheckpointPath(path, kind, leftover, mtime_ns)
            self.told[path] = (place, FilesFingerprint(*mark))
        self.notes = answer["notes"]
        if answer["more"]:
            return False
        self.rows = dict(self.told)
        return True


class FolderSearch:
    """The search for the checkpoints of one run. Without ``guards`` every folder is local."""

    def __init__(
        self,
        folders: Iterable[str],
        guards: Guards | None = None,
        learnt: Iterable[SaveFolder] = (),
    ) -> None:
        """``learnt``: what is known of some of the folders; of the others everything counts."""
        self.folders = tuple(dict.fromkeys(f.rstrip("/") or "/" for f in folders))
        """What is searched; may be changed between two scans."""
        self._learnt = {f.path.rstrip("/") or "/": f for f in learnt}
        self._guards = guards
        self._bytes = None if guards is None else FirstBytes(guards)
        self._groups: dict[Far, _Group] = {}
        self._moved: dict[str, Far] = {}
        """Local folder -> the far file system that was found in it."""
        self._near = CheckpointFinder(())
        self._near_of: Searched = ((), ())
        self._near_first = True
        self._places: dict[str, CheckpointPath] = {}
        self._first: set[str] = set()
        self._linked: Far | None = None
        self._now = 0.0

    def add(self, folder: SaveFolder) -> None:
        """Search one more folder, or take more names of a known one."""
        path = folder.path.rstrip("/") or "/"
        known = self._learnt.get(path)
        if known is not None:
            folder = joined(known, folder)
        elif path in self.folders:
            folder = joined(SaveFolder(path), folder)
        self._learnt[path] = folder
        self.folders = tuple(dict.fromkeys((*self.folders, path)))
        self._near_first = True

    def replace(self, folder: SaveFolder) -> None:
        """Forget what was known of this folder, and know this."""
        self._learnt[folder.path.rstrip("/") or "/"] = folder
        self._near_first = True

    def _of(self, folders: tuple[str, ...]) -> Searched:
        return folders, tuple(self._learnt[f] for f in folders if f in self._learnt)

    def fds(self) -> list[int]:
        """The pipes of the guards."""
        found = (group.guard.fileno() for group in self._groups.values())
        return [fd for fd in found if fd is not None]

    def scan(self, now: float) -> dict[str, CheckpointPath]:
        """All checkpoints as far as known, by path. Asks the guards for the next look.

        Raises OSError when folders exist and none of them can be read.
        """
        self._now = now
        near = self._sort(now)
        barred = self._barred(near)
        began = self._blocked_s()
        errors: list[OSError] = []
        before = self._places
        try:
            self._places = self._near.scan(now, barred)
        except OSError as error:
            errors.append(error)
        self._move(barred)
        if self._guards is not None and self._blocked_s() - began > SLOW_S:
            for folder in near:
                self._guards.mounts.was_slow(folder, now)
        unsure = self._bytes is not None and self._bytes.turn(self._near)
        if near and self._near_first:
            self._near_first = self._near.first_pass or unsure
            self._first.update(self._places.keys() - before.keys())
        self.take(now, ask=True)
        errors += [g.error for g in self._groups.values() if g.error is not None]
        if errors and len(errors) == len(self._groups) + bool(near):
            raise errors[0]
        return self.known()

    def take(self, now: float, *, ask: bool = False) -> bool:
        """Take the answers of the guards; True when one was whole. ``ask`` for the next look."""
        news = False
        for group in self._groups.values():
            answer, known = group.guard.take(group.client), group.rows.keys()
            if answer is not None and group.add(answer):
                news = True
                if group.first_pass:
                    new = group.rows.keys() - known if group.heard else group.rows
                    self._first.update(new)
                group.heard, group.first_pass = True, answer["first"]
            if ask or (answer is not None and (answer.get("more") or answer.get("lost"))):
                question: dict[str, Any] = {"do": "scan", "now": now}
                if not group.begun:
                    folders, learnt = group.place
                    question["begin"] = {
                        "folders": folders,
                        "learnt": [asdict(one) for one in learnt],
                    }
                group.begun = group.guard.ask(group.client, question) or group.begun
        return news

    def known(self) -> dict[str, CheckpointPath]:
        """All checkpoints as far as known, without a new look."""
        found = {path: row[0] for g in self._groups.values() for path, row in g.rows.items()}
        return {**found, **self._places}

    def look(self, place: CheckpointPath) -> FilesFingerprint | None:
        """The state of the files of a checkpoint; ``None`` while it is not known."""
        if place.path not in self._places:
            for group in self._groups.values():
                if place.path in group.rows:
                    return group.rows[place.path][1]
            return None
        return fingerprint_of(place, self._leads_far if self._guards is not None else None)

    def is_near(self, path: str) -> bool:
        """True when its files are looked at directly."""
        return path in self._places

    def was_first(self, path: str) -> bool:
        """True, once, for a checkpoint that was there at the first look at its folder."""
        known = path in self._first
        self._first.discard(path)
        return known

    def unheard(self) -> list[str]:
        """Folders of which nothing is known yet, as their file system did not answer."""
        return [f for group in self._groups.values() if not group.heard for f in group.folders]

    def stalled(self) -> str:
        """Which file systems do not answer, and what is not seen for that; else empty."""
        late = [group for group in self._groups.values() if group.late()]
        return "; ".join(f"{g.far} does not answer: {', '.join(g.folders)}" for g in late)

    def is_stalled(self, path: str) -> bool:
        """True for a checkpoint on a file system that does not answer."""
        return any(g.late() and _within(path, g.folders) for g in self._groups.values())

    def answers_later(self) -> bool:
        """True when there is a far folder."""
        return bool(self._groups)

    def notes(self) -> list[str]:
        """Sentences for a person about what is seen late, or not at all."""
        far = (note for group in self._groups.values() for note in group.notes)
        return [*self._near.notes(), *far]

    def close(self) -> None:
        """Let the guards go."""
        self._near.close()
        if self._bytes is not None:
            self._bytes.close()
        for group in self._groups.values():
            group.guard.leave(group.client)
        self._groups.clear()

    def _sort(self, now: float) -> tuple[str, ...]:
        """Put every folder into its group; returns the local ones."""
        wanted: dict[Far, tuple[str, ...]] = {}
        near: tuple[str, ...] = ()
        for folder in self.folders:
            far = self._guards.of(folder, now) if self._guards is not None else None
            far = far or self._moved.get(folder)
            if far is None:
                near = (*near, folder)
            else:
                wanted[far] = (*wanted.get(far, ()), folder)
        places = {far: self._of(folders) for far, folders in wanted.items()}
        groups = {far: group.place for far, group in self._groups.items()}
        known = self.known() if groups != places else {}
        before = {path: (place, self._known_mark(path)) for path, place in known.items()}
        if self._of(near) != self._near_of:
            self._near_of = self._of(near)
            self._near.close()
            leads_far = self._leads_far if self._guards else None
            alone = self._guards is None
            self._near = CheckpointFinder(
                *self._near_of, leads_far, at_once=NAMES_AT_ONCE, opens=alone
            )
        for far in [f for f, g in self._groups.items() if places.get(f) != g.place]:
            group = self._groups.pop(far)
            group.guard.leave(group.client)
        for far, place in places.items():
            if far not in self._groups and self._guards is not None:
                group = _Group(far, self._guards.guard(far, "scan"), place)
                # Until it answers, what was known of these folders stays.
                group.rows = {p: row for p, row in before.items() if _within(p, group.folders)}
                self._groups[far] = group
        return near

    def _known_mark(self, path: str) -> FilesFingerprint | None:
        rows = (g.rows[path] for g in self._groups.values() if path in g.rows)
        return next(rows, (None, None))[1]

    def _leads_far(self, path: str) -> bool:
        far = self._guards.of(path, self._now) if self._guards is not None else None
        self._linked = far or self._linked
        return far is not None

    def _barred(self, near: Iterable[str]) -> dict[str, Far]:
        if self._guards is None:
            return {}
        return {p: far for f in near for p, far in self._guards.mounts.below(f).items()}

    def _move(self, barred: Mapping[str, Far]) -> None:
        """Leave the local folders in which something far was found to a guard."""
        for folder in self._near.far:
            inside = (far for path, far in barred.items() if _within(path, (folder,)))
            far = next(inside, None) or self._linked
            if far is not None:
                self._moved[folder] = far

    def _blocked_s(self) -> float:
        return self._guards.blocked_s() if self._guards is not None else 0.0


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(folder.rstrip("/") + "/") for folder in folders)
