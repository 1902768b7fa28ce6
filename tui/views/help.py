"""The keys: those of the view that one came from, those of every view, and what the marks mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from middlewatch.daemon.text.rows import BLANK, Row, Span, row, wrap

from ..desk import Desk
from ..view import Key, TextView, View

SIGNS = {
    "question_mark": "?", "colon": ":", "slash": "/", "ampersand": "&", "plus": "+", "minus": "-",
    "equals_sign": "=", "left_square_bracket": "[", "right_square_bracket": "]", "escape": "Esc",
    "enter": "Enter", "tab": "Tab", "shift+tab": "Shift+Tab", "pageup": "PgUp", "pagedown": "PgDn",
    "ctrl+l": "Ctrl+L", "ctrl+c": "Ctrl+C", "ctrl+d": "Ctrl+D", "ctrl+u": "Ctrl+U", "home": "Home",
    "end": "End", "shift+left": "Shift+Left", "shift+right": "Shift+Right", "exclamation_mark": "!",
}  # fmt: skip
"""Keys as people write them."""
MARKS = (
    ("!", "a log line that is evidence in an open incident"),
    ("▲", "below a curve: the step of an incident"),
    ("▶", "below a curve: where another attempt began"),
    ("×", "a value that was not finite; before a summary: so many equal incidents"),
    ("–", "not known (never zero)"),
    ("blind", "a source that cannot read anything now"),
    ("not here", "something this box does not have"),
)


class Help(TextView):
    """The keys of the view before, and of all."""

    name = "help"
    title = "help"
    needs_answer = False

    def __init__(self, desk: Desk, common: Sequence[Key], before: Callable[[], View]) -> None:
        super().__init__(desk)
        self._common = common
        self._before = before

    def rows(self, width: int) -> list[Row]:
        """A row a key."""
        view = self._before()
        rows = []
        if view.own_keys():
            rows += [
                row(Span(f" Keys of {view.title}", "title")),
                *_rows(view.own_keys(), width),
                BLANK,
            ]
        rows += [row(Span(" Keys of every view", "title")), *_rows(self._common, width)]
        rows += [BLANK, row(Span(" Marks", "title"))]
        for mark, means in MARKS:
            rows += _two(mark, means, width)
        rows += [BLANK, *(row(Span(f"  {line}", "dim")) for line in wrap("Quitting affects no run: the daemon goes on without this screen.", width - 4))]  # fmt: skip
        return rows


def written(keys: str) -> str:
    """Names of keys as people write them."""
    return " ".join(SIGNS.get(key, key) for key in keys.split())


def _rows(keys: Sequence[Key], width: int) -> list[Row]:
    return [line for key in keys for line in _two(written(key.keys), key.does, width)]


def _two(left: str, right: str, width: int) -> list[Row]:
    rows, begin = [], f"  {left:<18} "
    for line in wrap(right, width - len(begin) - 1):
        rows.append(row(Span(begin, "title"), line))
        begin = " " * len(begin)
    return rows
