"""Have every verified checkpoint copied to a second place, one at a time, by a child process.

The newest goes first. While a save is being written nothing is asked for, and without a question
the child does not copy. A copy that cannot be made is told as a flaw of this source, and tried
again with growing pauses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from middlewatch.sentinels.kit import CheckpointSeen, Observation

from ..child import JsonChild, module_argv
from ..clock import iso
from ..mirroring.settings import Mirror as Settings
from .base import Source

COPIER_ARGV = module_argv("middlewatch.daemon.mirroring.child")
COPIER_DEADLINE_S = 300.0
"""Of one answer. It works for 3 s and answers, but the flush of 32 MiB to a slow network disk,
or the last word of rsync, may take minutes. Our choice, not measured."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0
"""Between two tries of a destination that does not take it; twice as long each time."""
QUIET_S = 4.0
"""No save has grown for so long before anything is copied; as for verifying."""
_READ_IN_FULL = ("finite", "load")

Saved = tuple[str, str]
"""Path and time of a save: another save under the same name wants a copy of its own."""


@dataclass(slots=True)
class Copies:
    """What became of the copies of one run's checkpoints."""

    told: dict[Saved, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, index: Mapping[str, Any]) -> Copies:
        """As an index remembers them."""
        entries = index.get("checkpoints", ())
        return cls({saved_of(e): e["mirrored"] for e in entries if e.get("mirrored")})

    def into(self, index: Mapping[str, Any]) -> None:
        """Write them into the entries of an index, and forget those of saves that are gone."""
        there = {saved_of(entry): entry for entry in index["checkpoints"]}
        self.told = {saved: told for saved, told in self.told.items() if saved in there}
        for saved, entry in there.items():
            entry["mirrored"] = self.told.get(saved)

    def marked(self, known: list[CheckpointSeen]) -> list[CheckpointSeen]:
        """Checkpoints that have a good copy say where it is."""
        places = {saved: t["to"] for saved, t in self.told.items() if t["state"] == "ok"}
        if not places:
            return known
        return [replace(c, mirrored=places.get((c.path, str(iso(c.saved_at))), "")) for c in known]


@dataclass(frozen=True, slots=True)
class Kept:
    """The checkpoints of one run, as the mirror is shown them."""

    run: str
    name: str
    folders: Sequence[str]
    index: Mapping[str, Any]
    copies: Copies
    ended: bool
    saving_at: float | None
    """When bytes of a save last grew, epoch seconds."""


class Mirror(Source):
    """One destination for all runs of the box."""

    every_s = 2.0
    answers_later = True

    def __init__(
        self,
        settings: Settings,
        runs: Callable[[], Iterable[Kept]],
        changed: Callable[[str], None],
        memory: str = "",
        copier: JsonChild | None = None,
    ) -> None:
        """``changed`` is told the id of a run when the state of one of its copies changes."""
        self.name = f"mirror:{settings.to}"
        self._settings = settings
        self._runs = runs
        self._changed = changed
        self._memory = memory
        self._copier = copier or JsonChild(COPIER_ARGV, COPIER_DEADLINE_S)
        self._asked: tuple[Kept, Saved] | None = None
        self._failed = ""
        self._pause_s = FIRST_PAUSE_S
        self._not_before = 0.0

    def fds(self) -> Iterable[int]:
        """The copier, while it lives."""
        fd = self._copier.fileno()
        return () if fd is None else (fd,)

    def read(self, now: float) -> Iterable[Observation]:
        """Notice an answer that is overdue, and ask for the next bit."""
        self._take(now)
        overdue = self._copier.overdue(now)
        if overdue:
            self._copier.restart()
            self._fail(f"no answer in {COPIER_DEADLINE_S:.0f} s: the place does not react", now)
        elif self._asked is not None and not self._copier.waiting and not self._copier.alive:
            words = self._copier.last_words.splitlines()
            self._fail(f"the copier died: {words[-1] if words else 'without a word'}", now)
        self._ask(now)
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """The copier has answered."""
        self._take(now)
        self._ask(now)
        return ()

    def stalled(self, now: float) -> str | None:
        """A killed copier that the kernel does not let go hangs in the destination."""
        pid = self._copier.stuck_pid
        return None if pid is None else f"the copier (pid {pid}) hangs in {self._settings.to}"

    @property
    def impaired(self) -> str:
        """Why the newest copy could not be made."""
        return self._failed

    def close(self) -> None:
        """End the copier; what it has copied stays and is gone on with."""
        self._copier.close()

    def _ask(self, now: float) -> None:
        if self._copier.waiting or now < self._not_before:
            return
        runs = list(self._runs())
        if any(r.saving_at is not None and abs(now - r.saving_at) < QUIET_S for r in runs):
            return
        newest = max(self._due(runs), key=lambda due: due[1]["saved_at"], default=None)
        if newest is None:
            return
        kept, entry = newest
        question = {
            "path": entry["path"],
            "place": place_of(entry["path"], kept.folders, kept.name),
            "to": self._settings.to,
            "step": entry["step"],
            "verified": entry["verified"],
            "digest": entry.get("digest"),
            "limit": self._settings.limit_bytes_per_s,
            "memory": self._memory,
        }
        if self._copier.ask(question, now):
            self._asked = kept, saved_of(entry)

    def _due(self, runs: Iterable[Kept]) -> Iterator[tuple[Kept, Mapping[str, Any]]]:
        """Checkpoints that are verified and have no copy yet."""
        for kept in runs:
            if self._settings.runs and not {kept.name, kept.run} & set(self._settings.runs):
                continue
            for entry in kept.index["checkpoints"]:
                wanted = not self._settings.best_only or entry["path"] == kept.index["best"]
                told = kept.copies.told.get(saved_of(entry), {})
                over = told.get("state") in ("ok", "gone") and told["to"] == self._settings.to
                if wanted and not over and _is_verified(entry, ended=kept.ended):
                    yield kept, entry

    def _take(self, now: float) -> None:
        for answer in self._copier.answers():
            if self._asked is None or answer.get("path") != self._asked[1][0]:
                continue
            state = answer.get("state")
            if state == "copying":
                self._tell(state, f"{_part(answer)} of it read or written")
            elif state in ("ok", "gone"):
                self._failed, self._pause_s = "", FIRST_PAUSE_S
                more = {name: answer[name] for name in ("digest", "at") if answer.get(name)}
                self._tell(state, str(answer.get("detail") or ""), more)
                self._asked = None
            else:
                self._fail(str(answer.get("detail") or answer.get("error") or "no reason"), now)

    def _fail(self, why: str, now: float) -> None:
        self._failed = why[:400]
        self._tell("failed", self._failed)
        self._asked = None
        self._not_before = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def _tell(self, state: str, detail: str, more: Mapping[str, Any] | None = None) -> None:
        if self._asked is None:
            return
        kept, saved = self._asked
        told = {"to": self._settings.to, "at": None, "state": state, "detail": detail}
        before = kept.copies.told.get(saved, {})
        kept.copies.told[saved] = told | dict(more or {})
        if before.get("state") != state:
            self._changed(kept.run)


def place_of(path: str, folders: Sequence[str], name: str) -> str:
    """Where a copy goes below the destination: ``gpt/checkpoint-500``.

    The name of the run, then the path inside its folder of checkpoints; of several folders
    their own names come between.
    """
    pieces = [name] if name else []
    for folder in sorted(map(os.path.normpath, folders), key=len, reverse=True):
        if path.startswith(folder.rstrip("/") + "/"):
            pieces += [os.path.basename(folder)] if len(folders) > 1 else []
            return "/".join([*pieces, os.path.relpath(path, folder)])
    return "/".join([*pieces, os.path.basename(path)])


def saved_of(entry: Mapping[str, Any]) -> Saved:
    """What tells this save from every other one."""
    return entry["path"], entry["saved_at"]


def _is_verified(entry: Mapping[str, Any], *, ended: bool) -> bool:
    """Passed, and read to its last byte; of a run that has ended nothing more will be read."""
    verified = entry["verified"]
    if verified["state"] != "ok":
        return False
    return ended or verified["level"] in _READ_IN_FULL or bool(entry.get("digest"))


def _part(answer: Mapping[str, Any]) -> str:
    done, total = answer.get("done"), answer.get("total")
    if not isinstance(done, int) or not isinstance(total, int) or not total:
        return "a part"
    return f"{100 * done // total} %"
