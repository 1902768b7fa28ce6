"""A loss that goes back to where it began."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.loss.undone import Undone

from ..story import Story

LEARNS = [
    3.5,
    3.4,
    3.3,
    3.2,
    3.2,
    2.9,
    2.6,
    1.5,
    0.9,
    0.6,
    0.4,
    0.3,
    0.25,
    0.2,
    0.2,
    0.19,
    0.18,
    0.2,
]
CLIMBS = [0.3, 0.45, 0.6, 0.5, 0.9, 0.8, 1.1, 1.4, 1.3, 2.0, 2.4, 2.9, 3.2, 3.3]


def best(losses: Iterable[float]) -> list[float]:
    undone = Undone()
    return [lost for loss in losses if (lost := undone.push(loss)) is not None]


def test_all_is_lost_once() -> None:
    assert best(LEARNS + CLIMBS + [3.4] * 40) == [pytest.approx(0.2, abs=0.02)]


def test_a_short_run_that_falls_and_then_climbs_by_powers_of_ten() -> None:
    """All differences are as large as the climb itself; above ten times the beginning it is told, once."""
    fall = [5.2, 5.1, 4.1, 2.6, 1.2, 0.5, 0.4, 0.5, 0.6, 0.7]
    assert best([*fall, *(0.7 * 1.4**n for n in range(12))]) == []
    assert len(best([*fall, *(0.7 * 1.4**n for n in range(60))])) == 1


@pytest.mark.parametrize(
    "losses",
    [
        LEARNS + [0.2] * 60,
        LEARNS + CLIMBS[:9] + [1.6] * 60,  # half of it
        LEARNS + CLIMBS + [3.4] * 4 + LEARNS * 2,  # it learns again
        [2.0, 1.9, 1.8, 1.9, 1.7, 1.8, 2.0, 1.9, 1.8] * 9,  # it had learnt nothing
    ],
)
def test_less_is_none(losses: list[float]) -> None:
    assert best(losses) == []


OF_EPOCHS = [0.70, 0.61, 0.26, 0.21, 0.16, 0.17, 0.14, 0.12, 0.13, 0.11, 0.12, 0.11]


def lost_epochs(means: Iterable[float]) -> list[int]:
    undone = Undone()
    return [n for n, mean in enumerate(means) if undone.push_epoch(mean) is not None]


def test_four_means_of_epochs_as_high_as_none_since_it_learnt() -> None:
    assert lost_epochs([*OF_EPOCHS, 0.83, 0.85, 0.80, 0.75])[:1] == [15]


@pytest.mark.parametrize(
    "means",
    [
        OF_EPOCHS * 3,  # folds
        [*OF_EPOCHS, 0.83, 0.85, 0.80, 0.2, 0.15, 0.12, 0.11],  # it comes back by itself
        [*OF_EPOCHS, 0.5, 0.4, 0.5, 0.5, 0.5],  # half of it is left
        [
            0.70,
            0.2,
            0.69,
            0.2,
            0.71,
            0.68,
            0.2,
            0.1,
            0.68,
            0.69,
            0.67,
            0.68,
        ],  # it was as high before
        [
            0.70,
            0.69,
            0.68,
            0.60,
            0.62,
            0.61,
            0.60,
            0.59,
            0.70,
            0.70,
            0.70,
            0.70,
        ],  # little was learnt
    ],
)
def test_less_of_epochs_is_none(means: list[float]) -> None:
    assert lost_epochs(means) == []


def test_a_log_with_one_report_an_epoch_wakes_within_four(story: Story) -> None:
    for epoch, loss in enumerate([*OF_EPOCHS, 0.83, 0.85, 0.80, 0.75], 1):
        story.step(epoch=epoch, train_loss=loss)
    (finding,) = [f for f in story.asks("loss_spike") if f.trouble == "loss_diverged"]
    assert finding.severity is Severity.CRITICAL


def test_it_wakes(story: Story) -> None:
    for loss in LEARNS + CLIMBS + [3.35, 3.45] * 14:
        story.step(train_loss=loss)
    (finding,) = [f for f in story.asks("loss_spike") if f.trouble == "loss_diverged"]
    assert finding.severity is Severity.CRITICAL
    assert "has risen" in finding.summary
