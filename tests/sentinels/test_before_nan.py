"""The first step for a loss that is NaN, by the reports before it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from middlewatch.sentinels.kit import Finding

from .story import Story


def told(story: Story) -> Finding:
    (finding,) = (f for f in story.asks("nan_loss") if f.trouble == "loss_nan")
    return finding


def diverges(story: Story, *reports: dict[str, Any]) -> Finding:
    for one in reports:
        story.step(**one)
    for _ in range(3):
        story.step(train_loss=math.nan)
    return told(story)


@pytest.mark.parametrize(
    ("reports", "step"),
    [
        ([{"train_loss": 2.0 - n / 10, "lr": 1e-3 * (n + 1)} for n in range(6)], "it was still rising, from 0.001 to 0.006"),
        ([{"train_loss": 1.2, "grad_norm": 0.6, "lr": 1e-3}] * 5 + [{"train_loss": 1.2, "grad_norm": 2589.0, "lr": 1e-3}],
         "their norm went from 0.6 to 2589 right before"),
        ([{"train_loss": 1.2, "lr": 1e-3}] * 5 + [{"train_loss": 9.0, "lr": 1e-3}, {"train_loss": 60.0, "lr": 1e-3}], "the loss had climbed from 1.2 to 60"),
        ([{"train_loss": 8401.0}, {"train_loss": 9200.0}, {"train_loss": 30000.0}], "the loss began at 8401"),
        ([{"train_loss": None, "elbo_loss": 30.0 - n, "lr": 0.025 * (n + 1)} for n in range(5)], "it was still rising, from 0.025 to 0.125"),
        ([{"train_loss": 1.2, "lr": 1e-3}] * 8, "one batch or one operation is at fault"),
    ],
)  # fmt: skip
def test_what_the_reports_show(story: Story, reports: list[dict[str, Any]], step: str) -> None:
    assert step in diverges(story, *reports).remedy


def test_a_loss_that_was_never_a_number(story: Story) -> None:
    assert "look at the first batch" in diverges(story).remedy


def test_a_jump_while_the_learning_rate_still_rose(story: Story) -> None:
    for n in range(60):
        story.step(train_loss=2.1 + 0.01 * (n % 3), lr=1e-3 * (n + 1))
    for _ in range(30):
        story.step(train_loss=60.0, lr=0.07)
    remedies = [f.remedy for f in story.asks("loss_spike") if f.trouble == "loss_diverged"]
    assert remedies
    assert "it was still rising" in remedies[0]
