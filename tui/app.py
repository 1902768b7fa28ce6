"""`middlewatch tui`: the Textual app. It only asks the daemon; quitting it never affects a run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from middlewatch.daemon.client import Client
from middlewatch.daemon.system.errors import UsageError
from middlewatch.daemon.text.rows import Row

from . import details, state
from .lines import Lines
from .poll import Poller, Reply
from .state import SECTIONS, Focus, Link, ScreenState, View

PERIOD_S = 1.0
"""Seconds between two questions; most sources of the daemon are read once a second."""

LATE_S = 3.0
"""Age of the last answer in seconds from which the header shows it: two answers are missing."""


class ReplyReceived(Message):
    """Message to the app: the poller has a reply."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class WatchApp(App[None]):
    """The screens. ``fetch`` asks the daemon: it blocks, and returns an ``overview`` answer.

    ``fetch`` is called in a separate thread, never twice at a time. ``monotonic`` returns seconds
    that never run backwards; by default it is the clock of the event loop.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { overflow: hidden hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,ctrl+q", "quit", priority=True),
        Binding("question_mark", "view('help')"),
        Binding("i", "view('incidents')"),
        Binding("l", "view('log')"),
        Binding("escape", "leave_view"),
        Binding("enter", "enter"),
        Binding("tab", "focus_section(1)", priority=True),
        Binding("shift+tab", "focus_section(-1)", priority=True),
        *(Binding(str(n), f"focus_on('{name}')") for n, name in enumerate(SECTIONS, 1)),
        Binding("up,k", "move(-1)"),
        Binding("down,j", "move(1)"),
        Binding("pageup", "move(-10)"),
        Binding("pagedown", "move(10)"),
        Binding("home,g", "move(-1000000)"),
        Binding("end,G", "move(1000000)"),
        Binding("ctrl+l", "repaint"),
    ]

    def __init__(
        self,
        fetch: Callable[[], Any],
        *,
        period_s: float = PERIOD_S,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(ansi_color=True)
        self.look = ScreenState()
        self._fetch = fetch
        self._period_s = period_s
        self._monotonic = monotonic
        self._poller: Poller | None = None
        self._last = Reply(None)
        self._failed = Reply(None)
        self._answered_at = 0.0

    def compose(self) -> ComposeResult:
        """The only widget, as large as the terminal."""
        yield Lines(self._draw)

    def on_mount(self) -> None:
        """Start the poller."""
        if self._monotonic is None:
            self._monotonic = asyncio.get_running_loop().time
        self._answered_at = self._monotonic()
        self._poller = Poller(self._fetch, self._tell, self._period_s)
        self._poller.start()
        self.set_interval(1.0, self._grow_old)

    def on_unmount(self) -> None:
        """Stop the poller."""
        if self._poller is not None:
            self._poller.stop()

    @property
    def link(self) -> Link:
        """The last answer with its age, and why there is no newer one."""
        age = self._monotonic() - self._answered_at if self._monotonic else 0.0
        silent = bool(self._failed.reason) or age >= LATE_S
        return Link(self._last.answer, age, silent, self._failed.reason, self._failed.hint)

    def on_reply_received(self, message: ReplyReceived) -> None:
        """Show a new answer, or that the daemon gave none."""
        reply = message.reply
        if reply.answer is None:
            self._failed = reply
        else:
            self._last, self._failed = reply, Reply(None)
            self._answered_at = self._monotonic() if self._monotonic else 0.0
        self._update()

    def action_move(self, delta: int) -> None:
        """Move the selection, or scroll, by ``delta`` rows."""
        state.move(self.look, self._last.answer or {}, delta)
        self._update()

    def action_view(self, view: View) -> None:
        """Open a screen."""
        state.open_view(self.look, view)
        self._update()

    def action_leave_view(self) -> None:
        """Esc: go back to the screen before."""
        state.go_back(self.look)
        self._update()

    def action_enter(self) -> None:
        """Enter: open the selected incident, or the log."""
        state.enter(self.look, self._last.answer or {})
        self._update()

    def action_focus_section(self, step: int) -> None:
        """Tab: give the arrow keys to the next section (or the one before)."""
        place = SECTIONS.index(self.look.focus) + step
        self.action_focus_on(SECTIONS[place % len(SECTIONS)])

    def action_focus_on(self, section: Focus) -> None:
        """Give the arrow keys to a section of the overview."""
        if self.look.view == "overview":
            state.focus(self.look, section)
            self._update()

    def action_repaint(self) -> None:
        """Ctrl+L: draw everything again, for when another program wrote on the terminal."""
        self.screen.refresh(layout=True)

    def _tell(self, reply: Reply) -> None:
        self.post_message(ReplyReceived(reply))

    def _grow_old(self) -> None:
        """Called once a second: without an answer, update the age in the header."""
        if self.link.silent:
            self._update()

    def _update(self) -> None:
        # An answer may still arrive while the app closes: there is nothing left to draw on then.
        for lines in self.query(Lines):
            lines.update()

    def _draw(self, width: int, height: int) -> Sequence[Row]:
        return details.draw(self.link, self.look, width, height)


def main(socket_path: str) -> int:
    """Show the screens on the daemon at ``socket_path`` until the person quits.

    Returns the exit status. Raises UsageError without a terminal. A daemon that does not answer is
    no error: the screen says so and goes on asking.
    """
    # Textual reads from standard input and writes to standard error.
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "the screens need a terminal",
            "`middlewatch status` prints the same without one; over SSH: ssh -t BOX middlewatch tui",
        )
    terminal = sys.__stderr__
    if terminal is not None:
        # A terminal without UTF-8 gets a question mark for a character, not a crash.
        terminal.reconfigure(errors="replace")
    client = Client(socket_path)
    app = WatchApp(lambda: client.ask("overview"))
    app.run(mouse=False)
    return app.return_code or 0
