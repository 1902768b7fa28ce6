"""A loss that jumps, and what becomes of it."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from middlewatch.sentinels.kit import Finding, Severity
from middlewatch.sentinels.loss_spike import Limits

from .story import Story


def trained(story: Story, count: int = 200, level: float = 2.0, **more: Any) -> Story:
    """A loss that falls by 8, from 10 to about 2, in its usual noise."""
    dice = random.Random(3)
    for n in range(count):
        story.step(train_loss=level + 8 * math.exp(-n / 40) + dice.gauss(0, 0.03), **more)
    return story


def up(story: Story, value: float, count: int) -> Story:
    for n in range(count):
        story.step(train_loss=value + 0.01 * (n % 3))
    return story


def only(story: Story) -> Finding:
    (finding,) = story.asks("loss_spike")
    return finding


def test_a_healthy_loss(story: Story) -> None:
    assert trained(story, 600).asks("loss_spike") == []


def test_one_bad_batch(story: Story) -> None:
    assert up(up(trained(story), 6.0, 1), 2.1, 20).asks("loss_spike") == []


def test_a_spike_that_heals_wakes_nobody(story: Story) -> None:
    up(trained(story), 6.0, 2)
    finding = only(story)
    assert (finding.trouble, finding.severity, finding.fatal) == (
        "loss_spike",
        Severity.INFO,
        False,
    )
    assert (finding.line, finding.decided_line) == (201, 202)
    assert "from 2.0" in finding.summary
    assert finding.details["step"] == 201
    finding = only(up(story, 2.1, 5))
    assert finding.severity is Severity.INFO
    assert finding.summary.endswith("it came back by step 205")


def test_one_that_stays_up_pages_thirty_reports_later(story: Story) -> None:
    up(trained(story), 6.0, 31)
    assert only(story).severity is Severity.INFO
    finding = only(up(story, 6.0, 1))
    assert (finding.trouble, finding.severity) == ("loss_diverged", Severity.CRITICAL)
    assert finding.key == "train_loss:1"
    assert "does not come back" in finding.summary


def test_patience_is_a_setting(story: Story) -> None:
    up(trained(story), 6.0, 40)
    (finding,) = story.asks("loss_spike", Limits(patience_reports=60))
    assert finding.severity is Severity.INFO
    (finding,) = up(story, 6.0, 30).asks("loss_spike", Limits(patience_reports=60))
    assert finding.severity is Severity.CRITICAL


def test_one_out_of_all_proportion_pages_two_reports_later(story: Story) -> None:
    assert only(up(trained(story), 3e4, 2)).severity is Severity.INFO
    finding = only(up(story, 3e4, 1))
    assert (finding.trouble, finding.severity) == ("loss_diverged", Severity.CRITICAL)
    back = only(up(story, 2.1, 3))
    assert (back.trouble, back.severity) == ("loss_spike", Severity.INFO)


def test_after_an_announced_stage_or_weight_it_gets_more_time(story: Story) -> None:
    """Its level is new by design: nobody is woken unless it stays far above the old one."""
    trained(story).phase("stage", "lambda_bc raised to 100")
    assert only(up(story, 9.0, 8)).severity is Severity.INFO
    finding = only(up(story, 9.0, 24))
    assert (finding.trouble, finding.severity) == ("loss_diverged", Severity.CRITICAL)


def test_what_is_left_of_an_announced_jump_is_a_new_level(story: Story) -> None:
    trained(story).phase("stage", "阶段 2：网页+代码，损失会先上升")
    up(story, 9.0, 2)
    for value in (5.0, 4.0, 3.5, 3.0):
        assert only(up(story, value, 2)).severity is Severity.INFO
    for _ in range(12):
        assert only(up(story, 2.6, 5)).severity is Severity.INFO


def test_a_stage_long_ago_explains_nothing(story: Story) -> None:
    trained(story).phase("stage", "lambda_bc raised to 100")
    up(story, 2.1, 6)
    assert only(up(story, 3e4, 3)).severity is Severity.CRITICAL


def test_two_outliers_that_are_over_page_nobody(story: Story) -> None:
    """Then the loss is a little higher for some reports: nothing like the jump."""
    up(trained(story), 3e4, 2)
    for _ in range(4):
        assert only(up(story, 4.0, 1)).severity is Severity.INFO


def test_an_explosion_before_the_noise_is_known(story: Story) -> None:
    story.step(train_loss=0.14)
    for value in (2.5e4, 7.5e4, 2.8e4):
        assert story.step(train_loss=value).asks("loss_spike") == []
    finding = only(story.step(train_loss=1.3e5))
    assert (finding.trouble, finding.severity) == ("loss_diverged", Severity.CRITICAL)
    assert (finding.line, finding.decided_line) == (2, 5)


def test_an_explosion_that_may_be_infinite_next_waits_for_more(story: Story) -> None:
    story.step(train_loss=0.6).step(train_loss=1.0)
    assert story.step(train_loss=2e5).step(train_loss=3e50).asks("loss_spike") == []


def test_loss_and_gradient_jump_together_in_the_second_report(story: Story) -> None:
    story.step(train_loss=1.5, grad_norm=3.5)
    told = story.step(train_loss=63.0, grad_norm=3e7).asks("loss_spike")
    assert [f.trouble for f in told] == ["loss_spike", "grad_spike"]
    assert {(f.line, f.severity) for f in told} == {(2, Severity.INFO)}


@pytest.mark.parametrize(("loss", "norm"), [(63.0, 30.0), (1.4, 3e7)])
def test_one_of_them_alone_may_be_the_noise_of_the_beginning(
    story: Story, loss: float, norm: float
) -> None:
    story.step(train_loss=1.5, grad_norm=3.5).step(train_loss=loss, grad_norm=norm)
    assert story.asks("loss_spike") == []


def test_a_first_report_that_means_nothing(story: Story) -> None:
    story.step(train_loss=1e-3)
    assert up(story, 2.5, 40).asks("loss_spike") == []


@pytest.mark.parametrize(("height", "severity"), [(7.0, Severity.WARNING), (3.5, Severity.INFO)])
def test_an_old_log_notes_small_ones(story: Story, height: float, severity: Severity) -> None:
    up(up(trained(story.replayed()), height, 3), 2.1, 5)
    assert only(story).severity is severity


def test_an_old_log_that_ends_high(story: Story) -> None:
    up(trained(story.replayed()), 6.0, 5)
    (finding,) = story.asks("loss_spike", ended=True)
    assert (finding.trouble, finding.severity) == ("loss_spike", Severity.WARNING)
    up(story, 3e4, 2)
    (finding,) = story.asks("loss_spike", ended=True)
    assert finding.trouble == "loss_diverged"


def test_a_spike_like_one_that_came_back_is_told_when_it_lasts_longer(story: Story) -> None:
    up(up(trained(story), 6.0, 2), 2.1, 90)
    assert up(story, 5.0, 2).asks("loss_spike") == []
    assert only(up(story, 5.0, 20)).key == "train_loss:2"


def test_two_spikes_are_two(story: Story) -> None:
    up(up(trained(story), 6.0, 2), 2.1, 60)
    up(story, 9.0, 2)
    assert [f.key for f in story.asks("loss_spike")] == ["train_loss:1", "train_loss:2"]
    assert [f.key for f in up(story, 2.1, 90).asks("loss_spike")] == []


def test_the_same_step_twice_is_one_report(story: Story) -> None:
    trained(story)
    for _ in range(3):
        story.step(by=0, train_loss=6.0)
    assert story.asks("loss_spike") == []


def test_another_writer_that_lags(story: Story) -> None:
    trained(story)
    for n in range(200, 240):
        story.step(number=n + 1.0, train_loss=2.05).step(number=n - 1.0, train_loss=6.0)
    assert story.asks("loss_spike") == []


def test_interleaved_ranks_are_not_mixed(story: Story) -> None:
    for n in range(200):
        for rank in range(4):
            story.step(number=float(n), rank=rank, train_loss=2.0 + 3 * (rank == 2))
    assert story.asks("loss_spike") == []


def test_a_run_that_begins_again(story: Story) -> None:
    trained(story)
    story.number = 0
    assert trained(story).asks("loss_spike") == []


@pytest.mark.parametrize("more", [{"loss_G": 1.0, "loss_D": 0.5}, {"reward_mean": 3.0}])
def test_adversaries_and_learners_jump(story: Story, more: dict[str, Any]) -> None:
    trained(story, **more)
    for _ in range(40):
        story.step(train_loss=6.0, **more)
    assert all(f.severity is Severity.INFO for f in story.asks("loss_spike"))
    story.step(train_loss=3e4, **more)
    story.step(train_loss=3e4, **more)
    assert {f.severity for f in story.asks("loss_spike")} == {Severity.INFO}
    for _ in range(10):
        story.step(train_loss=3e4, **more)
    assert Severity.CRITICAL in [f.severity for f in story.asks("loss_spike")]


def test_a_program_without_one_loss(story: Story) -> None:
    for n in range(60):
        story.step(train_loss=None, value_loss=1.0 + n % 7)
    assert story.asks("loss_spike") == []
    assert story.step(train_loss=None, value_loss=4e4).asks("loss_spike") == []
    story.step(train_loss=None, value_loss=4e5)
    assert only(story).summary.startswith("value_loss jumped")


def test_a_gradient_out_of_all_proportion_is_evidence(story: Story) -> None:
    trained(story, 50, grad_norm=0.8)
    assert story.step(grad_norm=40.0).asks("loss_spike") == []
    story.step(grad_norm=900.0)
    finding = only(story)
    assert (finding.trouble, finding.severity) == ("grad_spike", Severity.INFO)
    assert only(story.replayed()).severity is Severity.WARNING


def test_what_a_line_says_is_told_of_an_old_log(story: Story) -> None:
    story.replayed().train(5).says("loss_diverged")
    assert only(story).trouble == "loss_diverged"


def rising(story: Story, count: int, each: float = 0.016, level: float = 2.0) -> Story:
    dice = random.Random(5)
    for n in range(count):
        story.step(train_loss=level + each * n + dice.gauss(0, 0.03))
    return story


def test_a_slow_rise_is_told_when_a_later_look_agrees(story: Story) -> None:
    """Of a loss of 20, which has not climbed far: by what was learnt alone."""
    assert rising(trained(story, 400, 20.0), 75, level=20.0).asks("loss_spike") == []
    finding = only(up(story, 21.3, 30))
    assert (finding.trouble, finding.severity) == ("loss_diverged", Severity.WARNING)
    assert "has risen" in finding.summary


def test_one_of_less_than_a_tenth_of_the_progress_is_none(story: Story) -> None:
    rising(trained(story, 400), 150, 0.004)
    assert story.asks("loss_spike") == []


@pytest.mark.parametrize(("evaluated", "severities"), [(20.4, [Severity.WARNING]), (20.05, [])])
def test_an_evaluation_that_rises_agrees(
    story: Story, evaluated: float, severities: list[Severity]
) -> None:
    trained(story, 400, 20.0)
    for loss in (20.12, 20.1, 20.09):
        story.step(by=0, train_loss=None, eval_loss=loss)
    rising(story, 75, level=20.0)
    story.step(by=0, train_loss=None, eval_loss=evaluated)
    assert [f.severity for f in story.asks("loss_spike")] == severities


def test_the_gradient_norm_is_evidence(story: Story) -> None:
    trained(story, 200, grad_norm=0.8)
    for _ in range(2):
        story.step(train_loss=6.0, grad_norm=7.5)
    details = only(story).details
    assert (details["grad_norm"], details["usual_grad_norm"]) in ((7.5, 0.8), (0.8, 0.8))


def test_the_losses_of_a_learner_grow_with_its_rewards(story: Story) -> None:
    for n in range(200):
        story.step(train_loss=None, value_loss=1.0 + (n % 7) * (1 + n / 10), reward=n / 10)
    assert story.step(train_loss=None, value_loss=400.0, reward=9.0).asks("loss_spike") == []


def test_output_that_is_read_twice_is_told_once(story: Story) -> None:
    """A program that prints and writes a log of its own, with more digits."""
    for n in range(60):
        loss = 2.0 + 0.01 * (n % 3) if n < 40 else 80.0 + n
        for file in ("/data/train.log", "/data/OUT"):
            story.file = file
            digits = 0.0 if file == "/data/OUT" else 0.00431
            story.step(0.5, by=file == "/data/train.log", train_loss=loss + digits)
    found = story.asks("loss_spike")
    assert [f.trouble for f in found] == ["loss_diverged"]


def test_two_that_are_not_finite_prove_no_jump(story: Story) -> None:
    story.step(train_loss=1.5, grad_norm=3.5).step(train_loss=math.inf, grad_norm=math.inf)
    assert story.step(train_loss=1.4, grad_norm=3.0).asks("loss_spike") == []
