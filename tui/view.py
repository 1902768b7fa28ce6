"""What every view is: something that draws rows, and says which keys it has. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from middlewatch.daemon.text.rows import BLANK, Row, Span, pad, plain, row, window

from .desk import Desk

T = TypeVar("T")
PAGE = 10
"""Rows that PgUp and PgDn move by, before the height is known."""


class Key(NamedTuple):
    """Keys that do one thing."""

    keys: str
    """Names as Textual gives them, separated by blanks."""
    does: str
    act: Callable[[], None]


class View:
    """A view of the desk. ``draw`` fills exactly the rows that it is given."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    searches: ClassVar[bool] = True
    """``/`` finds something here."""
    live_search: ClassVar[bool] = True
    """It is searched while one types."""
    needs_answer: ClassVar[bool] = True
    """There is nothing to show before the daemon's first answer."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.query = ""
        """What was typed after ``/``."""

    def own_keys(self) -> list[Key]:
        """The keys of this view, besides those of every view."""
        return []

    def draw(self, width: int, height: int) -> list[Row]:
        """The rows of the view, at most ``height``."""
        raise NotImplementedError

    def shown(self) -> None:
        """Called when the view is opened, and when an answer came while it is open."""

    def left(self) -> None:
        """Called when another view is opened."""

    def busy(self) -> bool:
        """Something that was begun goes on, and its progress is shown."""
        return False

    def move(self, delta: int) -> None:
        """Move by rows (positive: down)."""

    def page(self, delta: int) -> None:
        """Move by pages (positive: down)."""
        self.move(PAGE * delta)

    def jump(self, end: bool) -> None:
        """Go to the first or the last row."""
        self.move(10**9 if end else -(10**9))

    def enter(self) -> None:
        """Open what is selected."""

    def click(self, x: int, y: int) -> None:
        """The mouse was pressed on a cell of the view."""

    def search(self, query: str) -> None:
        """Look for a text."""
        self.query = query

    def next_match(self, step: int) -> None:
        """Go to the next match (1) or the one before (-1)."""


class ListView(View, Generic[T]):
    """A list of things with one selected. The selection is an id, so that it stays on its thing when
    others come and go. ``/`` leaves the rows that have the text in them."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.cursor = ""
        self._top = 0
        """Row of the view at which the list begins, as it was drawn last."""
        self._first = 0
        """Index of the item in that row."""
        self._room = PAGE

    def items(self) -> Sequence[T]:
        """The things, in order."""
        raise NotImplementedError

    def id_of(self, item: T) -> str:
        """What the selection remembers of a thing."""
        raise NotImplementedError

    def row(self, item: T, width: int, chosen: bool) -> Row:
        """One thing in one row."""
        raise NotImplementedError

    def head(self, width: int) -> list[Row]:
        """Rows above the list."""
        return []

    def foot(self, width: int, height: int) -> list[Row]:
        """Rows below the list: what is known of the selected thing."""
        return []

    def nothing(self) -> str:
        """What is said when the list is empty."""
        return "none"

    def listed(self) -> list[T]:
        """The things that the search leaves."""
        found = list(self.items())
        if not self.query:
            return found
        wanted = self.query.lower()
        return [one for one in found if wanted in plain([self.row(one, 400, False)]).lower()]

    def place(self, listed: Sequence[T]) -> int:
        """Index of the selected thing; 0 when it is not there any more."""
        return next((n for n, one in enumerate(listed) if self.id_of(one) == self.cursor), 0)

    def selected(self) -> T | None:
        """The selected thing."""
        listed = self.listed()
        return listed[self.place(listed)] if listed else None

    def draw(self, width: int, height: int) -> list[Row]:
        """Head, the part of the list around the selection, foot."""
        listed = self.listed()
        head = self.head(width)
        foot = self.foot(width, max(0, height - len(head) - min(len(listed) or 1, height // 3)))
        room = max(1, height - len(head) - len(foot))
        self._top, self._room = len(head), room
        place = self.place(listed)
        self._first = window(len(listed), place, room)
        if not listed:
            words = (
                f"nothing has {self.query!r} in it; Esc shows all" if self.query else self.nothing()
            )
            body = [row(Span(f"  {words}", "dim"))]
        else:
            shown = listed[self._first : self._first + room]
            body = [self.row(one, width, self._first + n == place) for n, one in enumerate(shown)]
        body += [BLANK] * (room - len(body))
        return [pad(line, width) for line in (*head, *body, *foot)]

    def move(self, delta: int) -> None:
        """Select another thing."""
        listed = self.listed()
        if listed:
            place = min(max(0, self.place(listed) + delta), len(listed) - 1)
            self.cursor = self.id_of(listed[place])
            self.moved()

    def page(self, delta: int) -> None:
        """Move by what fits on the screen."""
        self.move(max(1, self._room - 1) * delta)

    def moved(self) -> None:
        """Called when another thing was selected."""

    def click(self, x: int, y: int) -> None:
        """Select what is in that row; a click on what is selected opens it."""
        listed, place = self.listed(), y - self._top + self._first
        if self._top <= y < self._top + self._room and 0 <= place < len(listed):
            if place == self.place(listed) and self.cursor:
                self.enter()
            else:
                self.cursor = self.id_of(listed[place])
                self.moved()

    def next_match(self, step: int) -> None:
        """All rows that are left match: the next one."""
        self.move(step)


class TextView(View):
    """Rows of text that scroll. ``/`` marks rows and goes to the next one."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.scroll = 0
        self._room = PAGE
        self._width = 80

    def rows(self, width: int) -> list[Row]:
        """All rows."""
        raise NotImplementedError

    def head(self, width: int) -> list[Row]:
        """Rows that do not scroll."""
        return []

    def draw(self, width: int, height: int) -> list[Row]:
        """The head and the rows that the scroll position shows."""
        head = self.head(width)
        self._room, self._width = max(1, height - len(head)), width
        rows = self.rows(width)
        self.scroll = min(max(0, self.scroll), max(0, len(rows) - self._room))
        body = rows[self.scroll : self.scroll + self._room]
        if self.query:
            body = [self._marked(line) for line in body]
        body += [BLANK] * (self._room - len(body))
        return [pad(line, width) for line in (*head, *body)]

    def _matches(self, line: Row) -> bool:
        return self.query.lower() in plain([line]).lower()

    def _marked(self, line: Row) -> Row:
        return tuple(Span(s.text, "alert") for s in line) if self._matches(line) else line

    def move(self, delta: int) -> None:
        """Scroll."""
        self.scroll = max(0, self.scroll + delta)

    def page(self, delta: int) -> None:
        """Scroll by what fits on the screen."""
        self.move(max(1, self._room - 1) * delta)

    def search(self, query: str) -> None:
        """Mark the rows that have the text, and go to the first from here on."""
        self.query = query
        if query:
            self._seek(self.scroll, 1)

    def next_match(self, step: int) -> None:
        """Go to the next row that has it."""
        if self.query:
            self._seek(self.scroll + step, step)

    def _seek(self, begin: int, step: int) -> None:
        rows = self.rows(self._width)
        order = range(begin, len(rows)) if step > 0 else range(min(begin, len(rows) - 1), -1, -1)
        found = next((n for n in order if self._matches(rows[n])), None)
        if found is None:
            self.desk.services.tell(f"no further row has {self.query!r}")
        else:
            self.scroll = found
