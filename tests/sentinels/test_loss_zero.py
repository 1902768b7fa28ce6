"""A loss of nothing, and a loss that is gone."""

from __future__ import annotations

import math

import pytest

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.loss_zero import Limits

from .story import Story


def test_exact_zeros(story: Story) -> None:
    story.train(20)
    assert story.train(2, train_loss=0.0).asks("loss_zero") == []
    (finding,) = story.train(1, train_loss=0.0).asks("loss_zero")
    assert (finding.trouble, finding.severity) == ("loss_zero", Severity.WARNING)
    assert (finding.line, finding.decided_line) == (21, 23)
    assert finding.summary == "the loss is exactly zero since step 21 (3 reports)"
    assert story.train(1).asks("loss_zero") == []


def test_from_the_first_report_on(story: Story) -> None:
    (finding,) = story.train(3, train_loss=0.0).asks("loss_zero")
    assert finding.severity is Severity.WARNING


def test_patience_is_a_setting(story: Story) -> None:
    story.train(20).train(4, train_loss=0.0)
    assert story.asks("loss_zero", Limits(in_a_row=5)) == []


def test_what_was_learnt_by_heart_is_rounded(story: Story) -> None:
    for n in range(40):
        story.step(train_loss=round(3.0 * 0.7**n, 4))
    assert [f.severity for f in story.asks("loss_zero")] == [Severity.INFO]


@pytest.mark.parametrize(("name", "right"), [("accuracy", 1.0), ("train_acc", 100.0)])
def test_with_every_answer_right_nothing_is_left_to_lose(
    story: Story, name: str, right: float
) -> None:
    story.step(train_loss=2.4, **{name: right / 4})
    (finding,) = story.train(3, train_loss=0.0, **{name: right}).asks("loss_zero")
    assert finding.severity is Severity.INFO
    assert finding.summary.endswith("with an accuracy of 100%")


def test_zeros_beside_wrong_answers_are_told(story: Story) -> None:
    story.step(train_loss=2.4, accuracy=0.2)
    (finding,) = story.train(3, train_loss=0.0, accuracy=0.2).asks("loss_zero")
    assert finding.severity is Severity.WARNING


def test_a_loss_that_is_gone(story: Story) -> None:
    for loss in (2.0, 1.9, None):
        # the order of its names is that of the line
        values = {"lr": 1e-4} | ({} if loss is None else {"train_loss": loss}) | {"loss_scale": 1.0}
        story.ordered(values)
    (finding,) = story.asks("loss_zero")
    assert (finding.trouble, finding.severity) == ("loss_missing", Severity.WARNING)
    assert finding.line == 3


@pytest.mark.parametrize("many", [1, 2])
def test_reports_of_another_wording(story: Story, many: int) -> None:
    story.train(9, lr=1e-4)
    for _ in range(many):
        story.ordered({"eval_loss": 2.1, "lr": 1e-4})
    assert story.asks("loss_zero") == []


def test_a_form_that_was_there_before_any_loss(story: Story) -> None:
    """The scaler tells of its first skipped steps before the first report."""
    skipped = {"grad_norm": math.inf, "loss_scale": 65536.0}
    story.ordered(skipped)
    for _ in range(4):
        story.ordered({"train_loss": 2.0, "grad_norm": 1.0, "loss_scale": 65536.0, "done": 1.0})
    story.ordered(skipped)
    assert story.asks("loss_zero") == []


def test_steps_that_the_scaler_skipped_say_so(story: Story) -> None:
    names = ("lr", "train_loss", "loss_scale", "number of skipped iterations")
    for _ in range(3):
        story.ordered(dict(zip(names, (1e-4, 2.0, 1.0, 0.0), strict=True)))
    for _ in range(4):
        story.ordered({"lr": 1e-4, "loss_scale": 1.0, "number of skipped iterations": 1.0})
    assert story.asks("loss_zero") == []


def test_reports_that_never_had_one(story: Story) -> None:
    for _ in range(20):
        story.ordered({"train_loss": 2.0, "lr": 1e-4, "mfu": 0.4}).ordered({"lr": 1e-4, "mfu": 0.4})
    assert story.asks("loss_zero") == []


def test_too_good_to_be_true(story: Story) -> None:
    story.train(10, train_loss=2.0).train(12, train_loss=0.01)
    (finding,) = story.asks("loss_zero")
    assert (finding.trouble, finding.severity) == ("loss_zero", Severity.INFO)
    assert finding.details["kind"] == "leak"
    assert story.train(500, train_loss=0.01).asks("loss_zero") == []


@pytest.mark.parametrize(("evaluated", "severity"), [(6.0, Severity.WARNING), (2.5, Severity.INFO)])
def test_too_good_and_the_evaluation_gets_worse(
    story: Story, evaluated: float, severity: Severity
) -> None:
    """What it reads now has lost its content."""
    story.train(10, train_loss=2.0).step(by=0, train_loss=None, eval_loss=2.0)
    story.train(12, train_loss=0.01)
    for _ in range(2):
        story.step(by=0, train_loss=None, eval_loss=evaluated)
    (finding,) = story.asks("loss_zero")
    assert (finding.trouble, finding.severity) == ("loss_zero", severity)


def through_zero(story: Story, count: int = 60) -> Story:
    """The negative log likelihood of a density: it falls from 5 to -9."""
    for n in range(count):
        story.step(train_loss=14 * math.exp(-n / 12) - 9)
    return story


def test_a_loss_that_goes_on_through_zero(story: Story) -> None:
    assert through_zero(story).asks("loss_zero") == []


def test_exact_zeros_of_a_loss_below_zero(story: Story) -> None:
    assert through_zero(story).train(2, train_loss=0.0).asks("loss_zero") == []
    (finding,) = story.train(1, train_loss=0.0).asks("loss_zero")
    assert (finding.severity, finding.line, finding.decided_line) == (Severity.WARNING, 61, 63)


def null(story: Story) -> Story:
    return story.grow().says("loss_missing", role="confirmation", severity="info", fatal=False)


def test_null_in_place_of_a_loss(story: Story) -> None:
    assert null(null(null(story))).asks("loss_zero") == []
    story.train(9)
    assert null(null(story)).asks("loss_zero") == []
    (finding,) = null(story).asks("loss_zero")
    assert (finding.trouble, finding.severity) == ("loss_missing", Severity.WARNING)
    assert story.train(1).asks("loss_zero") == []


def test_null_in_every_second_report(story: Story) -> None:
    for _ in range(9):
        null(story.train(1))
    assert story.asks("loss_zero") == []


def test_a_loss_that_fell_faster_than_its_level(story: Story) -> None:
    for value in (90.3, 0.015, 0.0, 0.0, 0.0):
        story.step(train_loss=value)
    assert [f.severity for f in story.asks("loss_zero")] == [Severity.INFO]


@pytest.mark.parametrize("last", [0.0, 1e-7])
def test_a_loss_that_vanishes_with_its_gradient_is_told_at_once(story: Story, last: float) -> None:
    story.step(train_loss=12.2, grad_norm=231.0)
    assert story.step(train_loss=2e-6, grad_norm=2e-4).asks("loss_zero") == []
    (finding,) = story.step(train_loss=last, grad_norm=8e-8).asks("loss_zero")
    assert (finding.line, finding.decided_line) == (2, 3)
    assert finding.severity is Severity.WARNING
    assert story.step(train_loss=11.0, grad_norm=200.0).asks("loss_zero") == []


@pytest.mark.parametrize(("loss", "norm"), [(2e-6, 50.0), (6.0, 2e-4)])
def test_one_of_them_alone_is_no_proof(story: Story, loss: float, norm: float) -> None:
    story.step(train_loss=12.2, grad_norm=231.0)
    story.step(train_loss=loss, grad_norm=norm).step(train_loss=loss, grad_norm=norm)
    assert story.asks("loss_zero") == []
