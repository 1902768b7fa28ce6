"""Textual's side of a view: a screen that holds its rows and a line to type into, and the question whether
to go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Key, ScreenResume
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Input, Static

from middlewatch.daemon.text.rows import Row
from middlewatch.daemon.text.terminal import clean

from .lines import Lines
from .themes import Look
from .view import View


class ViewScreen(Screen[None]):
    """A view on the terminal. ``pressed`` is given every key, and says whether it meant something."""

    CSS = """
    ViewScreen { overflow: hidden hidden; layers: base above; }
    ViewScreen #typing { dock: bottom; layer: above; height: 1; display: none; }
    ViewScreen #typing.open { display: block; }
    ViewScreen #label { width: auto; height: 1; text-style: bold; }
    ViewScreen Input { border: none; height: 1; padding: 0 1; width: 1fr; }
    """
    AUTO_FOCUS = ""

    def __init__(
        self,
        view: View,
        draw: Callable[[int, int], Sequence[Row]],
        pressed: Callable[[str], bool],
        click: Callable[[int, int], None],
    ) -> None:
        super().__init__()
        self.view = view
        self.lines = Lines(draw, click, self._wheel)
        self._pressed = pressed
        self._typed: Callable[[Any], None] | None = None
        self._live = False
        self._before = ""

    def compose(self) -> ComposeResult:
        """The rows, and above the last one the line to type into."""
        yield self.lines
        with Horizontal(id="typing"):
            yield Static("", id="label", markup=False)
            yield Input(id="line", select_on_focus=False)

    def on_mount(self) -> None:
        """A cursor that blinks would send bytes for nothing."""
        self.query_one(Input).cursor_blink = False

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Shown again: draw what is true now."""
        self.lines.update()

    def dress(self, look: Look, ascii: bool) -> None:  # noqa: A002
        """Take a theme."""
        self.lines.dress(look, ascii)

    # -------------------------------------------------------------------- typing

    @property
    def typing(self) -> bool:
        """A line is being typed."""
        return self._typed is not None

    def prompt(self, label: str, value: str, typed: Callable[[Any], None], live: bool) -> None:
        """Open the line; ``typed`` gets what was typed at Enter, with ``live`` at every change."""
        self._typed, self._live, self._before = typed, live, value
        self.query_one("#label", Static).update(f" {clean(label)}")
        self.query_one("#typing").add_class("open")
        line = self.query_one(Input)
        with line.prevent(Input.Changed):
            line.value = value
        line.cursor_position = len(value)
        line.focus()

    def _close(self) -> Callable[[Any], None] | None:
        typed, self._typed = self._typed, None
        self.query_one("#typing").remove_class("open")
        self.set_focus(None)
        return typed

    def on_input_changed(self, event: Input.Changed) -> None:
        """Hand on a change."""
        if self._typed is not None and self._live:
            self._typed(event.value)
            self.lines.update()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: hand on the line."""
        live, typed = self._live, self._close()
        if typed is not None and not live:
            typed(event.value)
        self.lines.update()

    # -------------------------------------------------------------------- keys and the mouse

    def on_key(self, event: Key) -> None:
        """Every key that no widget took."""
        if self.typing:
            if event.key == "escape":
                event.stop()
                live, typed = self._live, self._close()
                if typed is not None and live:
                    typed("")
                self.lines.update()
            return
        if self._pressed(event.key):
            event.stop()
            event.prevent_default()

    def _wheel(self, delta: int) -> None:
        self.view.move(3 * delta)
        self.lines.update()


class Confirm(ModalScreen[bool]):
    """A question with yes and no; nothing but ``y`` and a click on Yes is a yes."""

    CSS = """
    Confirm { align: center middle; background: transparent; }
    Confirm #box { width: 60; max-width: 96%; height: auto; border: round $primary; padding: 0 1; background: $surface; }
    Confirm #question { height: auto; }
    Confirm Horizontal { height: auto; align: center middle; }
    Confirm Button { margin: 1 1 0 1; }
    """
    AUTO_FOCUS = ""
    BUTTONS: ClassVar[tuple[tuple[str, str], ...]] = (("yes", "Yes (y)"), ("no", "No (n)"))

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = clean(question)

    def compose(self) -> ComposeResult:
        """The question and two buttons."""
        with Vertical(id="box"):
            yield Static(self._question, id="question", markup=False)
            with Horizontal():
                for name, label in self.BUTTONS:
                    yield Button(label, id=name)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A click."""
        self.dismiss(event.button.id == "yes")

    def on_key(self, event: Key) -> None:
        """``y``, or anything that leaves."""
        event.stop()
        if event.key == "y":
            self.dismiss(True)
        elif event.key in ("n", "q", "escape", "enter"):
            self.dismiss(False)
