"""A line that our parser cannot take costs that line."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.daemon.system.isolation import FAILURES, FIRST_PAUSE_S, Isolation
from middlewatch.sentinels.kit import LogEvent, Step

POISON = "this line is poison"
TEXT = f"step 1/9 loss 0.5 lr 0.1\n{POISON}\nstep 2/9 loss 0.4 lr 0.1\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n"


@pytest.fixture
def choosy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser with a mistake."""
    judge = LogReader._judge

    def judged(self: LogReader, piece: bytes) -> Any:
        if b"poison" in piece:
            raise ZeroDivisionError("a mistake that was put here by a test")
        return judge(self, piece)

    monkeypatch.setattr(LogReader, "_judge", judged)


class Log:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.isolation = Isolation(self.told.append)
        self.reader = LiveReader("a.log")
        self.reader.isolated = self.isolation.one("parser", "a.log")

    @property
    def failures(self) -> int:
        part = self.isolation.get("parser", "a.log")
        return 0 if part is None else part.failures


@pytest.mark.usefixtures("choosy")
def test_the_lines_before_and_behind_are_read() -> None:
    log = Log()
    said = log.reader.feed(TEXT.encode(), 1.0)
    assert [one.number for one in said if isinstance(one, Step)] == [1, 2]
    assert [one.line for one in said if isinstance(one, LogEvent)] == [4]
    assert log.failures == 1
    assert "ZeroDivisionError" in log.told[0]


@pytest.mark.usefixtures("choosy")
def test_a_line_of_the_same_shape_is_not_tried_again() -> None:
    log = Log()
    for number in range(5):
        log.reader.feed(f"{number} {POISON}\n".encode(), float(number))
    assert log.failures == 1


@pytest.mark.usefixtures("choosy")
def test_a_parser_that_fails_again_and_again_is_left_out_and_the_lines_are_counted() -> None:
    log = Log()
    shapes = "".join(f"{'x' * (n + 1)} {POISON}\n" for n in range(FAILURES))
    log.reader.feed(shapes.encode(), 1.0)
    assert log.failures == FAILURES
    assert log.reader.feed(b"step 3/9 loss 0.3 lr 0.1\n", 2.0) == []
    said = log.reader.feed(b"step 4/9 loss 0.2 lr 0.1\n", 2.0 + FIRST_PAUSE_S)
    assert [(one.number, one.line) for one in said if isinstance(one, Step)] == [(4, FAILURES + 2)]
    assert log.isolation.broken() == []


@pytest.mark.usefixtures("choosy")
def test_without_a_watch_a_mistake_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        LogReader("a.log").feed(TEXT.encode(), 1.0)
