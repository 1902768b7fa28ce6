"""`middlewatch tui`: the Textual app. It only asks the daemon; quitting it never affects a run."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from rich.markup import escape
from textual.app import App
from textual.binding import Binding, BindingType

from middlewatch.daemon.client import Client
from middlewatch.daemon.system.errors import UsageError
from middlewatch.daemon.text.rows import Row
from middlewatch.daemon.text.terminal import clean

from . import answer, frame, order
from .aside import Aside, Done
from .connection import Ask, Connection
from .desk import Desk, Link
from .notes import JobDone, ReplyReceived
from .palette import WatchCommands
from .poll import Reply
from .screens import Confirm, ViewScreen
from .themes import LOOKS, wants_ascii
from .trimmed import TrimmedApp
from .view import Key, View
from .views.every import all_views

PERIOD_S = 1.0
"""Seconds between two questions; most sources of the daemon are read once a second."""
GATHER_S = 0.1
"""Answers of several boxes that come within this time are drawn together."""
AS_TEXT: dict[str, Any] = (
    {"markup": False} if "markup" in inspect.signature(App.notify).parameters else {}
)
"""How a notification is told to take no markup; Textual before 2.0 always takes it."""
TABS = ("overview", "run", "gpus", "checkpoints", "incidents", "log", "disks", "coverage")
"""Views with a digit, in order."""


TITLES = (
    *("the worst thing, runs, box, incidents, log", "one run and its curve", "GPUs", "checkpoints"),
    *("incidents", "log", "memory, disks and inodes", "what is watched, what is blind"),
)


class WatchApp(TrimmedApp):
    """The screens. ``boxes``: what asks each daemon, by name of the box (one alone is this machine); it
    blocks, and is called in threads, for the overview never twice at a time. ``monotonic`` returns
    seconds that never run backwards; by default it is the clock of the event loop. ``mask`` takes
    secrets out of a line of a log."""

    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    COMMANDS: ClassVar[set[Any]] = {WatchCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True)
    ]

    def __init__(
        self,
        boxes: Ask | Mapping[str, Ask],
        *,
        period_s: float = PERIOD_S,
        monotonic: Callable[[], float] | None = None,
        mask: Callable[[str], str] = str,
        look: str = "",
        ascii: bool = False,  # noqa: A002
    ) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"  # every frame of an animation is bytes on the line
        asked = boxes if isinstance(boxes, Mapping) else {"": boxes}
        self._mask = mask
        self._monotonic = monotonic
        self._ascii = ascii
        self.look = LOOKS[look or ("mono" if self.no_color else "terminal")]
        self.desk = Desk(self, dict.fromkeys(asked, Link()), next(iter(asked)))
        self.desk.local = "" in asked
        self._connections = {
            name: Connection(name, ask, self._tell_reply, period_s) for name, ask in asked.items()
        }
        self._asides: dict[str, Aside] = {}
        self._due = False
        self.common = self._common_keys()
        self.views = all_views(self.desk, self.common, self._before_help)
        self.tabs = [(str(n), name, self.views[name].title) for n, name in enumerate(TABS, 1)]
        if len(asked) > 1:
            self.tabs.insert(0, ("0", "fleet", self.views["fleet"].title))
        self._path = ["fleet" if len(asked) > 1 else "overview"]
        """The views that Esc goes back through; the last is shown."""

    def _common_keys(self) -> list[Key]:
        tabs = [
            Key(str(n), TITLES[n - 1], partial(self.open, name)) for n, name in enumerate(TABS, 1)
        ]
        return [
            *tabs,
            Key("0", "all boxes", partial(self.open, "fleet")),
            Key("i", "incidents", partial(self.open, "incidents")),
            Key("l", "log", partial(self.open, "log")),
            Key("j down", "down", lambda: self.view.move(1)),
            Key("k up", "up", lambda: self.view.move(-1)),
            Key("ctrl+d pagedown space", "a page down", lambda: self.view.page(1)),
            Key("ctrl+u pageup b", "a page up", lambda: self.view.page(-1)),
            Key("g home", "the first", lambda: self.view.jump(False)),
            Key("G end", "the last", lambda: self.view.jump(True)),
            Key("enter", "open what is selected", lambda: self.view.enter()),
            Key("escape backspace", "end the search; back to the view before", self.back),
            Key("slash", "search in this view", self.search),
            Key("n", "the next match", lambda: self.view.next_match(1)),
            Key("N", "the match before", lambda: self.view.next_match(-1)),
            Key("right_square_bracket", "the next run", lambda: self._step_run(1)),
            Key("left_square_bracket", "the run before", lambda: self._step_run(-1)),
            Key("colon", "do something by its name", self.action_command_palette),
            Key("question_mark", "the keys of this view", partial(self.open, "help")),
            Key("t", "the next theme", self._next_look),
            Key("ctrl+l", "draw everything again", lambda: self._repaint()),
            Key("q", "quit; the runs and the daemon continue", self.exit),
        ]

    # -------------------------------------------------------------------- start and end

    def on_mount(self) -> None:
        """Show the first view, and begin to ask."""
        if self._monotonic is None:
            self._monotonic = asyncio.get_running_loop().time
        for name, view in self.views.items():
            screen = ViewScreen(
                view, partial(self._draw, view), self._pressed, partial(self._clicked, view)
            )
            self.install_screen(screen, name)
        self.wear(self.look.name)
        self.push_screen(self._path[-1])
        for connection in self._connections.values():
            connection.start(self._now())
        self.set_interval(1.0, self._grow_old)

    def on_unmount(self) -> None:
        """Ask no more."""
        for connection in self._connections.values():
            connection.stop()
        for aside in self._asides.values():
            aside.stop()

    def _now(self) -> float:
        return self._monotonic() if self._monotonic else 0.0

    # -------------------------------------------------------------------- what is shown

    @property
    def view(self) -> View:
        """The present view."""
        return self.views[self._path[-1]]

    @property
    def link(self) -> Link:
        """The connection to the selected box."""
        return self.desk.link

    def _before_help(self) -> View:
        names = [name for name in self._path if name != "help"]
        return self.views[names[-1] if names else "overview"]

    def _draw(self, view: View, width: int, height: int) -> list[Row]:
        views = [(key, title) for key, _, title in self.tabs]
        return frame.draw(self.desk.link, view, views, width, height, self.desk.box)

    def changed(self) -> None:
        """Draw again what differs."""
        # An answer may still arrive while the app closes: there is nothing left to draw on then.
        if self.is_running and self.screen_stack and isinstance(self.screen, ViewScreen):
            self.screen.lines.update()

    def _grow_old(self) -> None:
        """Called once a second: without an answer, update the age in the header."""
        for name, connection in self._connections.items():
            link = connection.link(self._now())
            if link.silent:
                self.desk.take(name, link)
        if any(link.silent for link in self.desk.links.values()) or self.view.busy():
            self.changed()

    def _repaint(self) -> None:
        self.screen.refresh(layout=True)

    # -------------------------------------------------------------------- answers and work

    def _tell_reply(self, box: str, reply: Reply) -> None:
        self.post_message(ReplyReceived(reply, box))

    def on_reply_received(self, message: ReplyReceived) -> None:
        """Show a new answer, or that the daemon gave none."""
        connection = self._connections[message.box]
        connection.take(message.reply, self._now())
        self.desk.take(message.box, connection.link(self._now()))
        if len(self._connections) == 1:
            self._show_news()
        elif not self._due:
            self._due = True
            self.set_timer(GATHER_S, self._show_news)

    def _show_news(self) -> None:
        self._due = False
        self.view.shown()
        self.changed()

    def on_job_done(self, message: JobDone) -> None:
        """Hand a result to who asked for it."""
        message.done(message.result)

    def aside(self, name: str, job: Callable[[], Any], done: Done) -> None:
        """See :class:`.desk.Services`."""
        self._aside(name, newest=True).submit(job, done)

    def ask(self, op: str, args: dict[str, Any], done: Done) -> None:
        """See :class:`.desk.Services`."""
        ask = self._connections[self.desk.box].ask
        self._aside(f"ask {self.desk.box}").submit(lambda: ask(op, **args), done)

    def _aside(self, name: str, newest: bool = False) -> Aside:
        if name not in self._asides:
            tell = lambda done, result: self.post_message(JobDone(done, result))  # noqa: E731
            self._asides[name] = Aside(name, tell, newest)
        return self._asides[name]

    def mask(self, text: str) -> str:
        """See :class:`.desk.Services`."""
        return self._mask(text)

    # -------------------------------------------------------------------- going about

    def open(self, view: str) -> None:
        """Go to a view, from which Esc leads back."""
        if view == "fleet" and len(self._connections) == 1:
            return
        before = self.view
        if view in self._path:
            del self._path[self._path.index(view) + 1 :]
        else:
            # Views with a digit stand beside each other: Esc leads to the first one, not through all.
            self._path = [*(self._path[:1] if view in TABS else self._path), view]
        self._go(before)

    def _go(self, before: View) -> None:
        if self.view is not before:
            before.left()
            self.view.shown()
            self.switch_screen(self.view.name)
        self.changed()

    def back(self) -> None:
        """Esc: end the search, else go back."""
        before = self.view
        if before.query:
            before.search("")
        elif len(self._path) > 1:
            self._path.pop()
        self._go(before)

    def open_run(self, run: str) -> None:
        """Select a run and show it."""
        self.desk.run = run
        self.open("run")

    def open_incident(self, incident: str) -> None:
        """Show an incident."""
        self.desk.incident = incident
        self.open("incident")

    def open_box(self, box: str) -> None:
        """Select a box and show it."""
        self.desk.choose_box(box)
        self.open("overview")

    def _step_run(self, step: int) -> None:
        ids = [answer.text(run, "run") for run in order.runs(self.desk.found)]
        if ids:
            now = answer.text(self.desk.chosen, "run")
            self.desk.run = ids[(ids.index(now) + step) % len(ids)]
            self.view.shown()

    def after(self, act: Callable[[], object]) -> Callable[[], None]:
        """``act``, and then what differs is drawn."""

        def do() -> None:
            act()
            self.changed()

        return do

    # -------------------------------------------------------------------- keys and the mouse

    def _pressed(self, key: str) -> bool:
        for one in (*self.view.own_keys(), *self.common):
            if key in one.keys.split():
                one.act()
                self.changed()
                return True
        return False

    def _clicked(self, view: View, x: int, y: int) -> None:
        height = self.size.height
        if y == height - 1:
            tabs = frame.footer([(key, title) for key, _, title in self.tabs], view.title, self.size.width)[1]  # fmt: skip
            key = next((tab.key for tab in tabs if tab.begin <= x < tab.end), "")
            self._pressed(key)
        elif y > 0:
            view.click(x, y - 1)
            self.changed()

    def search(self) -> None:
        """``/``: let the person type what to look for."""
        view = self.view
        if not view.searches:
            self.tell("nothing to search here; : finds views, runs and incidents")
            return
        self.prompt("/", view.query, view.search, live=view.live_search)

    def look_for(self, text: str) -> None:
        """See :class:`.desk.Services`."""
        self.view.search(text)

    def prompt(self, label: str, value: str, typed: Done, live: bool = False) -> None:
        """See :class:`.desk.Services`."""
        if isinstance(self.screen, ViewScreen):
            self.screen.prompt(label, value, typed, live)

    def confirm(self, question: str, yes: Callable[[], None]) -> None:
        """See :class:`.desk.Services`."""

        def answered(agreed: bool | None) -> None:
            if agreed:
                yes()
            self.changed()

        self.push_screen(Confirm(question), answered)

    def tell(self, words: str, bad: bool = False) -> None:
        """See :class:`.desk.Services`."""
        shown = clean(words) if AS_TEXT else escape(clean(words))
        self.notify(shown, severity="error" if bad else "information", **AS_TEXT)

    # -------------------------------------------------------------------- themes

    def wear(self, name: str) -> None:
        """Take a theme."""
        self.look = LOOKS[name]
        self.ansi_color = self.look.native
        self.theme = next(t for t in (*self.look.textual, self.theme) if t in self.available_themes)
        for view in self.views:
            screen = self.get_screen(view)
            if isinstance(screen, ViewScreen):
                screen.dress(self.look, self._ascii)

    def _next_look(self) -> None:
        names = list(LOOKS)
        self.wear(names[(names.index(self.look.name) + 1) % len(names)])
        self.tell(f"theme {self.look.name}: {self.look.says}")


def main(
    socket_path: str,
    boxes: Mapping[str, Ask] | None = None,
    *,
    mask: Callable[[str], str] = str,
    look: str = "",
    ascii: bool = False,  # noqa: A002
    mouse: bool = True,
) -> int:
    """Show the screens on the daemon at ``socket_path``, or on those that ``boxes`` ask, until the person
    quits.

    Returns the exit status. Raises UsageError without a terminal. A daemon that does not answer is
    no error: the screen says so and goes on asking.
    """
    # Textual reads from standard input and writes to standard error; under textual-serve both are pipes.
    in_browser = "TEXTUAL_DRIVER" in os.environ
    if not in_browser and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "the screens need a terminal",
            "`middlewatch status` prints the same without one; over SSH: ssh -t BOX middlewatch tui",
        )
    terminal = sys.__stderr__
    if not in_browser:
        # Of another terminal (`docker exec -e LINES`): a row too many moves the whole screen.
        os.environ.pop("COLUMNS", None)
        os.environ.pop("LINES", None)
    if terminal is not None:
        # A terminal without UTF-8 gets a question mark for a character, not a crash.
        terminal.reconfigure(errors="replace")
    client = Client(socket_path)
    app = WatchApp(boxes or client.ask, mask=mask, look=look, ascii=ascii or wants_ascii())
    app.run(mouse=mouse)
    return app.return_code or 0
