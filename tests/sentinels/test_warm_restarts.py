"""A loss that climbs whenever the learning rate starts over, and a loss that suddenly has none."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from middlewatch.sentinels.kit import Finding, Severity, codec
from middlewatch.sentinels.kit.loss.losses import Losses
from middlewatch.sentinels.kit.loss.rates import Rates

from .story import Story
from .writers import report

PERIOD = 160
PEAK = 1e-3


def rate(n: int) -> float:
    """A straight descent that starts over at every period."""
    return PEAK * (1 - (n % PERIOD) / PERIOD)


def loss(n: int, dice: random.Random, height: float) -> float:
    """A descent from 7 to about 2; ``height`` of its progress goes with every restart."""
    level = 2 + 5 * math.pow(1 + n / 30, -0.6)
    lift = height * math.exp(-4 * (n % PERIOD) / PERIOD) if n >= PERIOD else 0.0
    return level + lift * (7 - level) + dice.gauss(0, 0.02)


def reports(count: int, height: float = 0.2, seed: int = 4) -> Iterator[tuple[float, float]]:
    dice = random.Random(seed)
    for n in range(count):
        yield loss(n, dice, height), rate(n)


def worst(story: Story, told: Iterator[tuple[float, float]], *, rated: bool) -> list[Finding]:
    """Everything above a note that the rule said, report by report."""
    loud: list[Finding] = []
    for value, lr in told:
        story.step(train_loss=value, **({"lr": lr} if rated else {}))
        loud += [f for f in story.asks("loss_spike") if f.severity is not Severity.INFO]
    return loud


def test_a_rate_that_starts_over_is_planned(story: Story) -> None:
    assert worst(story, reports(6 * PERIOD), rated=True) == []


def test_it_says_why(story: Story) -> None:
    worst(story, reports(PERIOD + 30), rated=True)
    (finding,) = story.asks("loss_spike")
    assert (finding.trouble, finding.severity) == ("loss_spike", Severity.INFO)
    assert "has started over" in finding.summary


def test_a_rate_higher_than_ever_is_not(story: Story) -> None:
    worst(story, reports(PERIOD), rated=True)
    dice = random.Random(5)
    more = ((loss(n, dice, 0.2), 3 * PEAK) for n in range(PERIOD, PERIOD + 40))
    loud = worst(story, more, rated=True)
    assert {(f.trouble, f.severity) for f in loud} == {("loss_diverged", Severity.CRITICAL)}


def test_nor_one_that_goes_on(story: Story) -> None:
    worst(story, ((v, 1e-3) for v, _ in reports(PERIOD)), rated=True)
    loud = worst(story, ((v + 1, 1e-3) for v, _ in reports(40)), rated=True)
    assert any(f.severity is Severity.CRITICAL for f in loud)


def test_a_restart_that_undoes_most_of_the_progress_pages(story: Story) -> None:
    worst(story, reports(PERIOD), rated=True)
    dice = random.Random(6)
    more = ((5.5 + dice.gauss(0, 0.02), rate(n)) for n in range(PERIOD, PERIOD + 40))
    loud = worst(story, more, rated=True)
    assert loud[-1].trouble == "loss_diverged"
    assert loud[-1].severity is Severity.CRITICAL


def test_one_that_goes_on_to_climb_pages_later(story: Story) -> None:
    worst(story, reports(PERIOD), rated=True)
    dice = random.Random(6)
    climb = ((3.6 + 0.02 * n + dice.gauss(0, 0.02), rate(n)) for n in range(150))
    loud = worst(story, climb, rated=True)
    assert loud
    assert loud[-1].severity is Severity.CRITICAL


def test_without_a_rate_the_first_are_warnings_and_later_ones_usual(story: Story) -> None:
    first = worst(story, reports(3 * PERIOD), rated=False)
    assert {f.severity for f in first} == {Severity.WARNING}
    assert {f.key for f in first} == {"train_loss:1", "train_loss:2"}
    dice = random.Random(7)
    later = ((loss(n, dice, 0.2), 0.0) for n in range(3 * PERIOD, 6 * PERIOD))
    assert worst(story, later, rated=False) == []


def test_without_a_rate_a_usual_one_that_stays_is_told(story: Story) -> None:
    worst(story, reports(3 * PERIOD), rated=False)
    dice = random.Random(8)
    stays = ((loss(3 * PERIOD, dice, 0.2), 0.0) for _ in range(3 * PERIOD))
    assert worst(story, stays, rated=False)[-1].trouble == "loss_diverged"


def test_what_a_rate_was_survives_a_restart_of_the_daemon(story: Story) -> None:
    worst(story, reports(PERIOD - 5), rated=True)
    saved = json.loads(json.dumps(story.accumulators[Losses].save()))
    story.accumulators[Losses] = Losses()
    story.accumulators[Losses].restore(saved)
    dice = random.Random(9)
    more = ((loss(n, dice, 0.2), rate(n)) for n in range(PERIOD - 5, 2 * PERIOD))
    assert worst(story, more, rated=True) == []


@pytest.mark.parametrize("tell", [True, False])
def test_an_old_log_where_all_came_back(tell: bool) -> None:
    text = "".join(
        f"step {20 * n}/400000 loss {value:.4f}" + (f" lr {lr:.3e}\n" if tell else "\n")
        for n, (value, lr) in enumerate(reports(3 * PERIOD + PERIOD // 2), 1)
    )
    said = [one for one in report(text) if one.get("severity", "info") != "info"]
    assert said == []


# -- the rates alone ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("course", "over"),
    [
        ([1e-6 * n for n in range(1, 60)], False),  # a warm-up
        ([1e-3, 5e-4, 1e-5, 1e-3], True),
        ([1e-3, 5e-4, 0.0, 1e-3], True),
        ([1e-3, 5e-4, 1e-5, 2e-3], False),  # higher than ever
        ([1e-3, 5e-4, 1e-5, 1.5e-5], False),  # hardly at all
        ([1e-3, 5e-4, 1e-5, 1e-3] + [9e-4] * 40, False),  # long ago
        ([1e-3] + [1e-3 - 9e-6 * n for n in range(100)] + [1e-4 + 9e-6 * n for n in range(60)], True),
        ([1e-3, math.nan, -1.0, 1e-4, math.inf, 1e-3], True),
    ],
)  # fmt: skip
def test_rates(course: list[float], over: bool) -> None:
    rates = Rates()
    assert not rates.has_rate
    for one in course:
        rates.add(one)
    assert rates.has_rate
    assert rates.started_over() is over
    saved = codec.dump(rates)
    assert codec.dump(codec.load(Rates, json.loads(json.dumps(saved)))) == saved


# -- too good to be true --------------------------------------------------------------------


def rising(low: float, factor: float, explode_at: int) -> Iterator[tuple[float, float]]:
    """A loss that falls while the rate grows by a constant factor, and then explodes."""
    for n in range(explode_at + 3):
        value = 3.0 * 0.9**n + 0.02 * (n % 2)
        yield value if n < explode_at else 50.0 * 8.0 ** (n - explode_at), low * factor**n


@pytest.mark.parametrize("factor", [1.25, 1.4, 2.0])
def test_a_range_test_of_the_rate_may_diverge(story: Story, factor: float) -> None:
    assert worst(story, rising(1e-6, factor, 30), rated=True) == []
    for n in range(40):  # the model is put back, and trained with the rate that was found
        story.step(train_loss=2.0 * 0.95**n + 0.02 * (n % 2), lr=1e-2)
        assert not [f for f in story.asks("loss_spike") if f.severity is not Severity.INFO]


def test_one_after_which_the_loss_stays_up_is_told(story: Story) -> None:
    worst(story, rising(1e-6, 1.4, 30), rated=True)
    assert worst(story, ((3000.0 + n % 3, 1e-2) for n in range(60)), rated=True)


def test_a_warm_up_may_not(story: Story) -> None:
    told = ((value, 1e-4 * (n + 1)) for n, (value, _) in enumerate(rising(1e-6, 1.4, 30)))
    assert worst(story, told, rated=True)[-1].severity is Severity.CRITICAL


def leaks(story: Story, values: Iterator[float]) -> list[Finding]:
    told: list[Finding] = []
    for value in values:
        told += story.step(train_loss=value).asks("loss_zero")
    return told


def falls(after: int, level: Callable[[int], float], count: int = 80) -> Iterator[float]:
    dice = random.Random(10)
    for n in range(after):
        yield (2 + 5 * (1 + n / 30) ** -0.6) * math.exp(dice.gauss(0, 0.02))
    for n in range(count):
        yield level(n) * math.exp(dice.gauss(0, 0.05))


@pytest.mark.parametrize(
    "level", [lambda _: 0.03, lambda n: max(0.02, 3 * math.exp(-n / 6))], ids=["at once", "learnt"]
)
@pytest.mark.parametrize("after", [140, 600])
def test_a_label_that_leaks(story: Story, after: int, level: Callable[[int], float]) -> None:
    assert leaks(story, falls(after, level, 0)) == []
    told = leaks(story, islice(falls(after, level, 50), after, None))
    assert {(f.trouble, f.severity) for f in told} == {("loss_zero", Severity.WARNING)}
    assert told[0].details["kind"] == "leak"


def test_a_label_that_leaked_is_not_forgotten_by_a_restart_of_the_daemon(story: Story) -> None:
    told = leaks(story, falls(200, lambda _: 0.03))
    saved = json.loads(json.dumps(story.accumulators[Losses].save()))
    story.accumulators[Losses] = Losses()
    story.accumulators[Losses].restore(saved)
    assert story.asks("loss_zero") == told[-1:]


def test_learning_by_heart_is_none(story: Story) -> None:
    course = (2.5 * 0.5 ** (n / 12) for n in range(160))
    assert leaks(story, course) == []


def test_nor_is_an_epoch_after_the_other(story: Story) -> None:
    dice = random.Random(11)
    course = (2.5 * 0.25 ** (n // 40) * math.exp(dice.gauss(0, 0.1)) for n in range(240))
    assert leaks(story, course) == []


def test_a_task_that_is_solved_all_at_once_is_a_note(story: Story) -> None:
    course = [0.693 + 0.004 * (n % 3) for n in range(300)] + [0.005] * 40
    assert {f.severity for f in leaks(story, iter(course))} == {Severity.INFO}
