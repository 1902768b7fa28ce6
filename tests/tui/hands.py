"""The views in the hands of a test: what the app does for them is done at once, and written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from middlewatch.daemon.text.rows import plain, width_of
from middlewatch.tui import frame
from middlewatch.tui.desk import Desk, Link
from middlewatch.tui.views.every import all_views

TABS = [("1", "home"), ("2", "run"), ("3", "gpus"), ("4", "saves"), ("5", "incidents"),
        ("6", "log"), ("7", "disks"), ("8", "watch")]  # fmt: skip


class Hands:
    """A desk with all views, and the app's part of it."""

    def __init__(
        self, found: Any, *, answers: dict[str, Any] | None = None, local: bool = False
    ) -> None:
        self.opened: list[str] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.questions: list[str] = []
        self.told: list[str] = []
        self.agrees = True
        self.typed = ""
        """What the person types when asked for a line."""
        self.answers = answers or {}
        self.desk = Desk(self, {"": Link()}, "", local=local)
        self.take(found)
        self.views = all_views(self.desk, [], lambda: self.views["overview"])

    def take(self, found: Any, age_s: float = 0.5, silent: bool = False, reason: str = "") -> None:
        """An answer came."""
        self.desk.take(self.desk.box, Link(found, age_s, silent, reason))

    def draw(self, name: str, width: int = 80, height: int = 24) -> str:
        """The whole screen as text; exactly as large as it is to be."""
        view = self.views[name]
        view.shown()
        rows = frame.draw(self.desk.link, view, TABS, width, height)
        assert len(rows) == height
        assert {width_of(line) for line in rows} <= {width}
        return plain(rows)

    def press(self, name: str, key: str) -> None:
        """A key of a view."""
        one = next(one for one in self.views[name].own_keys() if key in one.keys.split())
        one.act()

    def open(self, view: str) -> None:
        self.opened.append(view)
        self.views[view].shown()

    def look_for(self, text: str) -> None:
        self.views[self.opened[-1]].search(text)

    def ask(self, op: str, args: dict[str, Any], done: Callable[[Any], None]) -> None:
        self.asked.append((op, args))
        done(self.answers.get(op, {}))

    def aside(self, name: str, job: Callable[[], Any], done: Callable[[Any], None]) -> None:
        try:
            result = job()
        except Exception as error:  # noqa: BLE001 - as the app does
            result = error
        done(result)

    def confirm(self, question: str, yes: Callable[[], None]) -> None:
        self.questions.append(question)
        if self.agrees:
            yes()

    def prompt(
        self, label: str, value: str, typed: Callable[[Any], None], live: bool = False
    ) -> None:
        self.questions.append(label)
        typed(self.typed or value)

    def tell(self, words: str, bad: bool = False) -> None:
        self.told.append(words)

    def mask(self, text: str) -> str:
        return text.replace("hunter2", "***")

    def changed(self) -> None:
        pass
