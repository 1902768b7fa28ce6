"""Medians, the pace of a run, and numbers for people."""

from __future__ import annotations

import math
import statistics
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit.numbers import median, number, pace, quantile, size, span

finite = st.floats(-1e9, 1e9)


@given(st.lists(finite, min_size=1))
def test_the_median_is_that_of_the_library(values: list[float]) -> None:
    assert median(values) == pytest.approx(statistics.median(values))


@given(st.lists(finite, min_size=1), st.floats(0, 1))
def test_a_quantile_lies_between_its_neighbours(values: list[float], q: float) -> None:
    found = quantile(iter(values), q)
    below = sum(v < found for v in values)
    assert min(values) <= found + 1e-6
    assert found - 1e-6 <= max(values)
    assert below <= math.ceil(q * (len(values) - 1))


def test_no_values_have_no_median() -> None:
    assert math.isnan(median([]))


def marks(*intervals: float, by: float = 1.0) -> deque[tuple[float, float]]:
    found = deque([(1000.0, 0.0)])
    for interval in intervals:
        found.append((found[-1][0] + interval, found[-1][1] + by))
    return found


@pytest.mark.parametrize("intervals", [(), (1.0,)])
def test_two_intervals_are_the_least(intervals: tuple[float, ...]) -> None:
    assert pace(marks(*intervals)) is None
    assert pace(()) is None


def test_a_steady_pace() -> None:
    found = pace(marks(*[2.0] * 100, by=10))
    assert found is not None
    assert (found.marks, found.typical_s, found.slow_s, found.pause_s) == (100, 2.0, 2.0, 0.0)
    assert found.gap_s == pytest.approx(2.0)
    assert found.limit_s(60) == 60
    assert found.limit_s(1) == 6


def test_a_pause_counts_once_it_came_back() -> None:
    once = pace(marks(*[1.0] * 50, 200.0, *[1.0] * 50))
    twice = pace(marks(*[1.0] * 50, 200.0, *[1.0] * 50, 180.0, 1.0))
    assert once is not None
    assert twice is not None
    assert (once.pause_s, twice.pause_s) == (0.0, 180.0)
    assert once.limit_s(60) == 60
    assert twice.limit_s(60) == 270


def test_pauses_are_no_part_of_the_steady_pace() -> None:
    found = pace(marks(*[*[2.0] * 10, 9.0, 500.0] * 9))
    assert found is not None
    assert found.slow_s == 500
    assert found.steady_limit_s(1) == 6
    known = pace(marks(*[*[2.0] * 10, 9.0, 500.0] * 9), usual_s=3.0)
    assert known is not None
    assert known.steady_limit_s(1) == 18


def test_a_block_of_a_buffer_is_no_pause() -> None:
    found = pace(marks(*[*[0.0] * 100, 900.0] * 5, 1000.0))
    assert found is not None
    assert found.steady_limit_s(60) == pytest.approx(1.5 * 900)


def test_slow_steps_count_twice() -> None:
    found = pace(marks(*[10.0] * 85, *[35.0] * 6, *[10.0] * 9))
    assert found is not None
    assert found.limit_s(1) == 70


def test_a_log_that_turns_to_every_five_hundredth_step() -> None:
    before = marks(*[0.5] * 40)
    last_at, last = before[-1]
    found = pace([*before, (last_at + 250, last + 500)])
    assert found is not None
    assert found.gap_s == pytest.approx(250)
    assert found.limit_s(60) == pytest.approx(750)


def test_a_counter_that_goes_backwards_or_stands() -> None:
    found = pace([(0, 100), (1, 50), (2, 50), (3, 20)])
    assert found is not None
    assert found.gap_s == 0


@given(st.lists(st.tuples(finite, finite), max_size=40))
def test_any_marks_have_a_limit(steps: list[tuple[float, float]]) -> None:
    found = pace(deque(steps))
    assert found is None or not found.limit_s(60) < 60


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (99.4, "99 s"),
        (100, "2 min"),
        (5900, "98 min"),
        (6000, "1 h 40 min"),
        (7199, "2 h"),
        (86_400 * 2, "2 d 0 h"),
        (86_400 * 3.5, "3 d 12 h"),
    ],
)
def test_spans(seconds: float, words: str) -> None:
    assert span(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (-2048, "-2.0 KiB"),
        (14 << 30, "14.0 GiB"),
        (3 << 50, "3072.0 TiB"),
    ],
)
def test_sizes(count: int, words: str) -> None:
    assert size(count) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (40.0, "40"),
        (12_345_678.0, "12345678"),
        (0.000123456, "0.0001235"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (1e20, "1e+20"),
    ],
)
def test_numbers(value: float, words: str) -> None:
    assert number(value) == words
