"""Ranks and rotated parts by file name, times of lines, and the order of several logs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.daemon.parsers.timestamps import Ordered, kind_of, moment, stamps
from middlewatch.daemon.replay.interleave import InterleavedText
from middlewatch.daemon.replay.rank_files import group_by_rank, rank_of


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank0.log", 0),
        ("log_rank_3.txt", 3),
        ("train.rank12.log.gz", 12),
        ("out/0/stdout.log", 0),
        ("logs/none_abc/attempt_0/3/stderr.log", 3),
        ("worker-2.out", 2),
        ("job/1/rank.5/stdout", 5),
        ("gpu3.log", 3),
        ("rank1.log.2", 1),
        ("train.log", None),
        ("slurm-123_4.out", None),
        ("franks2.log", None),
        ("run_4/train2.log", None),
        ("app.log.1", None),
    ],
)
def test_ranks_by_name(name: str, rank: int | None) -> None:
    assert rank_of(name) == rank


def streams(*names: str) -> list[tuple[tuple[str, ...], int | None]]:
    return [(lane.parts, lane.rank) for lane in group_by_rank(names)]


def test_numbers_that_count_from_0_are_ranks() -> None:
    assert streams("out_1.log", "out_0.log", "out_2.log") == [
        (("out_0.log",), 0),
        (("out_1.log",), 1),
        (("out_2.log",), 2),
    ]
    assert [rank for _, rank in streams("out.0", "out.1")] == [0, 1]
    assert [rank for _, rank in streams("slurm-7-0.out", "slurm-7-1.out")] == [0, 1]


@pytest.mark.parametrize(
    "names",
    [
        ("slurm-7_0.out", "slurm-7_1.out"),  # tasks of an array
        ("run0.log", "run1.log"),
        ("part0.log", "part1.log"),
        ("out_1.log", "out_2.log"),  # nobody counts ranks from 1
        ("out_0.log", "out_0_1.log"),
    ],
)
def test_other_numbers_are_no_ranks(names: tuple[str, ...]) -> None:
    assert [rank for _, rank in streams(*names)] == [None, None]


@pytest.mark.parametrize(
    "parts",
    [
        ("app.log.2.gz", "app.log.1", "app.log"),
        ("app.log.10", "app.log.9", "app.log.1"),
        ("app.log-20240101.gz", "app.log-20240102.gz", "app.log"),
        ("app.log.2024-01-01_23", "app.log.2024-01-02_00", "app.log"),
        ("app-2024-01-01.log", "app-2024-01-02.log"),
    ],
)
def test_parts_of_a_rotated_log_are_one_stream_oldest_first(parts: tuple[str, ...]) -> None:
    assert streams(*parts) == [(parts, None)]
    assert streams(*parts[::-1]) == [(parts, None)]


def test_rotated_ranks_and_attempts() -> None:
    assert streams("rank1.log", "rank0.log", "rank0.log.1") == [
        (("rank0.log.1", "rank0.log"), 0),
        (("rank1.log",), 1),
    ]
    found = group_by_rank(
        ["attempt_1/0/stderr.log", "attempt_0/1/stderr.log", "attempt_0/0/stderr.log"]
    )
    assert [(lane.attempt, lane.rank) for lane in found] == [(0, 0), (0, 1), (1, 0)]
    assert [lane.order for lane in group_by_rank(["node1.log", "node0.log"])] == [0, 1]


@given(st.lists(st.text("rank_log.-/0123 é\x00", max_size=20) | st.text(max_size=8), max_size=6))
def test_any_names_are_kept_each_once(names: list[str]) -> None:
    parts = [part for lane in group_by_rank(names) for part in lane.parts]
    assert sorted(parts) == sorted(set(names))


# ------------------------------------------------------------------------ times


@pytest.mark.parametrize(
    ("line", "kind", "at"),
    [
        ("2024-02-29 23:04:05,250 - INFO - x", "date", "2024-02-29 23:04:05.250000"),
        ("[rank3]: [INFO|trainer.py:12] 2024/02/29 23:04:05 >> x", "date", "2024-02-29 23:04:05"),
        ("2024-02-29T23:04:05.250Z x", "date", "2024-02-29 23:04:05.250000"),
        ("02/29/2024 23:04:05 - INFO - x", "american", "2024-02-29 23:04:05"),
        ("29/02/2024 23:04:05 INFO x", "european", "2024-02-29 23:04:05"),
        ("29.02.2024 23:04:05 x", "european", "2024-02-29 23:04:05"),
        ("I0229 23:04:05.250000 77 a.cc:1] x", "yearless", "2000-02-29 23:04:05.250000"),
        ("[02/29 23:04:05 d2.engine]: x", "yearless", "2000-02-29 23:04:05"),
        ("20240229-23:04:05 x", "compact", "2024-02-29 23:04:05"),
        ("[23:04:05] x", "clock", "2000-01-01 23:04:05"),
        (" 10%|#   | 1/10 [00:12<03:04,  1.2it/s]", None, ""),
        ("step 4 took 1:02:03", None, ""),
    ],
)
def test_times_that_lines_begin_with(line: str, kind: str | None, at: str) -> None:
    data = (line + "\n").encode() * 3
    assert kind_of(data) == kind
    if kind is not None:
        found = list(stamps(data, kind))
        assert [stamp.start for stamp in found] == [0, len(line) + 1, 2 * len(line) + 2]
        assert str(moment(found[0].digits, kind)) == at


def test_midnight_and_clocks_that_go_back() -> None:
    order = Ordered("clock")
    assert [order.advance(s) for s in (b"235958", b"235958", b"000001", b"000000")] == [
        True,
        False,
        True,
        False,
    ]


@given(st.binary(max_size=300))
def test_any_bytes_have_times_or_none(data: bytes) -> None:
    kind = kind_of(data * 3)
    if kind is not None:
        assert all(moment(stamp.digits, kind) for stamp in stamps(data, kind))


# ------------------------------------------------------------------------ side by side


class Text:
    """A stream in memory, in pieces of ``size``."""

    def __init__(self, text: str, attempt: int = 0, size: int = 1 << 20) -> None:
        self.attempt = attempt
        self._data = text.encode()
        self._size = size

    def chunks(self) -> Iterator[bytes]:
        for place in range(0, len(self._data), self._size):
            yield self._data[place : place + self._size]


def merged(*texts: Text) -> tuple[str, bool]:
    """The order of all lines, and whether it is exact."""
    both = InterleavedText(texts, lambda sample: b"step" in sample)
    ended = []
    out = b""
    for number, chunk in both.chunks():
        out += chunk
        if not chunk:
            ended.append(number)
        assert number not in ended[:-1]
    assert sorted(ended) == list(range(len(texts)))
    return out.decode(), both.exact


@settings(max_examples=25)
@given(st.integers(1, 400))
def test_logs_with_times_are_merged_by_them(size: int) -> None:
    zero = "".join(f"2024-01-01 00:00:{s:02} zero {s}\n  more of it\n" for s in range(0, 60, 2))
    one = "".join(f"2024-01-01 00:00:{s:02} one {s}\n" for s in range(1, 60, 2))
    text, exact = merged(Text(zero, size=1 << size % 21), Text(one, size=max(60, size)))
    assert exact
    lines = [line for line in text.splitlines() if line.startswith("2024")]
    assert len(lines) == 60
    assert all(a < b for a, b in pairwise(lines))
    assert text.count("zero 4\n  more of it\n") == 1


def test_logs_without_times_come_one_by_one_metrics_first() -> None:
    text, exact = merged(Text("Traceback\n"), Text("step 1\nstep 2\n"))
    assert (text, exact) == ("step 1\nstep 2\nTraceback\n", False)
    text, _ = merged(Text("step 3\n", attempt=1), Text("Traceback\n", attempt=0))
    assert text == "Traceback\nstep 3\n"


def test_one_log_is_passed_on() -> None:
    assert merged(Text("a\nb\n", size=1)) == ("a\nb\n", True)
    assert merged(Text("")) == ("", True)
