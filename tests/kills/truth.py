"""What is held against the watch: what the trainings really did, and what a kill must leave whole."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    """Of daemons, some of them together with their notifier."""
    kills_of_both: int = 0
    notifier_kills: int = 0
    """Of a notifier whose daemon lived on."""
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
    incidents: int = 0
    """That the pushes are about."""
    again: list[str] = field(default_factory=list)
    """Pushes whose title was pushed before."""
    anew: list[str] = field(default_factory=list)
    """Those of them that name another incident than the first time: nobody can see that it is one."""
    without_kill: list[str] = field(default_factory=list)
    """Those that came again though nothing was killed in between."""
    undelivered: list[str] = field(default_factory=list)
    """Messages in the store that never arrived."""
    disordered: list[str] = field(default_factory=list)
    """Pushes that came before one about the same incident that was made earlier, or a RESOLVED of what
    nobody was told."""
    false_alarms: list[str] = field(default_factory=list)
    false_resolved: list[str] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Take in another lane."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def all_kills(self) -> int:
        """Each is good for one push that comes again."""
        return self.kills + self.notifier_kills

    @property
    def waits(self) -> list[str]:
        """What may still come."""
        return self.untold + self.undelivered

    @property
    def wrong(self) -> bool:
        """True unless everything that is promised held."""
        lost = self.broken or self.miscounted or self.untold or self.false_resolved or self.anew
        lost = lost or self.without_kill or self.undelivered or self.disordered
        too_many = len(self.again) > self.all_kills
        return bool(lost or self.false_alarms or self.starts_failed or too_many)


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
    notifier_deaths: Sequence[float] = (),
    messages: Mapping[str, Mapping[str, Any]] | None = None,
) -> Score:
    """Hold the pushes and the counted lines (run id -> lines) against what happened.

    ``lives`` are the times at which a daemon was started, ``notifier_deaths`` those at which its notifier
    was killed and it was not, in their order, epoch seconds. ``messages``: what the outbox has stored, by id.
    """
    score = Score(pushes=len(pushes))
    named: dict[str, str] = {}
    sent_in = Counter[tuple[str, int]]()
    deaths_in = Counter(bisect(lives, at) for at in notifier_deaths)
    for push in pushes:
        # One whose sender was gone when it was read belongs to the daemon before.
        life = bisect(lives, push.at) - push.orphan
        sent_in[push.title, life] += 1
        if sent_in[push.title, life] > 1 + deaths_in[life]:
            score.without_kill.append(push.title)
        incident = _INCIDENT.search(push.body)
        if incident and named.setdefault(push.title, incident[1]) != incident[1]:
            score.anew.append(push.title)
    score.incidents = len(set(named.values()))
    score.undelivered = _undelivered(pushes, messages or {})
    score.disordered = _disordered(pushes, messages or {})
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


def _undelivered(pushes: list[Push], messages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Titles of messages that were for somebody, and whose key no push has."""
    came, lists = {push.key for push in pushes}, _lists(pushes)
    return [
        f"{one['title']} ({one['state']})"
        for name, one in messages.items()
        if name not in came
        and one["state"] != "silent"
        and one["title"].partition("] ")[2][:60] not in lists
    ]


def _lists(pushes: list[Push]) -> str:
    """What went out as lists, which have keys of their own."""
    return "\n".join(push.body for push in pushes if " at once: " in push.title)


def _disordered(pushes: list[Push], messages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """By the first arrival of each: what is sent again after a kill is a copy of what was read before."""
    found: list[str] = []
    newest: dict[str, float] = {}
    seen, lists = set[str](), _lists(pushes)
    for push in pushes:
        one = messages.get(push.key)
        if one is None or not one["incident"] or push.key in seen:
            continue
        seen.add(push.key)
        before = newest.get(one["incident"])
        run = push.title.partition("] ")[2].partition(" on ")[0]
        if before is None and push.title.startswith("[RESOLVED]") and f"{run} on " not in lists:
            found.append(f"{push.title}: nobody was told of it before")
        elif before is not None and one["created_at"] < before:
            found.append(push.title)
        newest[one["incident"]] = max(before or 0.0, one["created_at"])
    return found
