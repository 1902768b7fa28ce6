"""What the person at the keyboard looks at, and what a key does to it. Pure."""

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
    """Where the person is. Things are chosen by id, so that a new answer moves nothing."""

    view: View = "overview"
    focus: Focus = "runs"
    run: str = ""
    """Id of the chosen run; anything unknown means the first."""
    incident: str = ""
    """Id of the chosen incident; anything unknown means the first."""
    scroll: int = 0
    """Rows scrolled: down from the top, in the log up from the end (0 follows it)."""
    back: View = "overview"
    """Where Esc leads."""


@dataclass(frozen=True)
class Link:
    """How the daemon is reached just now."""

    answer: Answer | None = None
    """The last answer, however old; ``None`` before the first."""
    age_s: float = 0.0
    """Seconds since it came, or since the first question when none came yet."""
    silent: bool = False
    """The last question was not answered, or its answer is overdue."""
    reason: str = ""
    """Why not, for a person."""
    hint: str = ""
    """What the person can do about it."""

    @property
    def now(self) -> float | None:
        """Epoch seconds on the box's clock: its last answer's time plus what passed since."""
        at = answer.epoch(self.answer or {}, "updated_at")
        return None if at is None else at + self.age_s

    def since(self, record: Answer, key: str) -> float | None:
        """Seconds since the time under ``key``; ``None`` when either is unknown."""
        at, now = answer.epoch(record, key), self.now
        return None if at is None or now is None else now - at


def runs(found: Answer) -> list[Answer]:
    """The runs of an answer: those that live first, and the newest of those first."""
    return sorted(answer.records(found, "runs"), key=_newness)


def _newness(run: Answer) -> tuple[bool, float]:
    return run.get("ended_at") is not None, -(answer.epoch(run, "started_at") or 0.0)


def chosen_run(found: Answer, look: ScreenState) -> Answer:
    """The run that the lower half of the screen is about; ``{}`` when there is none."""
    return _chosen(runs(found), "run", look.run)


def incidents(found: Answer) -> list[Answer]:
    """Unresolved incidents of all runs, the worst first and the newest of those first."""
    listed = [i for run in runs(found) for i in answer.records(run, "incidents")]
    return sorted((i for i in listed if answer.text(i, "state") != "resolved"), key=_urgency)


def chosen_incident(found: Answer, look: ScreenState) -> Answer:
    """The incident that Enter opens; ``{}`` when there is none."""
    if look.view == "incident":  # it may have been resolved meanwhile: never show another
        return next((i for i in incidents(found) if answer.text(i, "id") == look.incident), {})
    return _chosen(incidents(found), "id", look.incident)


def index_of(listed: Sequence[Answer], key: str, wanted: str) -> int:
    """Where ``wanted`` is in the list; 0 when it is not."""
    return next((n for n, each in enumerate(listed) if answer.text(each, key) == wanted), 0)


def _chosen(listed: Sequence[Answer], key: str, wanted: str) -> Answer:
    return listed[index_of(listed, key, wanted)] if listed else {}


def _urgency(incident: Answer) -> tuple[int, float]:
    severity = answer.text(incident, "severity")
    rank = SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
    return rank, -(answer.epoch(incident, "opened_at") or 0.0)


def move(look: ScreenState, found: Answer, delta: int) -> None:
    """Up or down by ``delta``: the choice in a list, the rows of a text."""
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
    """Go to another screen; Esc comes back."""
    if view == look.view:
        return
    look.back = "incidents" if look.view == "incidents" and view == "incident" else "overview"
    look.view, look.scroll = view, 0


def go_back(look: ScreenState) -> None:
    """Esc: one screen up."""
    look.view, look.back, look.scroll = look.back, "overview", 0


def enter(look: ScreenState, found: Answer) -> None:
    """Enter: open what is chosen."""
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
