"""Lets the copier of trees, a worker, mirror the folders of results of all runs as they change.

The copier is asked every two seconds for as long as a run lives; after its end until all of it is
there. While a save is written it gets a tenth of the time. A destination that cannot be written, and
files that cannot be read, make this source ``impaired``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from middlewatch.sentinels.kit import Observation

from ..config.schema import MirrorSettings as Settings
from ..system.source import Source
from ..system.worker import JsonWorker, module_argv
from ..text import figures
from .source import COPIER_DEADLINE_S, QUIET_S, walls_for

TREE_COPIER_ARGV = module_argv("middlewatch.daemon.mirror.tree_worker")
SETTLE_S = 1.1
"""Seconds from one question to the next where files settle: the second that they are given, and a bit."""
PAUSE_S = 60.0
"""Seconds until the copier is asked again after it has failed as a whole. Our choice."""
MOST_TREES = 100
"""Folders that are asked for at once: a question to a child is 64 KiB at most."""
AFTER_END_S = 3600.0
"""A run that ended longer ago, before this daemon began, is not looked at any more. Our choice."""
BEHIND_S = 60.0
"""A copy that is behind for longer is told in words. Copying begins some 3 s after a change."""
_TOLD = ("place", "state", "files", "behind_files", "behind_bytes", "behind_s", "watching", "why")
"""What of the answer about a tree is shown."""


@dataclass(frozen=True, slots=True)
class RunFolders:
    """Where the results of one run lie."""

    run: str
    name: str
    cwd: str
    """Its working directory, as this process sees it; empty where it is not known."""
    saves: Sequence[str]
    """Its folders of checkpoints."""
    ended_at: float | None
    """Epoch seconds; ``None`` while it lives."""
    saving_at: float | None
    """When bytes of a save last grew, epoch seconds."""


class TreesSource(Source):
    """Keeps copies of the folders ``also`` of all runs at one destination."""

    every_s = 2.0

    def __init__(
        self,
        settings: Settings,
        runs: Callable[[], Iterable[RunFolders]],
        told: Callable[[str, list[dict[str, Any]]], None],
        home: str = "",
        copier: JsonWorker | None = None,
    ) -> None:
        """``told`` gets the id of a run and the state of its trees, whenever the copier has answered.

        ``home``: the folder in which the copier keeps what it knows.
        """
        self.name = f"mirror:{settings.to} {' '.join(settings.also)}"
        self._settings = settings
        self._runs = runs
        self._told = told
        self._home = home
        self._copier = copier or JsonWorker(TREE_COPIER_ARGV, COPIER_DEADLINE_S)
        self._open = False
        self._asked_at = 0.0
        self._settling = False
        """Files have changed that are copied in a second, if they stay as they are."""
        self._not_before = 0.0
        self._failed = ""
        self._too_many = False
        self._asked: dict[tuple[str, str], list[str]] = {}
        """Source and place of each tree that was asked for -> the runs that it belongs to."""
        self._ended: dict[str, bool] = {}
        """Runs that have ended -> whether all of their results are there."""
        self._ends: dict[str, int] = {}
        """The same runs -> the number of the look at their trees that has to come after their end."""
        self._states: dict[str, list[dict[str, Any]]] = {}

    def fds(self) -> Iterable[int]:
        """The answers of the copier, while it is running."""
        fd = self._copier.fileno()
        return () if fd is None else (fd,)

    def read(self, now: float) -> Iterable[Observation]:
        """Restart a copier that is overdue, take its answers, and ask again."""
        if self._copier.overdue(now):
            self._copier.restart()
            self._open = False
            self._fail(f"no answer in {COPIER_DEADLINE_S:.0f} s: a folder does not respond", now)
        self._take(now)
        self._ask(now)
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """The copier has answered; where it has more to do, it goes on at once."""
        if self._take(now):
            self._ask(now)
        return ()

    @property
    def due_at(self) -> float | None:
        """A second after the last question, where something waits to be copied."""
        return self._asked_at + SETTLE_S if self._settling and not self._open else None

    def stalled(self, now: float) -> str | None:
        """A killed copier that cannot end hangs in a system call at a tree or at the destination."""
        pid = self._copier.stuck_pid
        return None if pid is None else f"the copier of trees (pid {pid}) hangs"

    @property
    def impaired(self) -> str:
        """Why something is not copied; empty if all is."""
        if self._failed:
            return self._failed
        if self._too_many:
            return f"only {MOST_TREES} folders are copied at once: name fewer in `also`"
        for rows in self._states.values():
            for row in rows:
                if row["state"] == "failed":
                    return f"{row['place']}: {row['detail']}"
                if row["left_out"]:
                    return (
                        f"{row['left_out']} files of {row['place']} are not copied: {row['detail']}"
                    )
        return ""

    def close(self) -> None:
        """End the copier; what it has copied stays."""
        self._copier.close()

    def _ask(self, now: float) -> None:
        if self._copier.waiting or now < self._not_before:
            return
        trees = self._trees_due(now)
        if not trees:
            return
        self._too_many = len(trees) > MOST_TREES
        trees = trees[:MOST_TREES]
        far = "/proc/" if any(one["source"].startswith("/proc/") for one in trees) else ""
        memory = f"{self._home}/mirror.json" if self._home else ""
        walls, folders = walls_for(self._settings.to, far, memory)
        if (walls, folders) != (self._copier.walls, self._copier.folders):
            self._copier.close()
            self._copier.walls, self._copier.folders = walls, folders
        grown = (run.saving_at for run in self._runs())
        saving = any(at is not None and abs(now - at) < QUIET_S for at in grown)
        question = {
            "to": self._settings.to,
            "trees": trees,
            "limit": self._settings.limit_bytes_per_s,
            "home": self._home,
            "gentle": saving,
        }
        self._asked_at, self._settling = now, False
        self._open = self._copier.ask(question, now)

    def _is_due(self, run: RunFolders, now: float) -> bool:
        if not run.cwd or (
            self._settings.runs and not {run.name, run.run} & set(self._settings.runs)
        ):
            return False
        if run.ended_at is None:
            return True
        if run.run not in self._ended:
            self._ended[run.run] = now - run.ended_at > AFTER_END_S
            self._ends[run.run] = len(self._ends) + 1
        return not self._ended[run.run]

    def _trees_due(self, now: float) -> list[dict[str, Any]]:
        """The trees that are to be mirrored. Two runs of one name in one folder have the same ones."""
        self._asked = {}
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for run in self._runs():
            if not self._is_due(run, now):
                continue
            for also in self._settings.also:
                inside = os.path.normpath(also)
                key = f"{run.cwd.rstrip('/')}/{inside}", f"{run.name}/{inside}"
                self._asked.setdefault(key, []).append(run.run)
                tree = {"source": key[0], "place": key[1], "leave": list(run.saves), "look": 0}
                one = found.setdefault(key, tree)
                one["leave"] = list(dict.fromkeys([*one["leave"], *run.saves]))
                one["look"] = max(one["look"], self._ends.get(run.run, 0))
        return list(found.values())

    def _take(self, now: float) -> bool:
        """Take the answers; returns whether the copier has more to do."""
        more = False
        for answer in self._copier.answers():
            self._open = False
            if answer.get("to") != self._settings.to or not isinstance(answer.get("trees"), list):
                self._fail(str(answer.get("error") or "no reason"), now)
                continue
            self._failed = ""
            more = bool(answer.get("more"))
            self._note(answer["trees"])
            self._settling = any(
                row["state"] == "copying" and row["behind_files"] for row in answer["trees"]
            )
        if self._open and not self._copier.waiting:
            self._open = False
            words = self._copier.last_words.splitlines()
            self._fail(
                f"the copier of trees ended: {words[-1] if words else 'it wrote no error'}", now
            )
        return more

    def _fail(self, why: str, now: float) -> None:
        self._failed = why[:400]
        self._not_before = now + PAUSE_S

    def _note(self, rows: Sequence[Mapping[str, Any]]) -> None:
        states: dict[str, list[dict[str, Any]]] = {}
        whole: dict[str, bool] = {}
        for row in rows:
            key = str(row.get("source")), str(row.get("place"))
            for run in self._asked.get(key, ()):
                states.setdefault(run, []).append(dict(row))
                looked = row["look"] >= self._ends.get(run, 0) and row["state"] == "ok"
                whole[run] = whole.get(run, True) and (looked or row["state"] == "missing")
        for run in whole.keys() & self._ended.keys():
            self._ended[run] = whole[run]
        self._states = states
        for run, mine in states.items():
            self._told(run, list(_shown(mine, self._settings.to)))


def words_about(trees: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sentences about copies that are behind, or whose folders cannot be watched by events."""
    found = []
    for tree in trees:
        if tree["behind_s"] > BEHIND_S:
            found.append(
                f"{tree['behind_files']} files of {tree['path']} ({figures.size(tree['behind_bytes'])}) "
                f"are not at {tree['to']} yet, the first for {figures.duration(tree['behind_s'])}"
            )
        if tree["why"] and tree["watching"]:
            found.append(
                f"changes in {tree['path']} are looked for every two seconds, as {tree['why']}"
            )
    return found


def _shown(rows: Sequence[Mapping[str, Any]], to: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {"path": row["source"], "to": to, **{key: row[key] for key in _TOLD}} | {
            "detail": row["detail"]
        }
