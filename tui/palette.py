"""What the command palette offers: every view, every key of the present view, runs, incidents, themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from . import answer, order
from .desk import Desk
from .themes import LOOKS
from .view import View
from .views.help import written


class Offers(Protocol):
    """What the app can do."""

    tabs: list[tuple[str, str, str]]
    desk: Desk

    @property
    def view(self) -> View:
        """The present view."""

    def open(self, view: str) -> None:
        """Go to a view."""

    def open_run(self, run: str) -> None:
        """Show a run."""

    def open_incident(self, incident: str) -> None:
        """Show an incident."""

    def open_box(self, box: str) -> None:
        """Show a box."""

    def after(self, act: Callable[[], object]) -> Callable[[], None]:
        """Something, and what differs is drawn."""

    def wear(self, name: str) -> None:
        """Take a theme."""

    def exit(self) -> None:
        """Quit."""


class Command(NamedTuple):
    """A line of the palette."""

    text: str
    does: str
    act: Callable[[], object]


def commands(app: Offers) -> Iterator[Command]:
    """All that can be done now."""
    desk = app.desk
    for digit, name, title in app.tabs:
        yield Command(f"go to {title}", f"key {digit}", partial(app.open, name))
    for key in app.view.own_keys():
        words = f"{app.view.title}: {key.does}"
        yield Command(words, f"key {written(key.keys)}", app.after(key.act))
    for run in order.runs(desk.found):
        run_id = answer.text(run, "run")
        yield Command(f"run {run_id}", answer.text(run, "state"), partial(app.open_run, run_id))
    for one in order.incidents(desk.found):
        name = answer.text(one, "id")
        words = f"incident {name} {answer.text(one, 'class')}"
        yield Command(words, answer.text(one, "summary"), partial(app.open_incident, name))
    if len(desk.links) > 1:
        for box in desk.links:
            yield Command(f"box {answer.clean(box)}", "", partial(app.open_box, box))
    for look in LOOKS.values():
        yield Command(f"theme {look.name}", look.says, partial(app.wear, look.name))
    yield Command("quit", "the runs and the daemon go on", app.exit)


class WatchCommands(Provider):
    """Hands them to Textual's palette."""

    async def discover(self) -> Hits:
        """All, before anything is typed."""
        for one in commands(self._watch()):
            yield DiscoveryHit(one.text, one.act, help=one.does or None)

    async def search(self, query: str) -> Hits:
        """Those that match."""
        matcher = self.matcher(query)
        for one in commands(self._watch()):
            score = matcher.match(one.text)
            if score > 0:
                yield Hit(score, matcher.highlight(one.text), one.act, help=one.does or None)

    def _watch(self) -> Offers:
        return cast(Offers, self.app)
