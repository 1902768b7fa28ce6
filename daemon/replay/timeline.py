"""The timeline of a replay report: one line for each notable event of a finished log, in order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from middlewatch.sentinels.kit import Severity, View
from middlewatch.sentinels.kit.numbers import number
from middlewatch.sentinels.kit.observations import PhaseName

from ..text.rows import Tone
from .one_log import FileLine
from .story import Story, StoryEvent
from .verdict import LogTrouble

Entry = tuple["FileLine | None", str, Tone, str]
"""(line of the log, sign, colour, words)."""
TROUBLES = 12
"""Troubles shown at most; ``--json`` has all."""
_PHASES: dict[PhaseName, str] = {
    "start": "training starts",
    "load": "loads",
    "compile": "compiles",
    "evaluate": "evaluates",
    "done": "says that training is done",
}


def entries(
    story: Story,
    troubles: Sequence[tuple[LogTrouble, FileLine]],
    view: View,
    root: tuple[LogTrouble, FileLine] | None,
) -> list[Entry]:
    """The timeline in the order of the log. ``root``: the trouble that ended the run."""
    found: list[tuple[float, Entry]] = [*_phases(story), *_saves(story)]
    for restart in story.restarts:
        words = f"the steps go back from {number(restart.before)} to {number(restart.at.step or 0)}"
        found.append(_at(restart.at, "↺", "warn", words))
    if story.first is not None and story.last is not None:
        found.append(_at(story.first, "·", "dim", f"first report, step {_step(story.first)}"))
        if story.reports > 1:
            words = (
                f"last report, step {_step(story.last)}, {story.reports + story.left_out:,} in all"
            )
            if story.left_out:
                words += f", {story.reports:,} of them judged one by one (--whole: all)"
            found.append(_at(story.last, "·", "dim", words))
    ended_at = math.inf if root is None else root[0].first.line
    found += _troubles(troubles, view, ended_at)
    found.sort(key=lambda each: each[0])
    return [entry for _, entry in found]


def _at(where: StoryEvent, sign: str, tone: Tone, words: str) -> tuple[float, Entry]:
    return where.order, (FileLine(where.file, where.line), sign, tone, words)


def _step(where: StoryEvent) -> str:
    return "?" if where.step is None else number(where.step)


def _phases(story: Story) -> list[tuple[float, Entry]]:
    found = []
    for name, words in _PHASES.items():
        stretch = story.phases.get(name)
        if stretch is None:
            continue
        where = stretch.last if name == "done" else stretch.first
        if stretch.times > 1 and name != "done":
            words += f", the first of {stretch.times:,} times"
        found.append(_at(where, "·", "dim", words))
    return found


def _saves(story: Story) -> list[tuple[float, Entry]]:
    if story.first_save is None:
        return []
    count = story.save_count
    found: list[tuple[float, Entry]] = []
    for place, save in ((1, story.first_save), (count, story.saves[-1])):
        if place == 1 and found:
            break
        of = f"checkpoint {place:,} of {count:,}" if count > 1 else "the only checkpoint"
        path = f": {save.path}" if save.path else ""
        found.append(_at(save.at, "·", "good", f"{of} saved, step {_step(save.at)}{path}"))
    return found


def _troubles(
    troubles: Sequence[tuple[LogTrouble, FileLine]], view: View, ended_at: float
) -> list[tuple[float, Entry]]:
    ranked = sorted(troubles, key=lambda t: (-t[0].newest.severity, t[0].first.line))
    shown = ranked[:TROUBLES]
    found = []
    for trouble, place in shown:
        sign, tone = _manner(trouble)
        words = f"{trouble.newest.trouble}: {trouble.newest.summary}"
        count = trouble.newest.details.get("count")
        if isinstance(count, int) and count > 1:
            words += f" ({count:,} times)"
        if trouble.first.line < ended_at and _overcome(trouble, view):
            words += "; the run went on"
        order = float(trouble.first.line) if trouble.first.line else -math.inf
        found.append((order, (place if place.line else None, sign, tone, words)))
    left = len(troubles) - len(shown)
    if left:
        words = f"{left:,} more troubles, less severe: --json lists them all"
        found.append((math.inf, (None, "·", "dim", words)))
    return found


def _overcome(trouble: LogTrouble, view: View) -> bool:
    """True when the run made at least two steps after a trouble that is not fatal."""
    if trouble.newest.fatal or trouble.newest.severity < Severity.WARNING:
        return False
    return view.steps_after(0.0, trouble.first.line, trouble.first.file) >= 2


def _manner(trouble: LogTrouble) -> tuple[str, Tone]:
    if trouble.newest.fatal:
        return "✗", "bad"
    return ("!", "warn") if trouble.newest.severity >= Severity.WARNING else ("·", "dim")
