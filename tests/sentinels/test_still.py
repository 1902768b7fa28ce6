"""What stands still: a constant loss, a learning rate of zero, a plateau."""

from __future__ import annotations

import json
import math
import random

import pytest

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.loss.flat import FlatMetrics, exact
from middlewatch.sentinels.lr_zero import Limits

from .story import Story


def test_a_constant_loss(story: Story) -> None:
    story.train(5, train_loss=7.1, grad_norm=0.5)
    story.train(49, train_loss=6.9078, grad_norm=0.0)
    assert story.asks("loss_constant") == []
    (finding,) = story.step(train_loss=6.9078, grad_norm=0.0).asks("loss_constant")
    assert (finding.trouble, finding.severity) == ("loss_constant", Severity.INFO)
    assert (finding.line, finding.decided_line) == (6, 55)
    assert finding.summary == "the loss is 6.9078 in all 50 reports since step 6"
    assert story.step(train_loss=6.9, grad_norm=0.1).asks("loss_constant") == []


ALL = {"train_loss": 1.658, "accuracy": 0.5391, "eval_loss": 1.7721, "val_accuracy": 0.4336}


def test_when_every_measured_value_stands_still_nothing_is_learnt(story: Story) -> None:
    for n in range(9):
        story.step(9, number=None, **{name: value + 0.1 * n for name, value in ALL.items()})
    for n in range(11):
        story.step(9, number=None, seconds=float(n), **ALL)
    assert story.asks("loss_constant") == []
    (finding,) = story.step(9, number=None, seconds=3.0, **ALL).asks("loss_constant")
    assert (finding.trouble, finding.severity) == ("loss_constant", Severity.WARNING)
    assert finding.summary.endswith("and every other measured value is the same in all of them")
    assert story.step(9, number=None, **{**ALL, "accuracy": 0.54}).asks("loss_constant") == []


def test_a_bar_repeats_all_its_values_until_it_gets_new_ones(story: Story) -> None:
    for n in range(6):
        story.train(30, 0.2, **{name: value + 0.1 * n for name, value in ALL.items()})
    assert story.asks("loss_constant") == []


def test_a_loss_of_few_digits_is_none(story: Story) -> None:
    for n in range(90):
        story.step(train_loss=2.3, grad_norm=0.8 + 0.01 * (n % 7))
    assert story.asks("loss_constant") == []
    story.step(train_loss=9.0)
    assert story.train(90, train_loss=0.01).asks("loss_constant") == []


@pytest.mark.parametrize(("falls", "told"), [(0.0, True), (0.01, False)])
def test_a_rate_that_was_never_above_zero(story: Story, falls: float, told: bool) -> None:
    """A resume brings the end of the old schedule back; a tiny rate may be printed as zero."""
    for n in range(29):
        story.step(lr=0.0, train_loss=1.9 + 0.05 * (n % 3) - falls * n)
    assert story.asks("lr_zero") == []
    for n in range(29, 60):
        story.step(lr=0.0, train_loss=1.9 + 0.05 * (n % 3) - falls * n)
    findings = story.asks("lr_zero")
    assert bool(findings) is told
    if told:
        assert findings[0].severity is Severity.WARNING
        assert "from the first one on, and the loss does not fall" in findings[0].summary
        assert story.step(lr=1e-4, train_loss=1.9).asks("lr_zero") == []


def test_a_bar_that_repeats_its_loss(story: Story) -> None:
    for n in range(9):
        story.train(60, train_loss=2.0 - 0.1 * n)
    assert story.train(100, train_loss=0.9).asks("loss_constant") == []


def rates(story: Story, *told: float, total: float | None = 1000) -> Story:
    for rate in told:
        more = {} if total is None else {"total": total}
        story.step(lr=rate, **more)
    return story


def test_a_rate_of_zero_in_the_middle(story: Story) -> None:
    rates(story, *[3.2e-4] * 5, *[0.0] * 9)
    assert story.asks("lr_zero") == []
    (finding,) = rates(story, 0.0).asks("lr_zero")
    assert (finding.trouble, finding.severity) == ("lr_zero", Severity.WARNING)
    assert finding.summary == "the learning rate is 0 since step 6 (10 reports), at 1% of the run"
    assert rates(story, 1e-4).asks("lr_zero") == []


def test_the_end_of_a_schedule(story: Story) -> None:
    story.number = 985
    assert rates(story, 1.2e-6, *[0.0] * 14).asks("lr_zero") == []


def test_without_a_plan_the_run_says_by_going_on_that_it_did_not_mean_to_end(story: Story) -> None:
    assert rates(story, *[1.2e-4] * 30, *[0.0] * 8, total=None).asks("lr_zero") == []
    assert rates(story, *[0.0] * 2, total=None).asks("lr_zero")[0].severity is Severity.WARNING


def test_without_a_plan_and_without_steps_the_epochs_tell(story: Story) -> None:
    for n in range(40):
        story.step(number=None, lr=1.2e-4 if n < 20 else 0.0, epoch=n / 16)
    assert [f.severity for f in story.asks("lr_zero")] == [Severity.WARNING]


def test_without_a_plan_a_short_while_is_a_note(story: Story) -> None:
    assert rates(story, *[1.2e-4] * 300, *[0.0] * 49, total=None).asks("lr_zero") == []
    (finding,) = rates(story, 0.0, total=None).asks("lr_zero")
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize(
    ("falls", "total", "told"), [(0.0, 900, True), (0.01, 900, False), (0.0, 225, False)]
)
def test_a_rate_that_decays_with_every_batch(
    story: Story, falls: float, total: float, told: bool
) -> None:
    """Meant for every epoch, it is next to nothing long before the end."""
    for n in range(240):
        story.step(lr=3e-3 * 0.96**n, train_loss=1.9 + 0.05 * (n % 3) - falls * n, total=total)
    findings = story.asks("lr_zero")
    assert bool(findings) is told
    if told:
        assert findings[0].severity is Severity.WARNING
        assert "next to nothing" in findings[0].summary


def test_steps_that_are_counted_within_each_epoch(story: Story) -> None:
    for n in range(40):
        number, epoch = 16.0 * (n % 4 + 1), n // 4 + 1.0
        loss = 3.0 + 0.05 * (n % 3)
        story.step(lr=2e-3 * 0.7**n, train_loss=loss, number=number, epoch=epoch, total=64.0)
    (finding,) = story.asks("lr_zero")
    assert "next to nothing" in finding.summary


def test_the_end_of_a_cosine(story: Story) -> None:
    for n in range(1000):
        story.step(lr=3e-4 * (1 + math.cos(math.pi * n / 1000)) / 2, train_loss=1.9, total=1000)
        assert story.asks("lr_zero") == []


@pytest.mark.parametrize(("before", "known"), [(1e-4, False), (3.2e-5, True)])
def test_a_small_rate_in_too_few_digits(story: Story, before: float, known: bool) -> None:
    assert exact(before) is known
    assert bool(rates(story, before, *[0.0] * 20).asks("lr_zero")) is known


def test_patience_is_a_setting(story: Story) -> None:
    rates(story, 3.2e-4, *[0.0] * 12)
    assert story.asks("lr_zero", Limits(in_a_row=20)) == []


def course(story: Story, count: int, low: float = 2.0) -> Story:
    dice = random.Random(1)
    for n in range(count):
        story.step(0.1, train_loss=low + 8 * math.exp(-n / 200) + dice.gauss(0, 0.02))
    return story


def test_a_plateau_is_a_note(story: Story) -> None:
    (finding,) = course(story, 4000).asks("loss_plateau")
    assert (finding.trouble, finding.severity) == ("loss_plateau", Severity.INFO)
    assert "has not been better than 2" in finding.summary


def test_a_short_run_has_no_plateau(story: Story) -> None:
    assert course(story, 1500).asks("loss_plateau") == []


def test_a_loss_that_goes_on_falling_has_none(story: Story) -> None:
    for n in range(4000):
        story.step(0.1, train_loss=10 / (1 + n / 50))
    assert story.asks("loss_plateau") == []


def test_what_took_long_to_learn_is_kept(story: Story) -> None:
    course(story, 2000)
    still = story.accumulators[FlatMetrics]
    again = FlatMetrics()
    again.restore(json.loads(json.dumps(still.save(), allow_nan=False)))
    assert again.save() == still.save()
