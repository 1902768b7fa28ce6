"""An agent that learnt and then always does the same, and returns that only swing."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from middlewatch.sentinels.kit import OpenIncident, Severity
from middlewatch.sentinels.kit.loss.scores import FOR, is_score
from middlewatch.sentinels.loss_spike import Limits, recovered

from ..story import Story


def reported(story: Story, values: Iterable[float], metric: str = "return") -> Story:
    for value in values:
        story.step(train_loss=None, **{metric: value})
    return story


def learns(top: float = 180.0, noise: float = 20.0, seed: int = 3) -> list[float]:
    dice = random.Random(seed)
    return [20 + top * min(1.0, n / 90) + dice.gauss(0, noise) for n in range(140)]


def test_a_policy_that_always_does_the_same(story: Story) -> None:
    reported(story, learns())
    assert reported(story, [9.3, 9.4] * (FOR // 2 - 1)).asks("loss_spike") == []
    (finding,) = reported(story, [9.3, 9.4] * 9).asks("loss_spike")
    assert (finding.trouble, finding.severity) == ("loss_diverged", Severity.CRITICAL)
    assert "return has collapsed from" in finding.summary
    assert "since step 141 and stands still there" in finding.summary
    case = OpenIncident("loss_diverged", finding.key, story.now, story.now, finding.details)
    assert recovered(story.view(), Limits(), case) == ""
    assert reported(story, [150.0]).asks("loss_spike") == []
    assert recovered(story.view(), Limits(), case) == "return is 150 again"


def test_a_policy_that_is_worse_than_it_ever_was(story: Story) -> None:
    dice = random.Random(7)
    reported(story, [0.4 + 0.5 * n / 40 + dice.gauss(0, 0.04) for n in range(40)], "reward")
    reported(story, [dice.choice([0.02, 0.06, 0.1, 0.13]) for _ in range(FOR - 1)], "reward")
    assert story.asks("loss_spike") == []
    (finding,) = reported(story, [0.08] * 3, "reward").asks("loss_spike")
    assert finding.severity is Severity.WARNING
    assert "stays there; it began at 0.4" in finding.summary


@pytest.mark.parametrize(("far", "told"), [(69.0, True), (10.0, False)])
def test_a_policy_that_its_updates_have_broken(story: Story, far: float, told: bool) -> None:
    """It swings at the bottom, as one that explores does, but each update changes it out of all proportion."""
    dice = random.Random(5)
    for value in learns():
        story.step(train_loss=None, kl=dice.uniform(0.01, 5), **{"return": value})
    for n in range(FOR + 2):
        kl = far if n % 4 == 1 else 0.5
        story.step(train_loss=None, kl=kl, **{"return": 20 + dice.gauss(0, 9)})
    found = [(f.trouble, f.severity) for f in story.asks("loss_spike")]
    assert found == ([("loss_diverged", Severity.CRITICAL)] if told else [])


def test_a_harder_task_is_learnt_again(story: Story) -> None:
    dice = random.Random(7)
    reported(story, [0.4 + 0.5 * n / 40 + dice.gauss(0, 0.04) for n in range(40)], "reward")
    for n in range(60):
        assert (
            reported(story, [0.02 + 0.006 * n + dice.gauss(0, 0.01)], "reward").asks("loss_spike")
            == []
        )


def test_an_accuracy_at_chance(story: Story) -> None:
    reported(story, [0.1 + 0.8 * min(1.0, n / 60) for n in range(100)], "accuracy")
    (finding,) = reported(story, [0.0996, 0.1004] * 9, "accuracy").asks("loss_spike")
    assert finding.key == "score:accuracy"


@pytest.mark.parametrize("seed", range(20))
def test_returns_that_swing(story: Story, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(4):  # it unlearns, and learns again
        for value in (
            *learns(seed=dice.randrange(999)),
            *(20 + dice.gauss(0, 9) for _ in range(40)),
        ):
            assert reported(story, [value]).asks("loss_spike") == []


def test_one_that_never_learnt(story: Story) -> None:
    assert reported(story, [-200.0] * 100).asks("loss_spike") == []


def test_another_attempt_begins_at_the_bottom(story: Story) -> None:
    """The next trial of a search counts its steps anew."""
    reported(story, learns())
    story.step(by=-139.0, train_loss=None, **{"return": 9.0})
    assert reported(story, [9.0] * 40).asks("loss_spike") == []


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("return", True),
        ("rollout/ep_rew_mean", True),
        ("eval/mean_reward", True),
        ("val_acc", True),
        ("episode_return", True),
        ("d_acc", False),
        ("domain_accuracy", False),
        ("rewards/rejected", False),
        ("reward_std", False),
        ("train_loss", False),
    ],
)
def test_which_metrics_are_scores(name: str, score: bool) -> None:
    assert is_score(name) is score
