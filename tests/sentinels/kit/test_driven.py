"""A loss that no longer falls while its learning rate climbs, and noise that is lopsided."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit import Severity, codec
from middlewatch.sentinels.kit.loss.driven import DrivenLoss
from middlewatch.sentinels.kit.loss.rates import Rates
from middlewatch.sentinels.kit.loss.spikes import OUT, SpikeDetector
from middlewatch.sentinels.kit.loss.window import Window, widened

from ..story import Story


def loss(n: int, dice: random.Random) -> float:
    return 2 + 4 * math.exp(-n / 60) + dice.gauss(0, 0.03)


def climbs(story: Story, reports: int, factor: float) -> list[Severity]:
    """A rate that stands for 300 reports and then grows; the loss rises a little, late. What was told, in order."""
    dice = random.Random(2)
    told: list[Severity] = []
    for n in range(300 + reports):
        late = max(0, n - 300)
        story.step(train_loss=loss(n, dice) + 0.002 * late, lr=1e-3 * factor**late)
        for found in story.asks("loss_spike"):
            if "climbs" in found.summary and found.severity not in told:
                told.append(found.severity)
    return told


def test_a_rate_that_climbs_without_end_wakes(story: Story) -> None:
    assert climbs(story, 120, 1.03) == [Severity.INFO, Severity.CRITICAL]


def test_a_rate_that_stands_does_not(story: Story) -> None:
    assert climbs(story, 120, 1.0) == []


@pytest.mark.parametrize("highest", [0.5, 1.0])
def test_a_cycle_up_to_the_highest_so_far_is_no_climb_beyond(highest: float) -> None:
    rates, seen = Rates(), 0.0
    for n in range(1200):
        rates.add((1.0 if n < 200 else highest) * (1 - abs(n % 200 - 100) / 100) + 0.01)
        seen = max(seen, rates.beyond)
    assert seen <= 1.0


def test_the_first_warm_up_is_none() -> None:
    rates = Rates()
    for n in range(1, 300):
        rates.add(1e-5 * n)
        assert rates.beyond == 0.0


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0.0, 100.0)), max_size=120))
def test_each_stage_is_told_once_in_a_climb(reports: list[tuple[float, float]]) -> None:
    driven, told = DrivenLoss(), 0
    for value, times in reports:
        found = driven.push(value, times)
        told = 0 if not times else told + (found is not None)
        assert told <= 2
    again = codec.load(DrivenLoss, json.loads(json.dumps(codec.dump(driven))))
    assert codec.dump(again) == codec.dump(driven)


@given(st.floats(0.5, 8.0), st.floats(1.0, 100.0), st.floats(1.0, 100.0))
def test_a_limit_grows_with_the_skew(spreads: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    if spreads >= 1.0:
        assert spreads <= widened(spreads, low) * 1.01 <= widened(spreads, high) * 1.03
    assert widened(spreads, 1.0) == spreads


def alarms(seed: int, tail: float) -> int:
    """Alarms in 3,000 values of a noise whose logarithm is normal."""
    dice, guard = random.Random(seed), SpikeDetector()
    kinds = [guard.push(math.exp(tail * dice.gauss(0, 1))) for _ in range(3000)]
    return sum(alarm is not None and alarm.kind != "record" for alarm in kinds)


def test_lopsided_noise_is_as_quiet_as_any() -> None:
    assert sum(alarms(seed, 1.0) for seed in range(4)) <= 4


def test_a_jump_out_of_lopsided_noise_is_seen() -> None:
    dice, guard = random.Random(4), SpikeDetector()
    found = []
    for n in range(800):
        value = math.exp(0.4 * dice.gauss(0, 1)) + (60.0 if n >= 700 else 0.0)
        if guard.push(value) is not None:
            found.append(n)
    assert found
    assert 700 <= found[0] <= 703


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=200))
def test_noise_that_is_turned_over_is_not_lopsided_both_ways(values: list[float]) -> None:
    up, down = Window(96), Window(96)
    for value in values:
        up.add(value)
        down.add(-value)
    assert min(up.lopsided, down.lopsided) <= 1.0 < OUT
    assert up.lopsided >= 1.0
