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
from middlewatch.tui.app import WatchApp
from middlewatch.tui.notes import ReplyReceived
from middlewatch.tui.palette import commands
from middlewatch.tui.poll import Poller, Reply, ask
from middlewatch.tui.screens import Confirm, ViewScreen
from middlewatch.tui.themes import LOOKS

from .overview_answer import checkpoints, overview, run, troubled

PATIENCE_S = 120.0


class Daemon:
    """Answers, or does not, as the test says."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.asked = 0
        self.others: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, op: str = "overview", **args: Any) -> Any:
        if op != "overview":
            self.others.append((op, args))
            return {"checkpoints": checkpoints(), "incidents": []}.get(op, {"until": "soon"})
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
        shown = self.app.screen
        assert isinstance(shown, ViewScreen)
        return plain(shown.lines.rows)

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


def test_every_view_has_its_key() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        for key, word in (
            *(("2", "train_loss"), ("3", "[GPUs] 2"), ("4", "RESUME"), ("5", "[Incidents] 2 open")),
            *(("6", "[Log]"), ("7", "[Disks]"), ("8", "Sources of the box"), ("1", "w: open it")),
            *(("i", "[Incidents] 2 open"), ("l", "[Log]"), ("question_mark", "Keys of every view")),
        ):
            await screen.press(key)
            await screen.shows(word)
        await screen.press("escape", "escape")
        await screen.shows("w: open it")
        await screen.press("0")  # one box has no list of boxes
        await screen.shows("w: open it")

    on_screen(troubled(), check)


def test_keys_of_the_overview() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        await screen.press("j")
        assert "> vit" in screen.text
        await screen.press("up")
        assert "> gpt" in screen.text
        await screen.press("right_square_bracket")
        assert "> vit" in screen.text
        await screen.press("left_square_bracket", "tab")
        assert "[Incidents]" in screen.text
        await screen.press("down", "enter")
        await screen.shows("[Incident stall]")
        await screen.press("escape")
        await screen.shows("> warning  stall")  # what was selected is selected still
        await screen.press("k", "enter")
        await screen.shows("First step (safe)")
        await screen.press("escape", "w")
        await screen.shows("[Incident nan_loss]")
        await screen.press("n")
        await screen.shows("[Incident stall]")
        await screen.press("escape", "tab", "enter")
        await screen.shows("[Log]")
        await screen.press("escape", "shift+tab", "shift+tab", "ctrl+l", "enter")
        await screen.shows("train_loss  now nan")

    on_screen(troubled(), check)


def test_the_state_of_a_view_is_kept() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        await screen.press("2", "o", "s", "plus", "left")
        await screen.shows("log, smooth 0.6, zoom 2", "step 4,180: nan")
        await screen.press("3", "j", "1", "3")
        await screen.shows("> gpu1")
        await screen.press("2")
        await screen.shows("log, smooth 0.6, zoom 2", "step 4,180: nan")
        await screen.press("z", "c")
        await screen.shows("step/s  now 1.25")

    on_screen(troubled(), check)


def test_acknowledging_and_silencing_need_a_yes() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        await screen.press("5", "a")
        assert isinstance(screen.app.screen, Confirm)
        await screen.press("n")
        await screen.shows("[Incidents] 2 open")
        assert screen.daemon.others == []
        await screen.press("a", "y")
        while not screen.daemon.others:
            await screen.pilot.pause(0.01)
        assert screen.daemon.others == [("ack", {"id": "a1b2"})]
        await screen.press("s")
        await screen.press("backspace", "backspace", "3", "0", "m", "enter")
        assert isinstance(screen.app.screen, Confirm)
        await screen.press("y")
        while len(screen.daemon.others) < 2:
            await screen.pilot.pause(0.01)
        silenced = {"run": "gpt-ab12", "class": "nan_loss", "for_s": 1800.0}
        assert screen.daemon.others[1] == ("silence", silenced)

    on_screen(troubled(), check)


def test_searching_leaves_the_rows_that_match() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        await screen.press("5", "slash", "s", "t", "a", "l", "l")
        assert "nan_loss" not in screen.text
        assert "no step for 12 min" in screen.text
        await screen.press("enter", "q")  # a key again, and no letter of the search
        assert screen.app.return_code == 0

    on_screen(troubled(), check)


def test_searching_at_home_selects_the_run() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt", "  vit")
        await screen.press("slash", "v", "i", "t", "enter")
        assert "> vit" in screen.text
        assert "gpt   " not in screen.text
        await screen.press("escape")
        await screen.shows("> vit", "  gpt")

    on_screen(troubled(), check)


def test_evidence_is_found_in_the_log() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        await screen.press("w", "o")
        # It stands at the bottom, above the last row of the screen.
        await screen.shows(
            "search step 4200", "! step 4200/5000 | train_loss nan | lr 3.0e-04\n 1 home"
        )

    on_screen(troubled(), check)


def test_escape_ends_a_search_before_it_leaves_the_view() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        await screen.press("5", "slash", "x", "x", "enter")
        await screen.shows("nothing has 'xx' in it")
        await screen.press("escape")
        await screen.shows("nan_loss", "[Incidents]")
        await screen.press("slash", "y", "escape")
        await screen.shows("nan_loss", "[Incidents]")

    on_screen(troubled(), check)


def test_the_palette_goes_anywhere() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        await screen.press("colon")
        await screen.pilot.pause()
        assert type(screen.app.screen).__name__ == "CommandPalette"
        await screen.press(*"go to disks")
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while not isinstance(screen.app.screen, ViewScreen):
            assert asyncio.get_running_loop().time() < deadline
            await screen.pilot.pause(0.2)
            await screen.press("enter")
        await screen.shows("[Disks]")

    on_screen(troubled(), check)


def test_everything_in_the_palette_can_be_done() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        offered = [one for one in commands(screen.app) if one.text != "quit"]
        assert {"go to home", "run vit-cd34", "incident a1b2 nan_loss", "theme light"} <= {
            one.text for one in offered
        }
        for one in offered:
            one.act()
            await screen.pilot.pause()
            assert screen.app.return_code is None

    on_screen(troubled(), check)


def test_the_mouse() -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("> gpt")
        rows = screen.text.split("\n")
        vit = next(y for y, line in enumerate(rows) if line.startswith("  vit"))
        await screen.pilot.click(offset=(4, vit))
        await screen.shows("> vit")
        await screen.pilot.click(offset=(4, vit))
        await screen.shows("no step for 12 min", "train_loss")
        await screen.pilot.click(offset=(rows[-1].index("7 disks"), len(rows) - 1))
        await screen.shows("[Disks]")
        await screen.pilot.click(offset=(rows[-1].index("1 home"), len(rows) - 1))
        await screen.pilot.click(offset=(10, 1))
        await screen.shows("[Incident nan_loss]")

    on_screen(troubled(), check)


@pytest.mark.parametrize("look", list(LOOKS))
def test_themes(look: str) -> None:
    async def check(screen: Screen) -> None:
        await screen.shows("CRITICAL", "failing")
        for _ in LOOKS:
            await screen.press("t")
            if screen.app.look.name == look:
                break
        shown = screen.app.screen
        assert isinstance(shown, ViewScreen)
        styles = {s.style for y in range(24) for s in shown.lines.render_line(y)}
        assert styles <= set(LOOKS[look].styles.values())
        assert "CRITICAL" in screen.text

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
        await screen.press("j", "enter", "i", "l", "2", "3", "4", "7", "8", "escape")
        screen.daemon.found = overview()
        await screen.shows("> gpt")

    on_screen(DaemonUnreachable("nobody answers", "middlewatch start"), check)


def test_a_daemon_that_hangs_is_told_by_its_age_and_does_not_hold_the_person() -> None:
    hangs, let_go = threading.Event(), threading.Event()

    class Stuck(Daemon):
        def __call__(self, op: str = "overview", **args: Any) -> Any:
            if self.asked:
                hangs.set()
                let_go.wait()
            return super().__call__(op, **args)

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
        await screen.press(
            "w", "2", "o", "plus", "m", "3", "o", "4", "v", "5", "f", "a", "s", "7", "8"
        )
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
        for width, height in ((60, 20), (200, 60), (45, 20), (39, 20), (30, 5), (80, 24)):
            await screen.pilot.resize_terminal(width, height)
            word = "larger" if width < 40 else "CRITICAL"
            await screen.shows(word, lines=height)

    on_screen(troubled(), check)


def test_colour_is_never_the_only_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def check(screen: Screen) -> None:
        await screen.shows("CRITICAL", "failing", "! step")
        shown = screen.app.screen
        assert isinstance(shown, ViewScreen)
        strips = [shown.lines.render_line(y) for y in range(24)]
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
