"""The attempts of a run as one curve."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.tui.attempts import stitched

from .hands import Hands
from .overview_answer import overview, run


def attempt(name: str, steps: range, value: float, before: str = "", metric: str = "loss") -> Any:
    points = [[float(step), value] for step in steps]
    return run(name, curve={"metric": metric, "points": points}, resumed_from=before or None)


def test_an_attempt_goes_on_where_the_one_before_was_saved() -> None:
    first = attempt("gpt-1", range(0, 100, 10), 5.0)
    second = attempt("gpt-2", range(60, 150, 10), 4.0, "gpt-1")
    third = attempt("gpt-3", range(120, 200, 10), 3.0, "gpt-2")
    whole = stitched(third, [third, first, second])
    assert whole.attempts == 3
    assert whole.begins == [60.0, 120.0]
    values = dict(whole.points)
    assert [values[step] for step in (0, 50, 60, 110, 120, 190)] == [5.0, 5.0, 4.0, 4.0, 3.0, 3.0]
    assert [x for x, _ in whole.points] == sorted(values)


def test_a_run_that_went_back_in_its_own_log_is_two_attempts() -> None:
    one = attempt("gpt-1", range(0, 100, 10), 5.0)
    one["curve"]["points"] += [[float(step), 4.0] for step in range(60, 120, 10)]
    whole = stitched(one, [one])
    assert (whole.attempts, whole.begins) == (2, [60.0])
    assert len(whole.points) == 12


def test_a_value_that_came_late_is_no_attempt() -> None:
    one = attempt("gpt-1", range(0, 100, 10), 5.0)
    one["curve"]["points"].insert(6, [49.0, 5.0])
    assert stitched(one, [one]).attempts == 1


def test_curves_of_other_metrics_and_unknown_runs_are_not_joined() -> None:
    other = attempt("gpt-1", range(0, 100, 10), 0.9, metric="accuracy")
    later = attempt("gpt-2", range(60, 150, 10), 4.0, "gpt-1")
    assert stitched(later, [other, later]).attempts == 1
    assert stitched(later, [later]).attempts == 1


def test_runs_that_name_each_other_end() -> None:
    first = attempt("gpt-1", range(0, 50, 10), 5.0, "gpt-2")
    second = attempt("gpt-2", range(50, 90, 10), 4.0, "gpt-1")
    assert stitched(second, [first, second]).attempts == 2


@given(st.lists(st.lists(st.tuples(st.floats(), st.floats())), max_size=4))
def test_whatever_was_reported_the_curve_goes_forward(
    curves: list[list[tuple[float, float]]],
) -> None:
    runs = [
        run(f"gpt-{n}", curve={"metric": "loss", "points": [list(p) for p in points]}, resumed_from=f"gpt-{n - 1}")
        for n, points in enumerate(curves)
    ]  # fmt: skip
    whole = stitched(runs[-1] if runs else {}, runs)
    steps = [x for x, _ in whole.points]
    assert all(a < b for a, b in pairwise(steps))
    assert all(a < b for a, b in pairwise(whole.begins))
    assert all(math.isfinite(x) for x in steps)


def test_the_run_view_marks_where_attempts_began() -> None:
    first = attempt("gpt-1", range(0, 100, 10), 5.0)
    later = attempt("gpt-2", range(60, 150, 10), 4.0, "gpt-1")
    hands = Hands(overview(later, first))
    hands.desk.run = "gpt-2"
    screen = hands.draw("run", 100, 30)
    assert "loss of 2 attempts" in screen
    assert screen.count("▶") == 1
