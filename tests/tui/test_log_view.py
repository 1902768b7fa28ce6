"""A log of any size: what is read of it, followed, scrolled, searched, filtered; and never whole."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.tui import filtering, logfile
from middlewatch.tui.logfile import LogFile, Stopped, Tail

from .hands import Hands
from .overview_answer import GUILTY, incident, overview, run


def on(_reached: int) -> bool:
    return False


def lines_of(window: logfile.Window) -> list[bytes]:
    return [line.data for line in window.lines]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a log of a test has many of them."""
    monkeypatch.setattr(logfile, "BLOCK", 64)
    monkeypatch.setattr(logfile, "SEARCH_BLOCK", 96)
    monkeypatch.setattr(logfile, "LONGEST", 40)


TEXTS = st.lists(st.text(st.sampled_from("ab错 "), max_size=12), max_size=30)


@given(TEXTS, st.booleans(), st.integers(1, 12))
def test_the_end_of_any_log(texts: list[str], whole: bool, count: int) -> None:
    data = "\n".join(texts).encode() + (b"\n" if whole else b"")
    expected = data.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    tail = Tail("x", [])
    tail._data = data
    assert lines_of(tail.window(None, 0, count)) == expected[-count:]
    # And back from the start.
    first = tail.window(0, -1, count)
    assert lines_of(first) == expected[:count]
    assert lines_of(tail.window(first.end, 10**6, count)) == expected[-count:]


@given(TEXTS, st.sampled_from(["a", "ab", "错", "b "]), st.booleans())
def test_any_line_is_found(texts: list[str], needle: str, back: bool) -> None:
    tail = Tail("x", texts)
    wanted = [text for text in texts if needle in text]
    found = tail.find(needle.encode(), tail.size() if back else 0, back, on)
    if not wanted:
        assert found is None
    else:
        assert found is not None
        assert found.data == wanted[-1 if back else 0].encode()


@given(TEXTS, st.sampled_from(["a", "^a", "b$", "a.b", "错"]))
def test_a_filter_has_every_line_that_matches_once(texts: list[str], pattern: str) -> None:
    tail = Tail("x", texts)
    compiled = re.compile(pattern.encode(), re.MULTILINE)
    part = tail.matching(compiled, 0, tail.size(), on)
    assert (part.begin, part.end) == (0, tail.size())
    shown = [line.data for line in tail.lines_at(part.places)]
    assert shown == [text.encode() for text in texts if compiled.search(text.encode())]


def test_a_line_without_an_end_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_bytes(b"short\n" + b"x" * 500)
    window = LogFile(str(path)).window(None, 0, 5)
    assert {len(line.data) for line in window.lines} == {40}
    assert sum(len(line.data) for line in LogFile(str(path)).window(0, -1, 99).lines) == 505


def test_a_search_can_be_given_up() -> None:
    tail = Tail("x", ["nothing"] * 100)
    with pytest.raises(Stopped):
        tail.find(b"absent", 0, False, lambda _reached: True)
    with pytest.raises(Stopped):
        tail.matching(re.compile(b"absent"), 0, tail.size(), lambda _reached: True)


def test_only_the_end_of_a_large_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    path = tmp_path / "large.log"
    with path.open("wb") as file:
        file.truncate(5 << 30)  # 5 GiB that take no room on the disk
        file.seek(0, 2)
        file.write(b"\nstep 1\nstep 2\n")
    read: list[int] = []

    class Counting(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            found = super().read(-1 if size is None else size)
            read.append(len(found or b""))
            return found or b""

    class Counted(LogFile):
        def open(self) -> BinaryIO:
            return cast(BinaryIO, Counting(self.path))

    log = Counted(str(path))
    assert lines_of(log.window(None, 0, 2)) == [b"step 1", b"step 2"]
    log.window(1 << 30, -40, 40)
    assert max(read) <= 1 << 20
    assert sum(read) < 32 << 20


# ------------------------------------------------------------------------ the view


def hands_on(path: Path, **changes: Any) -> Hands:
    one = run(**changes)
    one["logs"][0].update(path=str(path))
    return Hands(overview(one), local=True)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.undo()
    path = tmp_path / "train.log"
    path.write_text("".join(f"step {n} loss {9 - n / 100:.2f}\n" for n in range(400)))
    return path


def test_it_follows_and_goes_back(log: Path) -> None:
    hands = hands_on(log)
    assert "step 399" in hands.draw("log")
    assert "following" in hands.draw("log")
    with log.open("a") as file:
        file.write("step 400 loss 1.00\n")
    assert "step 400" in hands.draw("log")
    view = hands.views["log"]
    view.page(-1)
    screen = hands.draw("log")
    assert "step 400" not in screen
    assert "step 380" in screen
    assert "%" in screen
    with log.open("a") as file:
        file.write("step 401 loss 1.00\n")
    assert hands.draw("log").split("\n")[2:] == screen.split("\n")[2:]  # it stays where it is
    view.jump(False)
    assert "step 0 " in hands.draw("log").split("\n")[2]
    view.move(1)
    assert "step 1 " in hands.draw("log").split("\n")[2]
    view.jump(True)
    assert "step 401" in hands.draw("log")


def test_search_goes_up_from_the_end(log: Path) -> None:
    hands = hands_on(log)
    hands.draw("log")
    view = hands.views["log"]
    view.search("STEP 12")
    assert any("no further line" in words for words in hands.told)  # capitals mean capitals
    view.search("step 12")
    assert hands.draw("log").rstrip().split("\n")[-2].strip() == "step 129 loss 7.71"
    view.next_match(1)
    assert hands.draw("log").rstrip().split("\n")[-2].strip() == "step 128 loss 7.72"
    view.next_match(-1)
    assert hands.draw("log").rstrip().split("\n")[-2].strip() == "step 129 loss 7.71"
    hands.press("log", "f")
    assert "step 399" in hands.draw("log")


def test_a_regular_expression_leaves_its_lines(log: Path) -> None:
    hands = hands_on(log)
    hands.draw("log")
    hands.typed = r"step \d*7 "
    hands.press("log", "ampersand")
    screen = hands.draw("log")
    assert "step 397" in screen
    assert "step 398" not in screen
    assert "40 lines with" in screen
    with log.open("a") as file:
        file.write("step 407 loss 1.00\nstep 408 loss 1.00\n")
    assert "step 407" in hands.draw("log")
    assert "step 408" not in hands.draw("log")
    hands.views["log"].page(-1)
    assert "step 407" not in hands.draw("log")
    hands.typed = "("
    hands.press("log", "ampersand")
    assert any("no regular expression" in words for words in hands.told)
    hands.views["log"].filter("")  # type: ignore[attr-defined]
    assert "step 408" in hands.draw("log")


def test_a_filter_shows_the_newest_first_and_goes_on_to_the_start(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filtering, "SLICE", 500)
    hands = hands_on(log)
    hands.draw("log")
    hands.typed = r"step \d*7 "
    later: list[Callable[[], None]] = []
    now = hands.aside

    def aside(name: str, job: Callable[[], Any], done: Callable[[Any], None]) -> None:
        if name == "filter":
            later.append(lambda: now(name, job, done))
        else:
            now(name, job, done)

    monkeypatch.setattr(hands, "aside", aside)
    hands.press("log", "ampersand")
    later.pop(0)()
    screen = hands.draw("log")
    assert "step 397" in screen
    assert "step 277" not in screen
    assert "% to go" in screen
    with log.open("a") as file:
        file.write("step 407 loss 1.00\nstep 417 half")
    while later:
        later.pop(0)()
    screen = hands.draw("log")
    assert "41 lines with" in screen  # each once, and none that has no end yet
    assert "% to go" not in screen
    hands.views["log"].jump(False)
    assert "step 7 " in hands.draw("log").split("\n")[2]


def test_guilty_lines_are_marked_and_secrets_masked(log: Path) -> None:
    with log.open("a") as file:
        file.write(f"{GUILTY}\ntoken hunter2\n错误 \x1b[2J\x1b]0;owned\x07 end\n")
    screen = hands_on(log, incidents=[incident()]).draw("log")
    assert f"! {GUILTY}" in screen
    assert "token ***" in screen
    assert "错误  end" in screen
    assert "\x1b" not in screen


def test_the_evidence_of_an_incident_is_found_in_its_log(log: Path) -> None:
    proof = {"kind": "log", "text": f"{log}:124: step 123 loss 7.77", "at": None}
    hands = hands_on(log, incidents=[incident(evidence=[proof])])
    hands.draw("log")
    hands.desk.incident = "a1b2"
    hands.press("incident", "o")
    assert hands.opened == ["log"]
    assert hands.draw("log").rstrip().split("\n")[-2] == "! step 123 loss 7.77"


def test_long_lines_are_wrapped_or_moved_sideways(log: Path) -> None:
    log.write_text("x" * 100 + "the end\n")
    hands = hands_on(log)
    assert "the end" in hands.draw("log")
    hands.press("log", "w")
    assert "the end" not in hands.draw("log")
    for _ in range(5):
        hands.press("log", "right")
    assert "the end" in hands.draw("log")


def test_a_log_that_cannot_be_read_here_shows_what_the_daemon_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    hands = hands_on(tmp_path / "absent.log")
    screen = hands.draw("log", 120)
    assert "step 4200/5000" in screen
    assert "cannot be read here (No such file or directory)" in screen
    hands.views["log"].search("step 4160")
    assert "step 4160/5000" in hands.draw("log")
    away = Hands(overview(), local=False)
    assert "the log is on the box" in away.draw("log", 120)


def test_the_next_log_of_a_run(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_text("another one\n")
    one = run()
    one["logs"] = [{**one["logs"][0], "path": str(path)} for path in (log, other)]
    hands = Hands(overview(one), local=True)
    assert "step 399" in hands.draw("log")
    hands.press("log", "p")
    assert "another one" in hands.draw("log")
    log.unlink()
    hands.press("log", "p")
    assert "cannot be read here" in hands.draw("log", 120)
