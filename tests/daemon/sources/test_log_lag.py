"""A log that is written faster than it is read: how far behind, what is left out, and that it ends well."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.daemon.sources import far_worker
from middlewatch.daemon.sources.log_follow import REACH_BYTES
from middlewatch.daemon.sources.log_lag import (
    CATCH_UP_S,
    GROWTH_S,
    LAST_BYTES,
    LAST_S,
    PATIENCE_S,
    Lag,
)
from middlewatch.daemon.sources.log_tail import REPORTS_AT_ONCE, LogTail
from middlewatch.sentinels.kit import LogEvent, Step

from .test_log_tail import Lines

MIB = 1 << 20
WHOLE = re.compile(r"step \d+ x{90}")


# ------------------------------------------------------------------------ the figures


def test_level() -> None:
    lag = Lag()
    lag.note(100, 0, 1.0)
    assert (lag.bytes, lag.seconds(9.0), lag.hopeless(900.0)) == (0, None, False)


def test_how_old_the_oldest_unread_byte_is() -> None:
    lag = Lag()
    for second in range(60):  # ten bytes come in a second, five are read
        lag.note(5, 5 * (second + 1), 100.0 + second)
    # 300 are read: byte 301 came with the ten of the thirty-first second.
    assert (lag.bytes, lag.seconds(159.0)) == (300, 29.0)
    lag.note(299, 1, 160.0)
    assert lag.seconds(160.0) == 1.0
    lag.note(1, 0, 161.0)
    assert lag.seconds(161.0) is None


def test_what_a_truncation_took_is_not_behind() -> None:
    lag = Lag()
    lag.note(5, 1000, 100.0)
    lag.note(5, 3000, 110.0)
    lag.note(5, 20, 120.0)
    assert (lag.bytes, lag.seconds(121.0)) == (20, 1.0)


def test_a_clock_that_was_set_back() -> None:
    lag = Lag()
    lag.note(5, 1000, 100.0)
    lag.note(5, 1000, 40.0)
    assert lag.seconds(41.0) == 1.0


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60), st.floats(0.1, 3.0)), max_size=80)
)
def test_the_age_is_that_of_the_byte(steps: list[tuple[int, int, float]]) -> None:
    """By its definition: the first look at which the log had the oldest unread byte. Looks less than a
    second apart count as one, so that it may seem a second older."""
    lag, now, end, read = Lag(), 1000.0, 0, 0
    ends: list[tuple[float, int]] = []
    for grown, wanted, pause in steps:
        now, end = now + pause, end + grown
        taken = min(wanted, end - read)
        read += taken
        ends.append((now, end))
        lag.note(taken, end - read, now)
        first = next((at for at, there in ends if there > read), None)
        seen = lag.seconds(now)
        if first is None:
            assert seen is None
        else:
            assert seen is not None
            assert now - first - 1e-6 <= seen <= now - first + 1.0


def hours(growth: float, pace: float, before: int, seconds: int) -> Lag:
    """So many seconds of a log that grows and is read by so many bytes a second."""
    lag, unread = Lag(), before
    for second in range(seconds):
        unread += int(growth) - int(pace)
        lag.note(int(pace), unread, float(second))
    return lag


@pytest.mark.parametrize(
    ("growth", "pace", "before", "hopeless"),
    [
        (200 * MIB, 2 * MIB, 0, True),
        (2 * MIB, 2 * MIB, 900 * MIB, True),  # it would be late for ever
        (0, 2 * MIB, 500 * MIB, False),  # the night of a daemon: level in four minutes
        (MIB, 2 * MIB, 500 * MIB, True),  # in eight
        (0, 2 * MIB, 5000 * MIB, True),
        (100_000, 90_000, 20 * MIB, False),  # little is unread
    ],
)
def test_whether_it_will_be_level_soon(
    growth: float, pace: float, before: int, hopeless: bool
) -> None:
    at = PATIENCE_S + GROWTH_S
    assert hours(growth, pace, before, int(at) + 1).hopeless(at) is hopeless
    assert not hours(growth, pace, before, int(PATIENCE_S) - 1).hopeless(PATIENCE_S - 2)


def test_a_day_behind_takes_no_more_memory() -> None:
    lag = Lag()
    for second in range(5000):
        lag.note(1, 9 * (second + 1), float(second))
    assert len(lag._marks) <= 600
    # 5,000 are read, which came in the first 500 seconds.
    assert 4500.0 <= (lag.seconds(4999.0) or 0.0) <= 4516.0


def test_what_is_left_of_a_burst_is_read() -> None:
    lag, unread = Lag(), 0
    for second in range(60):
        grown = 60 * MIB if second < 28 else 0
        unread = max(0, unread + grown - 10 * MIB)
        lag.note(10 * MIB, unread, float(second))
        assert not lag.hopeless(float(second)) or second < 28 + GROWTH_S
    assert lag.bytes < 10 * MIB * CATCH_UP_S


# ------------------------------------------------------------------------ a real file


class Flood:
    """A log on disk that is written in large blocks, its tail, and a clock that is moved."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path, self.now, self.step = path, 1000.0, 1
        self.reader = Lines()
        path.write_text(f"step 0 {'x' * 90}\n")
        self.tail = LogTail(str(path), self.reader, None, **options)
        self.read()

    def write(self, size: int) -> None:
        """Numbered lines of this many bytes in all."""
        with self.path.open("ab") as file:
            for _ in range(size // MIB):
                lines = [f"step {self.step + n} {'x' * 90}\n" for n in range(MIB // 101)]
                self.step += len(lines)
                file.write("".join(lines).encode())

    def read(self, seconds: float = 1.0) -> None:
        self.now += seconds
        list(self.tail.read(self.now))

    def level(self) -> None:
        while self.tail.more:
            self.read(0.01)

    def steps(self) -> list[int]:
        """Numbers of the lines that were read whole."""
        return [int(line.split()[1]) for line in self.reader.got if WHOLE.fullmatch(line)]


@pytest.fixture
def flood(tmp_path: Path) -> Iterator[Flood]:
    made = Flood(tmp_path / "train.log")
    yield made
    made.tail.close()


def test_a_log_that_grows_faster_than_it_is_read(flood: Flood) -> None:
    for _ in range(int(PATIENCE_S)):
        flood.write(2 * MIB)
        flood.read()
        if flood.tail.left_out_bytes:
            break
        assert flood.tail.lag.bytes == os.stat(flood.path).st_size - flood.tail.state()["offset"]
        assert flood.tail.impaired == ""
    # A quarter of a megabyte is read in each second, so that what is read is ever older.
    assert flood.tail.lag.bytes > 50 * MIB
    assert PATIENCE_S - 5.0 <= (flood.tail.lag.seconds(flood.now) or 0.0) <= PATIENCE_S
    for _ in range(6):
        flood.write(2 * MIB)
        flood.read()
    left_out = flood.tail.left_out_bytes
    assert left_out > 30 * MIB
    assert flood.tail.impaired.startswith("it grows faster than it can be read: ")
    flood.level()
    steps = flood.steps()
    assert sum(b != a + 1 for a, b in itertools.pairwise(steps)) == 1, "one part was left out"
    assert flood.steps()[-1] == flood.step - 1, "it is there at the end"
    assert flood.steps() == sorted(set(flood.steps())), "nothing twice"
    cut = [line for line in flood.reader.got if not WHOLE.fullmatch(line)]
    assert [bool(re.fullmatch(r"step \d* ?x{0,90}", line)) for line in cut] in ([], [True])
    assert len(flood.reader.got) * 101 + left_out > os.stat(flood.path).st_size - MIB
    assert (flood.tail.lag.bytes, flood.tail.impaired) == (0, "")
    assert flood.tail.left_out_bytes == left_out, "what was left out stays known"
    again = LogTail(
        str(flood.path), Lines(), None, offset=json.loads(json.dumps(flood.tail.state()))
    )
    assert again.left_out_bytes == left_out
    again.close()


def test_a_burst_is_read_to_its_end(flood: Flood) -> None:
    flood.write(10 * MIB)
    flood.read()
    assert flood.tail.lag.bytes > 9 * MIB
    flood.level()
    assert flood.steps() == list(range(flood.step))
    assert flood.tail.left_out_bytes == 0


def test_rotated_files_are_counted_and_left_out_as_a_whole(flood: Flood) -> None:
    sizes = []
    for _ in range(3):
        flood.write(15 * MIB)
        flood.read()
        for number in (2, 1):
            old = flood.path.with_name(f"train.log.{number}")
            if old.exists():
                old.rename(flood.path.with_name(f"train.log.{number + 1}"))
        flood.path.rename(flood.path.with_name("train.log.1"))
        sizes.append(flood.path.with_name("train.log.1").stat().st_size)
        flood.path.touch()
    flood.write(5 * MIB)
    flood.read()
    there = sum(sizes) + flood.path.stat().st_size
    assert flood.tail.lag.bytes == there - flood.tail.state()["offset"]
    for _ in range(int(PATIENCE_S) + 1):
        flood.write(MIB)
        flood.read()
    assert flood.tail.left_out_bytes > 30 * MIB
    flood.level()
    assert flood.steps()[-1] == flood.step - 1
    assert flood.tail.state()["inode"] == flood.path.stat().st_ino


def test_the_last_words_of_a_run_that_flooded_its_log(tmp_path: Path) -> None:
    ended: list[float] = []
    flood = Flood(tmp_path / "train.log", ended_at=lambda: ended[0] if ended else None)
    flood.write(20 * MIB)
    with flood.path.open("a") as file:
        file.write("the last line\n")
    flood.read()
    ended.append(flood.now)
    flood.read(LAST_S / 2)
    assert flood.tail.left_out_bytes == 0
    flood.read(LAST_S / 2)
    assert flood.tail.left_out_bytes > 15 * MIB
    for _ in range(2 + LAST_BYTES // (256 << 10)):
        flood.read(0.1)
    assert flood.reader.got[-1] == "the last line"
    flood.tail.close()


def test_reports_are_taken_some_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "".join(f"step {n}/90000 loss {2 + n % 97 / 1000:.4f}\n" for n in range(20_000))
    )
    tail = LogTail(str(path), LiveReader(str(path)), None)
    most, steps = 0, 0
    while not steps or tail.more:
        seen = list(tail.read(1000.0))
        most, steps = max(most, len(seen)), steps + sum(isinstance(one, Step) for one in seen)
    assert steps == 20_000
    assert REPORTS_AT_ONCE <= most <= 3 * REPORTS_AT_ONCE
    tail.close()


def test_a_trouble_behind_what_was_left_out_is_told(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("step 1/900 loss 2.0\n")
    tail = LogTail(str(path), LiveReader(str(path)), None)
    list(tail.read(1000.0))
    with path.open("a") as file:
        for n in range(40):
            file.write("".join(f"noise of number {n} {m}\n" for m in range(60_000)))
        file.write("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    seen: list[Any] = []
    for second in (
        1.0,
        2.0,
        PATIENCE_S + 3.0,
    ):  # it is asked thrice, on a box that does not get to it
        seen += tail.read(1000.0 + second)
    while tail.more:
        seen += tail.read(1100.0)
    assert tail.left_out_bytes
    assert [one.trouble for one in seen if isinstance(one, LogEvent)] == ["cuda_oom"]
    tail.close()


# ------------------------------------------------------------------------ far


def test_the_child_of_a_far_log_leaves_out_as_well(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("step 0\n")
    begin = {"path": str(path), "via": None, "place": None, "from_start": True, "open_line": False}
    question: dict[str, Any] = {"do": "tail", "now": 1000.0, "beat": True, "begin": begin}

    def ask(**more: Any) -> dict[str, Any]:
        message = {"forget": [], "questions": {"1:x": {**question, **more}}}
        return far_worker.answers_to(message)["1:x"]

    assert ask()["unread"] == 0
    del question["begin"]
    with path.open("a") as file:
        file.write(("step 1 " + "x" * 92 + "\n") * (3 * REACH_BYTES // 100))
    answer = ask()
    size = path.stat().st_size
    assert answer["unread"] == size - answer["place"]["offset"] > 2 * REACH_BYTES
    assert answer["left_out"] == 0
    answer = ask(only_last=REACH_BYTES)
    assert answer["left_out"] > REACH_BYTES
    assert size - answer["place"]["offset"] == answer["unread"] < REACH_BYTES
    far_worker.answers_to({"forget": ["1:x"], "questions": {}})
