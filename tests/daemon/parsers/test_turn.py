"""A lone NaN counts only at a step at which the run can be."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.turn import KNOWN, RISING
from middlewatch.sentinels.kit import Step


def bad_steps(lines: Iterable[str]) -> list[float | None]:
    """Steps of the reports whose loss is not finite."""
    said = LogReader("run.log").feed("".join(f"{line}\n" for line in lines).encode(), 0.0)
    return [s.number for s in said if isinstance(s, Step) and not math.isfinite(s.loss or 0.0)]


def usual(*steps: int) -> list[str]:
    return [f"batch {n}/4000 loss {2.0 + n % 7 / 10:.4f}" for n in steps]


def test_a_sample_of_a_model_is_no_report() -> None:
    sample = ["thanks, that fixed it", "loss is nan after step 400", "loss is nan after step 400"]
    assert bad_steps([*usual(*range(300, 331)), *sample, *usual(331, 332)]) == []


@pytest.mark.parametrize(
    ("before", "bad"),
    [
        (range(1, 40), (40, 41)),
        (range(10, 400, 10), (400, 410)),
        (range(1, 40), (1, 2)),  # it began anew
        (range(10, 400, 10), (20,)),
        ((), (700, 700)),
        (range(1, KNOWN), (700, 700)),  # too few to know
        ((*range(1, 20), 100, 200, 300), (400, 500)),  # another distance
    ],
)
def test_a_report_is_believed_where_the_run_may_be(
    before: Iterable[int], bad: tuple[int, ...]
) -> None:
    assert bad_steps([*usual(*before), *(f"step {n} loss nan" for n in bad)]) == list(bad)


def test_a_counter_that_goes_on_elsewhere_is_believed_at_the_third_report() -> None:
    """The run was resumed from an older save, and the loss is NaN from the first report on."""
    resumed = [f"step {n} loss nan" for n in range(500, 510)]
    assert bad_steps([*usual(*range(900, 1000)), *resumed]) == [*range(500 + RISING - 1, 510)]


def test_samples_with_reports_between_them_are_no_counter() -> None:
    """Whatever steps they speak of, the run's own reports go on between them."""
    lines = usual(*range(300, 320))
    for n, said in enumerate((400, 420, 440, 460, 480)):
        lines += [f"loss is nan after step {said}", *usual(320 + 2 * n, 321 + 2 * n)]
    assert bad_steps(lines) == []


@given(
    st.integers(1, 50),
    st.integers(KNOWN, 60),
    st.lists(st.integers(1, 4), min_size=1, max_size=20),
)
def test_no_nan_of_the_own_counter_is_left_out(apart: int, count: int, gaps: list[int]) -> None:
    steps = [n * apart for n in range(1, count + 1)]
    bad: list[int] = []
    for gap in gaps:
        bad.append((bad or steps)[-1] + gap * apart)
    assert bad_steps([*usual(*steps), *(f"step {n} loss nan" for n in bad)]) == bad
