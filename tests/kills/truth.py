"""What is held against the watch: what the trainings really did, and what a kill must leave whole."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..fakes.box import Push

CRITICAL = ("nan", "error", "oom", "killed")
"""Troubles that must be told."""
PASSING = "recovers"
"""A NaN of ten seconds. Told, unless it came and went while no daemon lived long enough to see it."""
KINDS = ("none", "nan", "recovers", "error", "oom", "killed")
_INCIDENT = re.compile(r"(?m)^Incident (\w+)")
_TITLE = re.compile(r"\[(?P<kind>[A-Z]+)[^\]]*\] (?P<run>[\w-]+) on ")


@dataclass
class Training:
    """One training, and what is known of it without asking the watch."""

    name: str
    trouble: str
    log: Path
    id: str
    pid: int
    launched: bool
    """Started by ``middlewatch run``: the status with which it ended is known."""


@dataclass
class Score:
    """The sums of some lanes."""

    kills: int = 0
    starts_failed: int = 0
    broken: list[str] = field(default_factory=list)
    """What was not whole after a kill: the store, an index or a page."""
    trainings: int = 0
    lines: int = 0
    counted: int = 0
    miscounted: list[str] = field(default_factory=list)
    troubles: int = 0
    told: int = 0
    untold: list[str] = field(default_factory=list)
    passing: int = 0
    passing_told: int = 0
    pushes: int = 0
    again: list[str] = field(default_factory=list)
    """Pushes whose title was pushed before."""
    anew: list[str] = field(default_factory=list)
    """Those of them that name another incident than the first time: nobody can see that it is one."""
    without_kill: list[str] = field(default_factory=list)
    """Those that came again though the daemon was not killed in between."""
    false_alarms: list[str] = field(default_factory=list)
    false_resolved: list[str] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Take in another lane."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def wrong(self) -> bool:
        """True unless everything that is promised held."""
        lost = self.broken or self.miscounted or self.untold or self.false_resolved or self.anew
        lost = lost or self.without_kill
        return bool(lost or self.false_alarms or self.starts_failed or len(self.again) > self.kills)


def not_whole(state: Path) -> list[str]:
    """What of the files in a state directory is not whole, just after a kill; sentences."""
    found = []
    store = state / "middlewatch.sqlite"
    if store.exists():
        # A copy: to open the store itself would do the recovery that the daemon has to do.
        with contextlib.closing(sqlite3.connect(":memory:")) as copy:
            try:
                place = f"{store.as_uri()}?mode=ro"
                with contextlib.closing(sqlite3.connect(place, uri=True, timeout=30)) as db:
                    db.backup(copy)
                (health,) = copy.execute("pragma integrity_check").fetchone()
            except sqlite3.Error as error:
                health = str(error)
        if health != "ok":
            found.append(f"store: {health}")
    for folder in (state / "runs").glob("*"):
        found += _run_not_whole(folder)
    return found


def _run_not_whole(folder: Path) -> list[str]:
    index, page = folder / "checkpoints_index.json", folder / "training_status.md"
    found = []
    if index.exists():
        try:
            read = json.loads(index.read_text())
            known = {entry["path"] for entry in read["checkpoints"]}
            told = {read["latest"], read["best"], read["resume_from"]} - {None}
            if read["run"] != folder.name or not told <= known:
                found.append(f"{index}: it contradicts itself")
        except (ValueError, KeyError) as error:
            found.append(f"{index}: {error!r}")
    if page.exists() and folder.name not in page.read_text():
        found.append(f"{page}: it does not name its run")
    return found


def judge(
    trainings: Iterable[Training],
    counted: dict[str, int],
    pushes: list[Push],
    lives: Sequence[float],
) -> Score:
    """Hold the pushes and the counted lines (run id -> lines) against what happened.

    ``lives`` are the times at which a daemon was started, in their order, epoch seconds.
    """
    score = Score(pushes=len(pushes))
    named: dict[str, str] = {}
    sent_in: dict[str, int] = {}
    for push in pushes:
        life = bisect(lives, push.at)
        if sent_in.get(push.title) == life:
            score.without_kill.append(push.title)
        sent_in[push.title] = life
        incident = _INCIDENT.search(push.body)
        if incident and named.setdefault(push.title, incident[1]) != incident[1]:
            score.anew.append(push.title)
    score.again = [
        title for title, n in Counter(p.title for p in pushes).items() for _ in range(n - 1)
    ]
    about: dict[str, list[tuple[str, str]]] = {}
    for push in pushes:
        found = _TITLE.match(push.title)
        if found:
            about.setdefault(found["run"], []).append((found["kind"], push.title))
    for one in trainings:
        score.trainings += 1
        lines = one.log.read_bytes().count(b"\n")
        score.lines += lines
        known = counted.get(one.id, 0)
        score.counted += known
        if lines != known:
            score.miscounted.append(f"{one.name}: {known} of {lines} lines")
        told = about.get(one.name, [])
        bad = [title for kind, title in told if kind not in ("RESOLVED", "FINISHED")]
        if one.trouble == PASSING:
            score.passing += 1
            score.passing_told += bool(bad)
        elif one.trouble in CRITICAL:
            score.troubles += 1
            score.told += bool(bad)
            if not bad:
                score.untold.append(f"{one.name} ({one.trouble}): {[t for _, t in told]}")
        else:
            score.false_alarms += bad
        if one.trouble != PASSING:
            score.false_resolved += [title for kind, title in told if kind == "RESOLVED"]
    return score
