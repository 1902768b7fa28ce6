"""Which run and which trouble comes first, and what is one trouble told several times. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from . import answer
from .answer import Answer

SEVERITIES = ("critical", "warning", "info")
STATES = ("failing", "stalled", "failed", "unknown", "running", "finished")
"""From the state that needs a person most to the one that needs none."""
_DIGITS = re.compile(r"\d+(?:\.\d+)?")


class Folded(NamedTuple):
    """Incidents that say the same: of one class and severity, in words that differ in numbers only."""

    first: Answer
    """The newest."""
    all: tuple[Answer, ...]


def severity(incident: Answer) -> int:
    """0 for the worst; what a person has acknowledged comes behind all that is new."""
    name = answer.text(incident, "severity")
    rank = SEVERITIES.index(name) if name in SEVERITIES else len(SEVERITIES)
    return rank + (10 if answer.text(incident, "state") == "acknowledged" else 0)


def open_of(run: Answer) -> list[Answer]:
    """The unresolved incidents of a run."""
    listed = answer.records(run, "incidents")
    return [one for one in listed if answer.text(one, "state") != "resolved"]


def runs(found: Answer) -> list[Answer]:
    """The runs of an answer: those with the worst open incident first, then by state, then those that
    live, then the newest."""
    return sorted(answer.records(found, "runs"), key=_need)


def _need(run: Answer) -> tuple[int, bool, int, float]:
    worst = min(map(severity, open_of(run)), default=99)
    state = answer.text(run, "state")
    place = STATES.index(state) if state in STATES else STATES.index("unknown")
    over = run.get("ended_at") is not None
    return min(worst, 2), over, place, -(answer.epoch(run, "started_at") or 0.0)


def moving(run: Answer) -> bool:
    """Whether the run makes steps: of one that stands still no pace and no end is told. A failing one
    (its loss is NaN, say) may go on: the daemon expects an end of it as long as it does."""
    state, goes_on = answer.text(run, "state"), answer.record(run, "now").get("eta") is not None
    return run.get("ended_at") is None and (state == "running" or (state == "failing" and goes_on))


def incidents(found: Answer) -> list[Answer]:
    """Unresolved incidents of all runs, each once, the worst first, then the newest first."""
    listed = {
        answer.text(i, "id") or str(n): i
        for n, i in enumerate(i for run in runs(found) for i in open_of(run))
    }
    return sorted(listed.values(), key=_urgency)


def _urgency(incident: Answer) -> tuple[int, float]:
    return severity(incident), -(answer.epoch(incident, "opened_at") or 0.0)


def folded(listed: Iterable[Answer]) -> list[Folded]:
    """The same list with equal incidents as one, in the order of the first of each."""
    groups: dict[tuple[str, ...], list[Answer]] = {}
    for one in listed:
        summary = answer.text(one, "summary")
        name = answer.text(one, "run").rpartition("-")[0]
        if name:
            summary = summary.replace(name, "")
        words = _DIGITS.sub("#", summary)
        keys = ("class", "severity", "state")
        groups.setdefault((*(answer.text(one, key) for key in keys), words), []).append(one)
    return [Folded(group[0], tuple(group)) for group in groups.values()]


def runs_of(one: Folded) -> list[str]:
    """Ids of the runs that it concerns, each once."""
    named: dict[str, None] = {}
    for incident in one.all:
        for run in answer.texts(incident, "runs") or [answer.text(incident, "run")]:
            named[run] = None
    return [run for run in named if run]
