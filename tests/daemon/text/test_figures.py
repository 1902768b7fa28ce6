"""Numbers and times as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.text import figures


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (figures.metric(2.31), "2.3100"),
        (figures.metric(3e-4), "3.00e-04"),
        (figures.metric(1204.5), "1,204.5"),
        (figures.metric(math.nan), "nan"),
        (figures.metric(-math.inf), "-inf"),
        (figures.metric(0.0), "0"),
        (figures.count(4200.0), "4,200"),
        (figures.count(12_500_000.0), "12.5M"),
        (figures.count(1.5), "1.5"),
        (figures.amount(182_000.0), "182k"),
        (figures.amount(1.25), "1.25"),
        (figures.size(15_200_000_000.0), "14.2G"),
        (figures.size(1023.0), "1.0K"),
        (figures.size(0.0), "0B"),
        (figures.percent(0.004), "<1%"),
        (figures.percent(0.0), "0%"),
        (figures.percent(5.0, 0.0), "–"),
        (figures.percent(3.0, 4.0), "75%"),
        (figures.duration(12.9), "12 s"),
        (figures.duration(3 * 3600 + 12 * 60), "3 h 12 min"),
        (figures.duration(52 * 3600), "2 d 4 h"),
        (figures.duration(-5.0), "0 s"),
        (figures.roughly(37.0), "30 s"),
        (figures.ago(3.0), "just now"),
        (figures.ago(700.0), "11 min ago"),
        (figures.pace(0.8), "1.25 step/s"),
        (figures.pace(3.21), "3.21 s/step"),
        (figures.pace(0.0), "–"),
        (figures.spread([91.2, 97.8], "%"), "91-98%"),
        (figures.spread([], "%"), "–"),
    ],
)
def test_figures(shown: str, expected: str) -> None:
    assert shown == expected


def test_unknown_is_never_zero() -> None:
    ways = (figures.metric, figures.count, figures.amount, figures.size, figures.percent,
            figures.duration, figures.roughly, figures.ago, figures.pace)  # fmt: skip
    assert {way(None) for way in ways} == {figures.UNKNOWN}


@given(st.floats())
def test_no_number_raises_and_all_stay_short(value: float) -> None:
    assert len(figures.metric(value)) <= 10
    assert len(figures.count(value)) <= 12
    assert len(figures.amount(value)) <= 10
    assert len(figures.pace(value)) <= 20
    for way in (figures.size, figures.percent, figures.duration, figures.ago):
        assert way(value)
