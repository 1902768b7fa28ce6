"""The state of the screens (which view, what is selected), and how keys change it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import answer
from .answer import Answer

View = Literal["overview", "incident", "incidents", "log", "help"]
Focus = Literal["runs", "incidents", "log"]
SECTIONS: tuple[Focus, ...] = ("runs", "incidents", "log")
SEVERITIES = ("critical", "warning", "info")


@dataclass
class ScreenState:
    """The view and the selection. Selections are ids, so that they stay the same when a new answer
    has other rows."""

    view: View = "overview"
    focus: Focus = "runs"
    run: str = ""
    """Id of the selected run; if it is unknown, the first run is selected."""
    incident: str = ""
    """Id of the selected incident; if it is unknown, the first one is selected."""
    scroll: int = 0
    """Rows scrolled: down from the top, in the log up from the end (0 follows it)."""
    back: View = "overview"
    """The view that Esc goes back to."""


@dataclass(frozen=True)
class Link:
    """The connection to the daemon: its last answer, and whether it still answers."""

    answer: Answer | None = None
    """The last answer, however old; ``None`` before the first."""
    age_s: float = 0.0
    """Seconds since it came, or since the first question when none came yet."""
    silent: bool = False
    """The last question was not answered, or its answer is overdue."""
    reason: str = ""
    """Why there is no answer, for a person."""
    hint: str = ""
    """What the person can do about it."""

    @property
    def now(self) -> float | None:
        """Epoch seconds by the clock of the box: the time in the last answer plus its age."""
        at = answer.epoch(self.answer or {}, "updated_at")
        return None if at is None else at + self.age_s

    def since(self, record: Answer, key: str) -> float | None:
        """Seconds since the time under ``key``; ``None`` when that or the present is unknown."""
        at, now = answer.epoch(record, key), self.now
        return None if at is None or now is None else now - at


def runs(found: Answer) -> list[Answer]:
    """The runs of an answer: first those that have not ended; among each the newest first."""
    return sorted(answer.records(found, "runs"), key=_newness)


def _newness(run: Answer) -> tuple[bool, float]:
    return run.get("ended_at") is not None, -(answer.epoch(run, "started_at") or 0.0)


def chosen_run(found: Answer, look: ScreenState) -> Answer:
    """The selected run, which the lower half of the screen shows; ``{}`` when there is none."""
    return _chosen(runs(found), "run", look.run)


def incidents(found: Answer) -> list[Answer]:
    """Unresolved incidents of all runs, by severity, the worst first, then the newest first."""
    listed = [i for run in runs(found) for i in answer.records(run, "incidents")]
    return sorted((i for i in listed if answer.text(i, "state") != "resolved"), key=_urgency)


def chosen_incident(found: Answer, look: ScreenState) -> Answer:
    """The selected incident, or the opened one; ``{}`` when there is none."""
    if look.view == "incident":  # if it was resolved meanwhile, show no other one
        return next((i for i in incidents(found) if answer.text(i, "id") == look.incident), {})
    return _chosen(incidents(found), "id", look.incident)


def index_of(listed: Sequence[Answer], key: str, wanted: str) -> int:
    """Index of the first record with ``wanted`` under ``key``; 0 when there is none."""
    return next((n for n, each in enumerate(listed) if answer.text(each, key) == wanted), 0)


def _chosen(listed: Sequence[Answer], key: str, wanted: str) -> Answer:
    return listed[index_of(listed, key, wanted)] if listed else {}


def _urgency(incident: Answer) -> tuple[int, float]:
    severity = answer.text(incident, "severity")
    rank = SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
    return rank, -(answer.epoch(incident, "opened_at") or 0.0)


def move(look: ScreenState, found: Answer, delta: int) -> None:
    """Move the selection in a list, or scroll a text, by ``delta`` rows (positive: down)."""
    if look.view == "overview" and look.focus == "runs":
        look.run = _moved(runs(found), "run", look.run, delta)
    elif look.view == "incidents" or (look.view == "overview" and look.focus == "incidents"):
        look.incident = _moved(incidents(found), "id", look.incident, delta)
    else:  # in a log, up is towards the older lines, away from its end
        from_end = look.view in ("log", "overview")
        look.scroll = max(0, look.scroll - delta if from_end else look.scroll + delta)


def _moved(listed: Sequence[Answer], key: str, wanted: str, delta: int) -> str:
    if not listed:
        return wanted
    place = index_of(listed, key, wanted) + delta
    return answer.text(listed[min(max(0, place), len(listed) - 1)], key)


def open_view(look: ScreenState, view: View) -> None:
    """Go to another view, from which Esc leads back."""
    if view == look.view:
        return
    look.back = "incidents" if look.view == "incidents" and view == "incident" else "overview"
    look.view, look.scroll = view, 0


def go_back(look: ScreenState) -> None:
    """Esc: go back to the view before."""
    look.view, look.back, look.scroll = look.back, "overview", 0


def enter(look: ScreenState, found: Answer) -> None:
    """Enter: open the selected incident, or the log."""
    if look.view == "overview" and look.focus == "log":
        open_view(look, "log")
    elif look.view in ("overview", "incidents"):
        incident = chosen_incident(found, look)
        if incident:
            look.incident = answer.text(incident, "id")
            open_view(look, "incident")


def focus(look: ScreenState, section: Focus) -> None:
    """Give the arrow keys to a section of the overview."""
    look.focus, look.scroll = section, 0
