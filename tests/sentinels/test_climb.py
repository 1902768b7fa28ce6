"""A loss that climbs from its lowest level, in logs whose noise is no measure."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.accumulator import LoggedValue
from middlewatch.sentinels.kit.loss.climb import BLOCK, LEAST, LONG, Climb

from .story import Story


def smoothed(values: Iterable[float], weight: float = 0.05) -> Iterator[float]:
    """What a progress bar shows: an exponential mean."""
    mean: float | None = None
    for value in values:
        mean = value if mean is None else mean + weight * (value - mean)
        yield mean


def falls_and_climbs(length: int, turns: int, slope: float, noise: float) -> list[float]:
    dice = random.Random(7)
    best = 0.07 + 0.4 * math.exp(-turns / 40)
    fall = (0.07 + 0.4 * math.exp(-n / 40) for n in range(turns))
    climb = (best * math.exp(slope * n) for n in range(length - turns))
    return [v * (1 + dice.gauss(0, noise)) for v in (*fall, *climb)]


def told(values: Iterable[float]) -> list[tuple[int, float]]:
    """(report, times) of each climb that is told."""
    climb, found = Climb(), []
    for n, value in enumerate(values, 1):
        seen = climb.push(LoggedValue(float(n), float(n), n, value))
        if seen is not None:
            found.append((n, seen.times))
    return found


def test_a_smoothed_loss_that_turns(story: Story) -> None:
    """The fall at its beginning is most of what such a log shows of noise."""
    for value in smoothed(falls_and_climbs(240, 150, 0.01, 0.05)):
        story.step(train_loss=value)
    (finding,) = story.asks("loss_spike")
    assert (finding.trouble, finding.severity) == ("loss_diverged", Severity.CRITICAL)
    assert 120 <= finding.line <= 175
    assert finding.decided_line <= 225


def test_a_small_climb_is_a_warning_and_comes_back(story: Story) -> None:
    values = falls_and_climbs(202, 150, 0.006, 0.01)
    for value in smoothed(values, 0.3):
        story.step(train_loss=value)
    (finding,) = story.asks("loss_spike")
    assert (finding.trouble, finding.severity) == ("loss_diverged", Severity.WARNING)
    for _ in range(12):
        story.step(train_loss=0.075)
    assert [f.severity for f in story.asks("loss_spike")] in ([], [Severity.INFO])


@pytest.mark.parametrize("weight", [0.02, 0.1, 1.0])
def test_noise_around_a_level_is_none(weight: float) -> None:
    dice = random.Random(11)
    flat = (math.exp(dice.gauss(0, 0.2)) + math.exp(-n / 50) for n in range(6000))
    assert told(smoothed(flat, weight)) == []


def test_seasons_are_known_after_the_first() -> None:
    """Streams that see another public every day go up and down by a quarter."""
    day = [math.exp(-n / 100) + 0.4 + 0.04 * math.sin(n / 32) for n in range(4000)]
    assert told(day) == []


def test_what_is_learnt_to_the_end_may_double() -> None:
    fall = [math.exp(-n / 20) + 1e-4 for n in range(400)]
    assert told([*fall, *(1e-4 * 1.005**n for n in range(600))]) == []


def test_values_below_zero_are_left_to_the_others() -> None:
    assert told([-1.0 + 0.01 * n for n in range(300)]) == []


@given(
    st.floats(0.008, 0.03),
    st.floats(1e-3, 1e3),
    st.integers(10 * BLOCK, 40 * BLOCK),
)
def test_every_steady_climb_is_told_once_it_is_high_enough(
    slope: float, scale: float, turns: int
) -> None:
    values = [scale * v for v in falls_and_climbs(turns + 200, turns, slope, 0.0)]
    at, times = told(values)[0]
    needs = max(LONG * BLOCK, math.log(LEAST) / slope)
    assert turns <= at <= turns + needs + 2 * BLOCK
    assert math.log(LEAST) <= math.log(times) <= slope * (needs + 2 * BLOCK)


@pytest.mark.parametrize(
    ("name", "severity"),
    [("beta", Severity.INFO), ("kl_weight", Severity.INFO), ("ppl", Severity.CRITICAL)],
)
def test_a_weight_that_is_turned_up_raises_the_loss(
    story: Story, name: str, severity: Severity
) -> None:
    dice = random.Random(2)
    for n in range(420):
        beta = min(1.0, max(0.0, (n - 200) / 300))
        loss = 60 + 140 * math.exp(-n / 40) + 55 * beta + dice.gauss(0, 1.5)
        story.step(train_loss=loss, **{name: beta})
    (finding,) = story.asks("loss_spike")
    assert finding.severity is severity
    by_design = finding.summary.endswith(f"{name} changes with it")
    assert by_design is (severity is Severity.INFO)
