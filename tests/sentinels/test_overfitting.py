"""An evaluation loss that rises while the training loss falls."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit import OpenIncident, Severity
from middlewatch.sentinels.overfitting import Limits, recovered

from .story import Story


def epochs(story: Story, count: int, eval_loss: float, by: float, loss: float = 0.9) -> Story:
    for n in range(count):
        story.step(train_loss=loss * 0.9**n)
        story.step(by=0.0, train_loss=None, eval_loss=eval_loss + by * n)
    return story


def test_it_is_told_after_twelve_evaluations(story: Story) -> None:
    epochs(story, 8, 0.9, -0.02)
    assert epochs(story, 11, 0.8, 0.1, 0.4).asks("overfitting") == []
    (finding,) = epochs(story, 3, 1.9, 0.1, 0.1).asks("overfitting")
    assert (finding.trouble, finding.severity) == ("overfitting", Severity.WARNING)
    assert "has risen from 0.76 at step 8 to 2" in finding.summary


def test_the_best_one_is_kept(story: Story) -> None:
    epochs(story, 8, 0.9, -0.02).saved(path="/data/best.pt", step=8)
    (finding,) = epochs(story, 15, 0.8, 0.1, 0.4).asks("overfitting")
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize(
    ("by", "loss"),
    [
        (0.01, 0.4),  # it rises a little, as it usually does
        (-0.01, 0.4),
    ],
)
def test_usual_courses(story: Story, by: float, loss: float) -> None:
    epochs(epochs(story, 8, 0.9, -0.02), 30, 0.8, by, loss)
    assert story.asks("overfitting") == []


def test_both_rise(story: Story) -> None:
    """Then it does not learn by heart: the rules of the loss decide."""
    epochs(story, 8, 0.9, -0.02)
    for n in range(20):
        story.step(train_loss=1.0 + n)
        story.step(by=0.0, train_loss=None, eval_loss=0.8 + 0.1 * n)
    assert story.asks("overfitting") == []


def test_a_better_one_ends_it(story: Story) -> None:
    (finding,) = epochs(epochs(story, 8, 0.9, -0.02), 15, 0.8, 0.1, 0.4).asks("overfitting")
    case = OpenIncident("overfitting", finding.key, story.now, story.now, details=finding.details)
    assert recovered(story.view(), Limits(), case) == ""
    epochs(story, 2, 0.3, 0.0, 0.1)
    assert recovered(story.view(), Limits(), case) == "the evaluation loss is 0.3, better than 0.76"
