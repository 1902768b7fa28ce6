"""What the views share: the boxes with their last answers, what is selected, and how a view asks for
something that takes time. Nothing here draws, and nothing here blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import answer, order
from .answer import Answer
from .trail import Trail

Done = Callable[[Any], None]


@dataclass(frozen=True)
class Link:
    """The connection to a daemon: its last answer, and whether it still answers."""

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


class Services(Protocol):
    """What the app does for a view."""

    def open(self, view: str) -> None:
        """Go to another view, from which Esc leads back."""

    def look_for(self, text: str) -> None:
        """Search the present view for a text."""

    def ask(self, op: str, args: dict[str, Any], done: Done) -> None:
        """Ask the daemon of the selected box; ``done`` gets the data, or the exception."""

    def aside(self, name: str, job: Callable[[], Any], done: Done) -> None:
        """Run ``job`` in a thread; of several of one name that wait only the newest is run. ``done``
        gets what it returned, or the exception, and is called where views may be changed."""

    def confirm(self, question: str, yes: Callable[[], None]) -> None:
        """Ask the person, and go on only after a yes."""

    def prompt(self, label: str, value: str, typed: Done, live: bool = False) -> None:
        """Let the person type a line; with ``live`` every change is handed on as well."""

    def tell(self, words: str, bad: bool = False) -> None:
        """Show a sentence for some seconds."""

    def mask(self, text: str) -> str:
        """The text with secrets masked."""

    def changed(self) -> None:
        """Draw again what differs."""


@dataclass
class Desk:
    """The state of the screen that outlives a change of the view."""

    services: Services
    links: dict[str, Link] = field(default_factory=lambda: {"": Link()})
    """By name of the box; the box that the screen runs on is called ``""``."""
    box: str = ""
    """Name of the selected box."""
    run: str = ""
    """Id of the selected run; while it is unknown, the worst one is selected."""
    incident: str = ""
    """Id of the opened incident."""
    trails: dict[str, Trail] = field(default_factory=dict)
    local: bool = True
    """The selected box is this machine: its logs can be read here."""

    @property
    def link(self) -> Link:
        """The connection to the selected box."""
        return self.links.get(self.box) or next(iter(self.links.values()))

    @property
    def found(self) -> Answer:
        """The last answer of the selected box; ``{}`` before the first."""
        return self.link.answer or {}

    @property
    def trail(self) -> Trail:
        """What was seen of the selected box since the screen was opened."""
        return self.trails.setdefault(self.box, Trail())

    @property
    def chosen(self) -> Answer:
        """The selected run; ``{}`` when there is none."""
        listed = order.runs(self.found)
        known = (run for run in listed if answer.text(run, "run") == self.run)
        return next(known, listed[0] if listed else {})

    def choose_box(self, name: str) -> None:
        """Select a box."""
        if name != self.box:
            self.box, self.run, self.incident = name, "", ""

    def take(self, name: str, link: Link) -> None:
        """A new state of a connection."""
        before = self.links.get(name)
        self.links[name] = link
        if link.answer is not None and (before is None or before.answer is not link.answer):
            self.trails.setdefault(name, Trail()).note(link.answer)
