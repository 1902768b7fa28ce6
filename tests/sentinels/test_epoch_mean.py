"""A loss that is the mean of its epoch so far is judged once that stands for enough batches."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.loss.epoch_mean import UNSETTLED, EpochMean

from .story import Story


def epochs(story: Story, count: int, batches: int, *, mean: bool = True, seed: int = 3) -> Story:
    """The first batches of each epoch are hard."""
    dice = random.Random(seed)
    for epoch in range(1, count + 1):
        total = 0.0
        for k in range(1, batches + 1):
            hard = 3.0 if mean and k < batches / 10 else 1.0
            loss = (0.3 + 2 * math.exp(-epoch / 2)) * math.exp(dice.gauss(0, 0.3)) * hard
            total += loss
            story.step(epoch=epoch, train_loss=total / k if mean else loss)
    return story


def left_out(values: list[list[float]]) -> list[int]:
    """How many reports of each epoch are left out."""
    means = EpochMean()
    return [sum(means.leaves_out(n, v) for v in epoch) for n, epoch in enumerate(values)]


@pytest.mark.parametrize("seed", range(4))
def test_hard_batches_at_the_beginning_of_an_epoch(story: Story, seed: int) -> None:
    found = epochs(story, 8, 100, seed=seed).replayed().asks("loss_spike")
    assert [f for f in found if f.line > 200] == []


def test_a_divergence_is_told_all_the_same(story: Story) -> None:
    epochs(story, 6, 60)
    for k in range(60):
        story.step(epoch=7, train_loss=0.4 + 0.2 * k)
    assert [f.trouble for f in story.asks("loss_spike")] == ["loss_diverged"]


def test_one_out_of_all_proportion_waits_for_nothing(story: Story) -> None:
    epochs(story, 6, 60)
    for _ in range(3):
        story.step(epoch=7, train_loss=4e5)
    (finding,) = story.asks("loss_spike")
    assert (finding.decided_line, finding.details["from"]) == (361 + 1, pytest.approx(0.4, abs=0.2))


def batches(seed: int, count: int, *, mean: bool) -> list[list[float]]:
    dice = random.Random(seed)
    values = []
    for n in range(4):
        single = [math.exp(dice.gauss(-n / 2, 0.3)) for _ in range(count)]
        values.append([sum(single[:k]) / k for k in range(1, count + 1)] if mean else single)
    return values


@pytest.mark.parametrize("count", [20, 40, 150])
def test_the_loss_of_single_batches_is_none(count: int) -> None:
    found = [left_out(batches(seed, count, mean=False)) for seed in range(200)]
    assert sum(any(out) for out in found) <= 4


@pytest.mark.parametrize("count", [40, 150])
def test_a_mean_is_known_by_how_it_moves(count: int) -> None:
    found = [left_out(batches(seed, count, mean=True)) for seed in range(200)]
    assert all(out[0] == 0 for out in found)
    assert sum(out[2:] == [int(UNSETTLED * count)] * 2 for out in found) >= 190


@given(st.lists(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), max_size=5))
def test_whatever_comes_no_more_than_a_quarter_is_left_out(values: list[list[float]]) -> None:
    longest = max(map(len, values), default=0)
    assert all(out <= UNSETTLED * longest for out in left_out(values))


@pytest.mark.parametrize("seed", range(6))
def test_epochs_that_the_log_does_not_name(story: Story, seed: int) -> None:
    """They are known by their equal lengths from the third on."""
    dice = random.Random(seed)
    for n in range(8):
        total = 0.0
        for k in range(1, 121):
            hard = 3.0 if k < 12 else 1.0
            total += (0.3 + 2 * math.exp(-n / 2)) * math.exp(dice.gauss(0, 0.3)) * hard
            story.step(train_loss=total / k)
    found = story.replayed().asks("loss_spike")
    assert [f for f in found if f.line > 480] == []
    assert not any(f.severity is Severity.CRITICAL for f in found)


@pytest.mark.parametrize("at", [300, 400, 600])
def test_a_jump_of_a_smooth_loss_is_no_new_epoch(story: Story, at: int) -> None:
    """Its changes have shrunk as well by then, but nothing is regular in it."""
    for n in range(at):
        story.step(train_loss=2.0 + 8 * math.exp(-n / 60) + 0.001 * (n % 3))
    for n in range(40):
        story.step(train_loss=6.0 + 0.01 * (n % 3))
    assert [f.trouble for f in story.asks("loss_spike")] == ["loss_diverged"]


@pytest.mark.parametrize("epoch", [math.nan, math.inf, -math.inf])
def test_an_epoch_that_is_no_number_is_none(epoch: float) -> None:
    means = EpochMean()
    assert not any(means.leaves_out(epoch, float(n)) for n in range(80))
