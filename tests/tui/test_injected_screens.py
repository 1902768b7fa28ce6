"""What others wrote, on the screens: text in its cells, and nothing that Textual or a terminal obeys."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from rich.segment import Segment

from middlewatch.tui.app import WatchApp
from middlewatch.tui.notes import ReplyReceived
from middlewatch.tui.poll import Reply
from middlewatch.tui.screens import ViewScreen

from ..fakes.injections import injections, obeyed
from .overview_answer import checkpoints, troubled

OURS = {"state", "severity", "run", "id", "metric", "kind", "level"}
"""Fields whose values are words of the daemon."""
SIZE = (100, 30)


def poisoned(value: Any, text: str, key: str = "") -> Any:
    """An answer in which every text that others have a hand in is this one."""
    if isinstance(value, dict):
        return {name: poisoned(each, text, name) for name, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, text, key) for each in value]
    theirs = isinstance(value, str) and key not in OURS and not key.endswith(("_at", "since"))
    return text if theirs else value


def answered(op: str, **args: Any) -> Any:
    """A daemon all of whose words are those of the first injection that is no plain text."""
    one = next(one for one in injections() if one.name == "rich-style")
    return troubled() if op == "overview" else poisoned(checkpoints(), one.text)


def drawn(app: WatchApp) -> list[list[Segment]]:
    """What the widget gives to Textual, row by row."""
    assert isinstance(app.screen, ViewScreen)
    lines = app.screen.lines
    return [list(lines.render_line(y)) for y in range(lines.size.height)]


@pytest.mark.parametrize(
    "keys", [(), *((key,) for key in "234568i"), ("w",), ("7",), ("question_mark",)]
)
def test_screens_show_it_as_text(keys: tuple[str, ...]) -> None:
    async def play() -> None:
        app = WatchApp(answered, period_s=3600.0)
        async with app.run_test(size=SIZE) as pilot:
            while not app.link.answer:
                await pilot.pause(0.01)
            await pilot.press(*keys)
            for one in injections():
                app.post_message(ReplyReceived(Reply(poisoned(troubled(), one.text))))
                await pilot.pause()
                rows = drawn(app)
                shown = ["".join(segment.text for segment in row) for row in rows]
                assert obeyed("".join(shown)) == [], one.name
                assert {sum(s.cell_length for s in row) for row in rows} == {SIZE[0]}, one.name
                for segment in (segment for row in rows for segment in row):
                    assert segment.control is None
                    assert segment.style is None or not (segment.style.link or segment.style.meta)
                    assert segment.style is None or segment.style in app.look.styles.values()
                assert app.return_code is None  # nothing has pressed a key of ours
            if keys != ("question_mark",):
                plain = next(one for one in injections() if one.name == "rich-style")
                app.post_message(ReplyReceived(Reply(poisoned(troubled(), plain.text))))
                await pilot.pause()
                assert "[bold red on white]" in "".join(s.text for row in drawn(app) for s in row)

    asyncio.run(play())
