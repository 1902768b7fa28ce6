"""At which steps a run pauses, told from a handful of pauses."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit.pace.timetable import PauseSlot, timetable


def places(*steps: float, seconds: float = 240.0, by: float = 1.0) -> list[PauseSlot]:
    return [PauseSlot(step, seconds, by) for step in steps]


@pytest.mark.parametrize(
    ("steps", "period"),
    [
        ((500, 1000, 1500), 500),
        ((500, 1000, 1001, 1500, 2000, 2001), 500),
        ((400, 800, 1000, 1200, 1600, 2000), 200),
        ((500, 1000, 1733, 2000, 2500), 500),
        ((2000, 4000, 6000, 2000, 4000), 2000),
        ((1150, 1150, 1150), math.inf),
    ],
    ids=["one kind", "and a save", "two kinds", "one stray", "went back", "counted anew"],
)
def test_the_period(steps: tuple[float, ...], period: float) -> None:
    found = timetable(places(*steps))
    assert found is not None
    assert found.period == period


@pytest.mark.parametrize(
    "steps",
    [(), (500,), (500, 1000), (500, 1000, 1733), (100, 101, 102, 103)],
    ids=["none", "one", "two", "irregular", "too close"],
)
def test_none(steps: tuple[float, ...]) -> None:
    assert timetable(places(*steps)) is None


@given(
    period=st.integers(60, 20_000),
    by=st.integers(1, 50),
    first=st.integers(0, 1000),
    count=st.integers(3, 8),
)
def test_a_pause_is_due_at_its_steps_however_often_they_are_reported(
    period: int, by: int, first: int, count: int
) -> None:
    if period <= 6 * by:
        return
    steps = [(first + n * period) // by * by for n in range(1, count + 3)]
    found = timetable(places(*steps[:count], by=by))
    assert found is not None
    for step in steps[count - 1 : count + 1]:
        assert found.due(step, by), "those that come are those that came"
    assert not found.due(steps[count - 1] + period / 2, by)


def test_strays_that_come_back_are_waited_for_anywhere() -> None:
    known = places(500, 1000, 1500, 2000)
    once = timetable([*known, PauseSlot(2103, 90.0, 1.0)])
    twice = timetable([*known, PauseSlot(2103, 90.0, 1.0), PauseSlot(2377, 80.0, 1.0)])
    assert once is not None
    assert twice is not None
    assert (once.stray_s, twice.stray_s) == (0.0, 80.0)


@given(
    st.lists(
        st.builds(
            PauseSlot,
            st.floats(-1e9, 1e9),
            st.floats(0, 1e6),
            st.floats(0, 1e9),
        ),
        max_size=8,
    )
)
def test_any_places(given_places: list[PauseSlot]) -> None:
    found = timetable(given_places)
    if found is not None:
        assert found.due(found.anchor, 0.0)
        assert found.period > 0
