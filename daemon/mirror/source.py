"""Have every verified checkpoint copied to a second place, one at a time, by a child process.

The newest goes first, and what was begun is finished. While a save is being written nothing is asked for, and without a question
the child does not copy. A copy that cannot be made is told as a flaw of this source, and tried
again with growing pauses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from middlewatch.sentinels.kit import CheckpointSeen, Observation

from ..config.schema import MirrorSettings as Settings
from ..system.clock import iso
from ..system.source import Source
from ..system.worker import JsonWorker, module_argv

COPIER_ARGV = module_argv("middlewatch.daemon.mirror.worker")
COPIER_DEADLINE_S = 300.0
"""Of one answer. It works for 3 s and answers, but the flush of 32 MiB to a slow network disk,
or the last word of rsync, may take minutes. Our choice, not measured."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0
"""Between two tries of a destination that does not take it; twice as long each time."""
QUIET_S = 4.0
"""No save has grown for so long before anything is copied; as for verifying."""
MOST_PUT_OFF_S = 300.0
"""Unless there never was such a time for so long: a run that always saves is copied too."""
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
class RunCheckpoints:
    """The checkpoints of one run, as the mirror is shown them."""

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
    """One destination for all runs of the box."""

    every_s = 2.0

    def __init__(
        self,
        settings: Settings,
        runs: Callable[[], Iterable[RunCheckpoints]],
        changed: Callable[[str], None],
        memory: str = "",
        copier: JsonWorker | None = None,
    ) -> None:
        """``changed`` is told the id of a run when the state of one of its copies changes."""
        self.name = f"mirror:{settings.to}"
        self._settings = settings
        self._runs = runs
        self._changed = changed
        self._memory = memory
        self._copier = copier or JsonWorker(COPIER_ARGV, COPIER_DEADLINE_S)
        self._asked: tuple[RunCheckpoints, Saved] | None = None
        self._question: dict[str, Any] = {}
        self._open = False
        """An answer is to come."""
        self._failures: dict[Saved, _Failure] = {}
        self._not_before = 0.0
        self._put_off_at: float | None = None
        self._inside: dict[str, str] = {}
        """Run -> its folder, where the copies would lie in it and be copied again."""

    def fds(self) -> Iterable[int]:
        """The copier, while it lives."""
        fd = self._copier.fileno()
        return () if fd is None else (fd,)

    def read(self, now: float) -> Iterable[Observation]:
        """Notice an answer that is overdue, and ask for the next bit."""
        if self._copier.overdue(now):
            self._copier.restart()
            self._open = False
            self._fail(f"no answer in {COPIER_DEADLINE_S:.0f} s: the place does not react", now)
        self._take(now)
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
        """Why the copy that was tried last could not be made, as long as any is missing."""
        inside = next((folder for folder in self._inside.values() if folder), "")
        if inside:
            return f"it lies in the folder that is copied, {inside}: nothing is copied from there"
        return next((f.why for f in reversed(self._failures.values())), "")

    def close(self) -> None:
        """End the copier; what it has copied stays and is gone on with."""
        self._copier.close()

    def _ask(self, now: float) -> None:
        """Go on with what was begun, else with the newest that is due."""
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
        self._open = self._copier.ask(self._question, now)
        if not self._open:  # it is still pausing, or stuck: what it is asked may be another by then
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
        """A save is growing, and copying was not put off for too long."""
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
                told = kept.copies.told.get(saved, {})
                over = told.get("state") in ("ok", "gone") and told["to"] == self._settings.to
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
            self._fail(f"the copier died: {words[-1] if words else 'without a word'}", now)

    def _fail(self, why: str, now: float) -> None:
        """Others may fare better: they are tried in the meantime, one a minute."""
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


def _around(to: str, folders: Sequence[str]) -> str:
    """The folder of checkpoints that the destination lies in; empty when in none."""
    if not to.startswith("/"):
        return ""
    real = os.path.realpath(to)
    return next((f for f in folders if f"{real}/".startswith(f"{os.path.realpath(f)}/")), "")


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
