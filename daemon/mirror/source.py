"""Lets the copier, a worker, copy every verified checkpoint to a second place, one at a time.

The newest goes first, but a copy that was begun is finished before. The copier works only while it
has a question, and gets none while a save is being written. A copy that cannot be made makes this
source ``impaired``, and is tried again with growing pauses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from middlewatch.sentinels.kit import CheckpointSeen, Observation

from ..config.schema import MirrorSettings as Settings
from ..system.clock import iso
from ..system.mounts import real_path
from ..system.source import Source
from ..system.worker import JsonWorker, module_argv

COPIER_ARGV = module_argv("middlewatch.daemon.mirror.worker")
COPIER_DEADLINE_S = 300.0
"""Seconds for one answer. The copier works for 3 s and answers, but the flush of 32 MiB to a slow
network disk, or the end of rsync, may take minutes. Our choice, not measured."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0
"""Seconds between two tries of a copy that cannot be made; twice as long each time."""
QUIET_S = 4.0
"""Seconds for which no save must have grown before anything is copied; as for verifying."""
MOST_PUT_OFF_S = 300.0
"""Seconds to wait for such a time at most: a run that saves all the time is copied too."""
_READ_IN_FULL = ("finite", "load")

Saved = tuple[str, str]
"""Path and time of a save: another save under the same name gets a new copy."""


@dataclass(slots=True)
class Copies:
    """The states of the copies of one run's checkpoints."""

    states: dict[Saved, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, index: Mapping[str, Any]) -> Copies:
        """Those in an index (``mirrored`` of its entries)."""
        entries = index.get("checkpoints", ())
        return cls({saved_of(e): e["mirrored"] for e in entries if e.get("mirrored")})

    def into(self, index: Mapping[str, Any]) -> None:
        """Write the states into the entries of an index, and forget saves that are not in it."""
        entries = index["checkpoints"]
        if self.states:
            there = set(map(saved_of, entries))
            self.states = {saved: state for saved, state in self.states.items() if saved in there}
        for place, entry in enumerate(entries):
            state = self.states.get(saved_of(entry)) if self.states else None
            if "mirrored" not in entry:
                entry["mirrored"] = state
            elif entry["mirrored"] != state:  # the index before has the same entry
                entries[place] = {**entry, "mirrored": state}

    def marked(self, known: list[CheckpointSeen]) -> list[CheckpointSeen]:
        """``known`` with ``mirrored``: the destination that has a good copy, empty for none."""
        places = {saved: t["to"] for saved, t in self.states.items() if t["state"] == "ok"}
        if not places:
            return known
        return [replace(c, mirrored=places.get((c.path, str(iso(c.saved_at))), "")) for c in known]


@dataclass(frozen=True, slots=True)
class RunCheckpoints:
    """The checkpoints of one run, as the mirror gets them."""

    run: str
    name: str
    folders: Sequence[str]
    index: Mapping[str, Any]
    copies: Copies
    ended: bool
    saving_at: float | None
    """When bytes of a save last grew, epoch seconds."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A copy that could not be made."""

    why: str
    pause_s: float
    at: float
    """When it is tried again, epoch seconds."""


class MirrorSource(Source):
    """Keeps copies of the checkpoints of all runs at one destination."""

    every_s = 2.0

    def __init__(
        self,
        settings: Settings,
        runs: Callable[[], Iterable[RunCheckpoints]],
        changed: Callable[[str], None],
        memory: str = "",
        copier: JsonWorker | None = None,
    ) -> None:
        """``changed`` is called with the id of a run when the state of one of its copies changes.

        ``memory``: path of the file that keeps what was mounted at a destination.
        """
        self.name = f"mirror:{settings.to}"
        self._settings = settings
        self._runs = runs
        self._changed = changed
        self._memory = memory
        self._copier = copier or JsonWorker(COPIER_ARGV, COPIER_DEADLINE_S)
        self._asked: tuple[RunCheckpoints, Saved] | None = None
        self._question: dict[str, Any] = {}
        self._open = False
        """A question was asked, and its answer is due."""
        self._failures: dict[Saved, _Failure] = {}
        self._not_before = 0.0
        self._put_off_at: float | None = None
        self._inside: dict[str, str] = {}
        """Run -> its checkpoint folder that contains the destination: copies would be copied again
        there. Empty for none."""

    def fds(self) -> Iterable[int]:
        """The answers of the copier, while it is running."""
        fd = self._copier.fileno()
        return () if fd is None else (fd,)

    def read(self, now: float) -> Iterable[Observation]:
        """Restart a copier that is overdue, take its answers, and ask for the next slice."""
        if self._copier.overdue(now):
            self._copier.restart()
            self._open = False
            limit = f"{COPIER_DEADLINE_S:.0f} s"
            self._fail(f"no answer in {limit}: the destination does not respond", now)
        self._take(now)
        self._ask(now)
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """The copier has answered."""
        self._take(now)
        self._ask(now)
        return ()

    def stalled(self, now: float) -> str | None:
        """A killed copier that cannot end hangs in a system call at the destination."""
        pid = self._copier.stuck_pid
        return None if pid is None else f"the copier (pid {pid}) hangs in {self._settings.to}"

    @property
    def impaired(self) -> str:
        """Why the newest failed copy could not be made; empty when none is missing."""
        inside = next((folder for folder in self._inside.values() if folder), "")
        if inside:
            return f"it lies in the folder that is copied, {inside}; so nothing is copied"
        return next((f.why for f in reversed(self._failures.values())), "")

    def close(self) -> None:
        """End the copier; what it has copied stays and is continued later."""
        self._copier.close()

    def _ask(self, now: float) -> None:
        """Continue the copy that was begun, else begin with the newest checkpoint that is due."""
        if self._copier.waiting or now < self._not_before or self._is_put_off(now):
            return
        if self._asked is None:
            due = list(self._due(now))
            there = {saved_of(entry) for _, entry in due}
            self._failures = {s: f for s, f in self._failures.items() if f.at > now or s in there}
            if not due:
                return
            kept, entry = max(due, key=lambda pair: str(pair[1]["saved_at"]))
            self._asked, self._question = (kept, saved_of(entry)), self._about(kept, entry)
        walls, folders = walls_for(self._settings.to, self._question["path"], self._memory)
        if (walls, folders) != (self._copier.walls, self._copier.folders):
            self._copier.close()  # it has no question now; walls are put up at a start
            self._copier.walls, self._copier.folders = walls, folders
        self._open = self._copier.ask(self._question, now)
        if not self._open:  # it cannot be started now, or is stuck: later choose again
            self._asked = None

    def _about(self, kept: RunCheckpoints, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "path": entry["path"],
            "place": place_of(entry["path"], kept.folders, kept.name),
            "to": self._settings.to,
            "step": entry["step"],
            "verified": entry["verified"],
            "digest": entry.get("digest"),
            "limit": self._settings.limit_bytes_per_s,
            "memory": self._memory,
        }

    def _is_put_off(self, now: float) -> bool:
        """True while a save is growing, for at most :data:`MOST_PUT_OFF_S`."""
        grown = (kept.saving_at for kept in self._runs())
        if not any(at is not None and abs(now - at) < QUIET_S for at in grown):
            self._put_off_at = None
            return False
        self._put_off_at = now if self._put_off_at is None else self._put_off_at
        return abs(now - self._put_off_at) < MOST_PUT_OFF_S

    def _due(self, now: float) -> Iterator[tuple[RunCheckpoints, Mapping[str, Any]]]:
        """Checkpoints that are verified and have no copy yet."""
        for kept in self._runs():
            if self._settings.runs and not {kept.name, kept.run} & set(self._settings.runs):
                continue
            if kept.run not in self._inside:
                self._inside[kept.run] = _around(self._settings.to, kept.folders)
            for entry in () if self._inside[kept.run] else kept.index["checkpoints"]:
                saved = saved_of(entry)
                wanted = not self._settings.best_only or entry["path"] == kept.index["best"]
                copy = kept.copies.states.get(saved, {})
                over = copy.get("state") in ("ok", "gone") and copy["to"] == self._settings.to
                failed = self._failures.get(saved)
                if not wanted or over or (failed is not None and now < failed.at):
                    continue
                if _is_verified(entry, ended=kept.ended):
                    yield kept, entry

    def _take(self, now: float) -> None:
        for answer in self._copier.answers():
            self._open = False
            if self._asked is None or answer.get("path") != self._asked[1][0]:
                continue
            state = answer.get("state")
            if state == "copying":
                self._tell(state, f"{_part(answer)} of it read or written")
            elif state in ("ok", "gone"):
                self._failures.pop(self._asked[1], None)
                more = {name: answer[name] for name in ("digest", "at") if answer.get(name)}
                self._tell(state, str(answer.get("detail") or ""), more)
                self._asked = None
            else:
                self._fail(str(answer.get("detail") or answer.get("error") or "no reason"), now)

        if self._open and not self._copier.waiting:
            self._open = False
            words = self._copier.last_words.splitlines()
            self._fail(f"the copier ended: {words[-1] if words else 'it wrote no error'}", now)

    def _fail(self, why: str, now: float) -> None:
        """Put the checkpoint off; meanwhile others are tried, one a minute, as they may succeed."""
        if self._asked is None:
            return
        saved = self._asked[1]
        before = self._failures.pop(saved, None)
        pause_s = min(2 * before.pause_s, LONGEST_PAUSE_S) if before else FIRST_PAUSE_S
        self._failures[saved] = _Failure(why[:400], pause_s, now + pause_s)
        self._tell("failed", why[:400])
        self._asked = None
        self._not_before = now + FIRST_PAUSE_S

    def _tell(self, state: str, detail: str, more: Mapping[str, Any] | None = None) -> None:
        if self._asked is None:
            return
        kept, saved = self._asked
        copy = {"to": self._settings.to, "at": None, "state": state, "detail": detail}
        before = kept.copies.states.get(saved, {})
        kept.copies.states[saved] = copy | dict(more or {})
        if before.get("state") != state:
            self._changed(kept.run)


def walls_for(to: str, path: str, memory: str) -> tuple[str, tuple[str, ...]]:
    """(name of the walls, folders that may be written to) for copying ``path`` to ``to``."""
    folders = [os.environ.get("TMPDIR", "/tmp")]
    folders += [os.path.dirname(memory)] if memory else []
    if path.startswith("/proc/"):
        return "mirror-remote", ()
    if to.startswith(("/", ".", "~")):
        return "mirror-folder", (*folders, os.path.expanduser(to))
    if "@" in to.partition(":")[0]:
        return "mirror-host", (*folders, os.path.expanduser("~/.ssh"))
    return "mirror-remote", ()


def place_of(path: str, folders: Sequence[str], name: str) -> str:
    """Where a copy goes below the destination: ``gpt/checkpoint-500``.

    The name of the run, then the path inside its folder of checkpoints. Where a run has several
    such folders, the name of the folder comes between.
    """
    pieces = [name] if name else []
    for folder in sorted(map(os.path.normpath, folders), key=len, reverse=True):
        if path.startswith(folder.rstrip("/") + "/"):
            pieces += [os.path.basename(folder)] if len(folders) > 1 else []
            return "/".join([*pieces, os.path.relpath(path, folder)])
    return "/".join([*pieces, os.path.basename(path)])


def _around(to: str, folders: Sequence[str]) -> str:
    """The folder of checkpoints that contains the destination; empty for none."""
    if not to.startswith("/"):
        return ""
    real = real_path(to)  # without a call that may block: both are paths that a person named
    return next((f for f in folders if f"{real}/".startswith(f"{real_path(f)}/")), "")


def saved_of(entry: Mapping[str, Any]) -> Saved:
    """The path and time of an entry of the index, which identify a save."""
    return entry["path"], entry["saved_at"]


def _is_verified(entry: Mapping[str, Any], *, ended: bool) -> bool:
    """True if it passed and was read to its last byte.

    After the end of a run any passed check is enough: no checkpoint will be read further.
    """
    verified = entry["verified"]
    if verified["state"] != "ok":
        return False
    return ended or verified["level"] in _READ_IN_FULL or bool(entry.get("digest"))


def _part(answer: Mapping[str, Any]) -> str:
    done, total = answer.get("done"), answer.get("total")
    if not isinstance(done, int) or not isinstance(total, int) or not total:
        return "a part"
    return f"{100 * done // total} %"
