"""The app under a pilot: keys, a daemon that goes and comes back, windows of every size."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from middlewatch.daemon.system.errors import DaemonUnreachable, UsageError
from middlewatch.daemon.text.rows import plain
from middlewatch.tui import app as screens
from middlewatch.tui.app import ReplyReceived, WatchApp
from middlewatch.tui.lines import Lines
from middlewatch.tui.poll import Poller, Reply, ask

from .overview_answer import overview, run, troubled

PATIENCE_S = 120.0


class Daemon:
    """Answers, or does not, as the test says."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.asked = 0

    def __call__(self) -> Any:
        self.asked += 1
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Screen:
    """The app in the hands of a test."""

    def __init__(self, app: WatchApp, pilot: Pilot[None], daemon: Daemon) -> None:
        self.app, self.pilot, self.daemon = app, pilot, daemon
        self.mono = 0.0

    @property
    def text(self) -> str:
        return plain(self.app.query_one(Lines).rows)

    async def shows(self, *words: str, lines: int | None = None) -> None:
        """Wait until all words are on the screen, and it has so many lines."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while not all(word in self.text for word in words) or (
            lines is not None and len(self.text.split("\n")) != lines
        ):
            assert asyncio.get_running_loop().time() < deadline, f"{words} not in:\n{self.text}"
            await self.pilot.pause(0.01)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


def on_screen(
    found: Any, check: Callable[[Screen], Awaitable[None]], size: tuple[int, int] = (80, 24)
) -> None:
    daemon = found if isinstance(found, Daemon) else Daemon(found)

    async def play() -> None:
        app = WatchApp(daemon, period_s=0.1, monotonic=lambda: screen.mono if screen else 0.0)
        screen: Screen | None = None
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot, daemon)
            await check(screen)

    asyncio.run(play())


def test_the_overview_comes_up_by_itself() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("box3", "failing", "CRITICAL nan_loss", "gpu1", "memory", "! step 4200")

    on_screen(troubled(), check)


def test_keys() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        await screen.press("j")
        assert "> vit" in screen.text
        await screen.press("up")
        assert "> gpt" in screen.text
        await screen.press("tab")
        assert "[Incidents]" in screen.text
        await screen.press("down", "enter")
        assert "[Incident stall]" in screen.text
        await screen.press("escape", "1", "enter")
        assert "[Incident stall]" in screen.text
        await screen.press("escape", "2", "k", "enter")
        assert "First step (safe)" in screen.text
        await screen.press("escape", "i")
        assert "2 open, Enter opens" in screen.text
        await screen.press("l")
        assert "[Log]" in screen.text
        await screen.press("g")
        assert "rows below" in screen.text
        await screen.press("G")
        assert "rows below" not in screen.text
        await screen.press("escape", "3")
        assert "[Log]" in screen.text
        await screen.press("shift+tab", "question_mark")
        assert "quit; the runs and the daemon continue" in screen.text
        await screen.press("escape", "ctrl+l")
        assert "[Incidents]" in screen.text

    on_screen(troubled(), check)


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_leaving_only_leaves(key: str) -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("box3")
        await screen.press("i", key)
        assert screen.app.return_code == 0

    on_screen(overview(), check)


def test_a_daemon_that_goes_and_comes_back() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("4,200/5,000")
        screen.daemon.found = DaemonUnreachable("nobody answers", "middlewatch start")
        await screen.shows("nobody answers")  # no older answer is on its way any more
        screen.mono += 12.0
        await screen.shows("no answer for 12 s", "nobody answers", "4,200/5,000")
        back = run()
        back["now"]["step"] = 4321
        screen.daemon.found = overview(back)
        await screen.shows("4,321/5,000")
        assert "no answer" not in screen.text

    on_screen(overview(), check)


def test_no_daemon_at_all_and_then_one() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("no answer yet", "nobody answers", "middlewatch start")
        await screen.press("j", "enter", "i", "l", "escape")
        screen.daemon.found = overview()
        await screen.shows("> gpt")

    on_screen(DaemonUnreachable("nobody answers", "middlewatch start"), check)


def test_a_daemon_that_hangs_is_told_by_its_age_and_does_not_hold_the_person() -> None:
    hangs, let_go = threading.Event(), threading.Event()

    class Stuck(Daemon):
        def __call__(self) -> Any:
            if self.asked:
                hangs.set()
                let_go.wait()
            return super().__call__()

    async def check(screen: Screen) -> None:
        await screen.shows("box3")
        assert hangs.wait(PATIENCE_S)
        screen.mono = 40.0
        await screen.shows("no answer for 40 s")
        await screen.press("q")
        assert screen.app.return_code == 0

    try:
        on_screen(Stuck(overview()), check)
    finally:
        let_go.set()


@pytest.mark.parametrize("odd", [{}, [], None, "text", {"runs": "no"}, ValueError("\x1b[2Jbad")])
def test_odd_answers_are_survived(odd: Any) -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("q quit")
        while not screen.daemon.asked:
            await screen.pilot.pause(0.01)
        await screen.press("enter", "j", "l", "escape", "i", "enter", "escape")
        assert "\x1b" not in screen.text

    on_screen(odd, check)


def test_an_answer_after_the_screen_was_closed() -> None:
    daemon = Daemon(troubled())

    async def play() -> None:
        app = WatchApp(daemon)
        async with app.run_test():
            pass
        app.on_reply_received(ReplyReceived(Reply(troubled())))

    asyncio.run(play())


def test_windows_of_every_size() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("box3")
        for width, height in ((60, 20), (200, 60), (59, 20), (60, 16), (30, 5), (80, 24)):
            await screen.pilot.resize_terminal(width, height)
            word = "larger" if width < 60 else "CRITICAL"
            await screen.shows(word, lines=height)

    on_screen(troubled(), check)


def test_colour_is_never_the_only_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def check(screen: Screen) -> None:
        await screen.shows("CRITICAL", "failing", "! step")
        strips = [screen.app.query_one(Lines).render_line(y) for y in range(24)]
        assert all(strip.cell_length == 80 for strip in strips)
        assert "\x1b[31" not in screen.app.export_screenshot()

    on_screen(troubled(), check)


def test_questions_are_never_asked_two_at_a_time() -> None:
    asking, most, enough = 0, 0, threading.Event()
    told: list[object] = []

    def fetch() -> dict[str, Any]:
        nonlocal asking, most
        asking += 1
        most = max(most, asking)
        asking -= 1
        return {}

    def tell(reply: object) -> None:
        told.append(reply)
        if len(told) == 5:
            enough.set()

    poller = Poller(fetch, tell, 0.001)
    poller.start()
    assert enough.wait(PATIENCE_S)
    poller.stop()
    assert most == 1


def test_every_failure_becomes_a_reply() -> None:
    assert ask(Daemon(DaemonUnreachable("gone", "start it"))).hint == "start it"
    assert ask(Daemon(ValueError("x"))).reason == "ValueError: x"
    assert ask(Daemon([1])).reason == "the answer cannot be read"
    assert ask(Daemon({"a": 1})).answer == {"a": 1}


def test_without_a_terminal_it_says_what_else_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        screens.main("/nowhere.sock")
    assert "middlewatch status" in caught.value.hint
