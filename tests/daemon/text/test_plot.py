"""The curve keeps its promises to the eye."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.text import plot
from middlewatch.daemon.text.rows import plain, width_of

POINTS = st.lists(st.tuples(st.floats(), st.floats()), max_size=60).map(tuple)


@given(POINTS, st.integers(0, 40), st.integers(0, 12))
def test_any_points_fit_their_box(points: tuple[plot.Point, ...], width: int, height: int) -> None:
    drawn = plot.draw(points, width, height)
    assert len(drawn.rows) == height
    assert all(width_of(line) <= width for line in drawn.rows)
    assert drawn.broken == sum(not math.isfinite(y) for _, y in points)


def test_a_falling_line_falls() -> None:
    drawn = plot.draw(tuple((x, 20.0 - x) for x in range(8)), 4, 2)
    assert plain(drawn.rows) == "⠑⢄\n  ⠑⢄"
    assert (drawn.low, drawn.high, drawn.logarithmic) == (13.0, 20.0, False)


def test_a_flat_line_is_in_the_middle() -> None:
    rows = plot.draw(((0, 1.0), (1, 1.0)), 4, 3).rows
    assert [bool(line) for line in rows] == [False, True, False]


def test_broken_values_are_marked_where_they_are() -> None:
    points = ((0, 1.0), (1, 2.0), (2, math.nan), (3, math.inf))
    drawn = plot.draw(points, 4, 3)
    text = plain(drawn.rows).split("\n")
    assert text[0][3] == plot.BROKEN
    assert text[2][2 if len(text[2]) > 2 else 0] == plot.BROKEN
    assert drawn.broken == 2


def test_only_broken_values_have_no_range() -> None:
    drawn = plot.draw(((0, math.nan),), 4, 2)
    assert (drawn.low, drawn.high, drawn.broken) == (None, None, 1)


def test_a_restarted_counter_is_drawn_in_order() -> None:
    back = plot.draw(((0, 1.0), (5, 2.0), (3, 3.0), (4, 4.0)), 6, 2)
    assert back.rows == plot.draw(((0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)), 6, 2).rows


def test_values_as_far_apart_as_numbers_go() -> None:
    plot.draw(((0, -1.7e308), (1, 1.7e308)), 10, 4)
    plot.draw(((-1.7e308, 5e-324), (1.7e308, 1.7e308)), 10, 4)
