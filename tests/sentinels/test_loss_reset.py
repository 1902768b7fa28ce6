"""A run that goes on without what it had learnt."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest

from middlewatch.sentinels.kit import Finding, Severity
from middlewatch.sentinels.kit.loss.losses import Losses
from middlewatch.sentinels.kit.observations import PhaseName
from middlewatch.sentinels.loss_reset import OTHER_NAMES

from .story import Story, sample


def falling(story: Story, count: int = 300, *, seed: int = 3, at: float = 0) -> Story:
    """A loss that falls from 10 to about 2 and repeats that course from step ``at`` on."""
    dice = random.Random(seed)
    for n in range(count):
        story.step(train_loss=2 + 8 * math.exp(-(at + n) / 60) + dice.gauss(0, 0.03))
    return story


def only(story: Story) -> Finding:
    (finding,) = story.asks("loss_reset")
    return finding


def test_a_resume_without_weights(story: Story) -> None:
    falling(story)
    story.number = 200
    falling(story, 7, seed=5)
    assert story.asks("loss_reset") == []
    finding = only(falling(story, 1, seed=6))
    assert (finding.trouble, finding.severity) == ("loss_reset", Severity.CRITICAL)
    assert finding.summary.startswith("resumed at step 201 without weights: the loss went from 2.")
    assert (finding.line, finding.decided_line) == (301, 308)
    assert finding.details["missing"] == "weights"


def test_a_resume_without_the_optimizer(story: Story) -> None:
    falling(story)
    story.number = 290
    for n in range(8):
        story.step(train_loss=3.1 - 0.01 * n)
    assert only(story).details["missing"] == "optimizer"
    assert falling(story, 12, seed=8, at=400).asks("loss_reset") == []


def noisy(story: Story, count: int, *, at: float = 0) -> Story:
    """A loss that falls from 1.6 to 0.4 in noise of 0.2."""
    dice = random.Random(4)
    for n in range(count):
        story.step(train_loss=0.4 + 1.2 * math.exp(-(at + n) / 30) + dice.gauss(0, 0.2))
    return story


def test_a_resume_without_weights_in_noise_as_large(story: Story) -> None:
    noisy(story, 300)
    story.number = 200
    assert only(noisy(story, 8)).details["missing"] == "weights"


@pytest.mark.parametrize("back_to", [60, 200])
def test_a_resume_that_loaded_in_noise(story: Story, back_to: int) -> None:
    noisy(story, 300)
    story.number = back_to
    assert noisy(story, 80, at=back_to).asks("loss_reset") == []


@pytest.mark.parametrize("back_to", [0, 40, 120, 290])
def test_a_resume_that_loaded(story: Story, back_to: int) -> None:
    falling(story)
    story.number = back_to
    assert falling(story, 80, seed=5, at=back_to).asks("loss_reset") == []


def test_a_loss_that_begins_again_without_a_word(story: Story) -> None:
    falling(story)
    finding = only(falling(story, 12, seed=9))
    assert finding.severity is Severity.CRITICAL
    assert "falls again as at the start" in finding.summary
    (spike,) = story.asks("loss_spike")
    assert spike.severity is Severity.INFO


def test_a_new_stage_of_a_curriculum_is_learnt_anew(story: Story) -> None:
    falling(story)
    story.phase("stage", "==== stage 2: sequences of 14 ====")
    falling(story, 12, seed=9)
    assert story.asks("loss_reset") == []
    (spike,) = story.asks("loss_spike")
    assert spike.severity is Severity.INFO


def test_weights_that_were_loaded_under_other_names(story: Story) -> None:
    line = "_IncompatibleKeys(missing_keys=['emb.w'], unexpected_keys=['module.emb.w'])"
    story.says("ckpt_mismatch", line, severity="warning", fatal=False)
    story.events[-1] = replace(story.events[-1], signature=OTHER_NAMES)
    assert story.asks("loss_reset") == [], "it may end at once"
    (finding,) = story.train(5).asks("loss_reset")
    assert (finding.trouble, finding.severity) == ("ckpt_mismatch", Severity.WARNING)
    assert "were not loaded" in finding.summary


def test_a_spike_that_heals_is_none(story: Story) -> None:
    falling(story)
    for value in (8.0, 6.0, 4.0, 3.0, 2.4):
        story.step(train_loss=value)
    assert falling(story, 40, seed=5, at=300).asks("loss_reset") == []


def test_an_old_log_tells_what_was_paid_for_twice(story: Story) -> None:
    falling(story.replayed())
    finding = only(falling(story, 300, seed=9))
    assert finding.severity is Severity.CRITICAL
    assert "it caught up by step" in finding.summary


def test_it_is_remembered_over_a_restart_of_the_daemon(story: Story) -> None:
    falling(story)
    falling(story, 12, seed=9)
    losses = story.accumulators[Losses]
    again = Losses()
    again.restore(json.loads(json.dumps(losses.save(), allow_nan=False)))
    story.accumulators[Losses] = again
    assert only(story).severity is Severity.CRITICAL
    for _ in range(4):
        story.step(train_loss=2.0)
    assert story.asks("loss_reset") == []


def slices(story: Story, begins: float, *, ended: bool = True, **end: Any) -> Story:
    """A wrapper starts the program again, which goes on after step ``begins``."""
    story.run()
    for _ in range(15):
        story.step(by=10.0)
        if story.number in (80.0, 150.0):
            story.saved(step=story.number)
    story.wait(1)
    if ended:
        story.end(**({"code": 0, "main": False, "pid": 77} | end))
    story.number = begins
    return story.train(4, by=10.0)


def test_the_saves_of_another_experiment_are_none_to_resume_from(story: Story) -> None:
    """Two experiments take turns in a queue, each with its own file."""
    story.run()
    for name, top in (("lr-large", 50), ("lr-small", 90)):
        story.number = 0
        story.train(top // 10, by=10.0).saved(path=f"/data/state/{name}.pt", step=top).wait(1)
        story.end(85, main=False, pid=70 + top)
    story.number = 50
    story.train(4, by=10.0)
    assert story.asks("loss_reset") == []


def test_a_restart_that_goes_on_from_an_older_save(story: Story) -> None:
    slices(story, 80)
    (finding,) = [f for f in story.asks("loss_reset") if f.key == "behind"]
    assert (finding.trouble, finding.severity) == ("loss_reset", Severity.WARNING)
    assert finding.summary.startswith("the restart went back to step 80, though step 150 is saved")
    story.train(4, by=10.0)
    assert story.asks("loss_reset") == [], "it has caught up"


@pytest.mark.parametrize(("begins", "ended"), [(150, True), (0, True), (80, False), (110, True)])
def test_restarts_that_lose_nothing_or_are_others(story: Story, begins: float, ended: bool) -> None:
    """From the newest; another program; a trainer that rolls back; from no save that is known."""
    assert slices(story, begins, ended=ended).asks("loss_reset") == []


KILLED: dict[str, Any] = {"code": None, "signal": 9, "program": 5}


def test_the_same_command_that_was_killed_and_begins_from_nothing(story: Story) -> None:
    slices(story, 0, **KILLED).idle(1, sample(pid=88, program=5))
    (finding,) = story.asks("loss_reset")
    assert (finding.trouble, finding.severity) == ("loss_reset", Severity.CRITICAL)
    assert finding.summary.startswith("started again from scratch: the restart began at step 10 ")
    assert "step 150 is saved and whole" in finding.summary
    story.train(12, by=10.0).idle(1, sample(pid=88, program=5))
    assert story.asks("loss_reset") == [], "it has caught up"


@pytest.mark.parametrize(
    ("begins", "end", "lives"),
    [
        (0, KILLED, 6),  # the next job of a queue
        (0, {**KILLED, "program": None}, None),  # nothing is known of it
        (0, {"code": 0, "program": 5}, 5),  # it had ended well
        (150, KILLED, 5),  # it goes on from its save
    ],
)
def test_what_begins_from_nothing_by_right(
    story: Story, begins: float, end: dict[str, Any], lives: int | None
) -> None:
    slices(story, begins, **end).idle(1, sample(pid=88, program=lives))
    assert story.asks("loss_reset") == []


def test_another_attempt_that_begins_at_an_older_save(story: Story) -> None:
    story.saved(step=75).wait(10)
    story.saved(step=150).wait(10)
    story.run(attempt=3)
    story.number = 75
    story.train(4, by=5.0)
    assert [f.key for f in story.asks("loss_reset")] == ["behind"]
    story.run(attempt=1)
    assert story.asks("loss_reset") == [], "who starts it anew may choose"


def again(story: Story, begins: float = 0, **facts: Any) -> Story:
    """A run that saved twice, and another attempt whose first known step is the one after ``begins``."""
    story.saved(step=75).wait(10).saved(step=150).wait(10)
    story.run(attempt=2, started_at=story.at, **facts)
    story.number = begins
    return story.train(4, by=5.0)


@pytest.mark.parametrize("begins", [0, 40])
def test_another_attempt_of_a_wrapper_that_begins_from_nothing(story: Story, begins: float) -> None:
    """Its first lines may have been read for the attempt before."""
    (finding,) = again(story, begins, after_failure=True).asks("loss_reset")
    assert (finding.trouble, finding.severity) == ("loss_reset", Severity.CRITICAL)
    assert "without a resume, though step 150 is saved and whole" in finding.summary


def test_a_person_may_begin_from_nothing(story: Story) -> None:
    assert again(story).asks("loss_reset") == []


def test_an_attempt_of_a_wrapper_that_goes_on_from_its_newest_save(story: Story) -> None:
    assert again(story, 150, after_failure=True).asks("loss_reset") == []


def leases(story: Story, *begins: float, saves: bool = True) -> Story:
    """A machine that is taken away again and again; the program goes on after these steps."""
    story.run()
    for begin in begins:
        story.number = begin
        story.train(9, by=10.0)
        if saves:
            story.claim()
        story.wait(1).end(signal=9, main=False, pid=77).wait(9)
    return story


def test_restarts_that_begin_at_the_same_step_though_there_are_newer_saves(story: Story) -> None:
    leases(story, 0, 60)
    assert story.asks("loss_reset") == [], "the first restart is right"
    story.number = 60
    (finding,) = story.train(2, by=10.0).asks("loss_reset")
    assert (finding.key, finding.severity) == ("behind", Severity.WARNING)
    assert finding.summary.startswith("two restarts went on from the same step 70, though the run")
    assert story.train(8, by=10.0).asks("loss_reset") == [], "it is beyond all that it was"


@pytest.mark.parametrize(
    ("begins", "saves"), [((0, 60, 60), False), ((0, 0, 0), True), ((0, 60, 120), True)]
)
def test_restarts_of_which_nothing_is_known_to_be_lost(
    story: Story, begins: tuple[float, ...], saves: bool
) -> None:
    """Without a save between them; jobs of a queue, each from its beginning; on from the newest."""
    leases(story, *begins[:-1], saves=saves)
    story.number = begins[-1]
    assert story.train(2, by=10.0).asks("loss_reset") == []


@pytest.mark.parametrize(
    ("phase", "again", "told"),
    [("load", 1.0, True), ("start", 1.0, True), ("evaluate", 1.0, False), ("load", 0.3, False)],
)
def test_what_was_loaded_is_not_what_was_learnt(
    story: Story, phase: PhaseName, again: float, told: bool
) -> None:
    """The steps go on, and the loss begins again, though not in the course of its beginning."""
    for n in range(22):
        story.step(by=10.0, train_loss=0.65 * 0.9**n)
    story.phase(phase, "restored ckpt/220: 1 of 12 tensors")
    for n in range(8):
        story.step(by=10.0, train_loss=0.66 * 0.95**n * again)
    found = [f for f in story.asks("loss_reset") if f.severity is Severity.CRITICAL]
    assert bool(found) is told
    if told:
        assert found[0].summary.startswith("resumed at step 230 without weights")


def test_the_next_job_begins_at_its_beginning(story: Story) -> None:
    for _ in range(3):
        story.number = 0.0
        story.phase("start")
        for n in range(22):
            story.step(by=10.0, train_loss=0.65 * 0.9**n)
        assert story.asks("loss_reset") == []


def test_the_next_job_that_counts_epochs_only(story: Story) -> None:
    for epochs in (30, 36, 30):
        for n in range(epochs):
            story.step(number=None, epoch=n + 1.0, train_loss=0.4 * 0.85**n + 0.002)
        assert story.asks("loss_reset") == []
        assert story.asks("loss_spike") == []


@pytest.mark.parametrize("jobs", [(32, 18, 32), (40, 14, 40)])
@pytest.mark.parametrize("steps", [(13, 26, 39, 40), (12, 24, 36)])
def test_the_next_job_whose_steps_are_counted_within_each_epoch(
    story: Story, jobs: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    """The one before ended in the middle of an epoch."""
    for reports in jobs:
        for n in range(reports):
            number, epoch = steps[n % len(steps)], n // len(steps) + 1.0
            loss = 0.9 * 0.9**n + 0.05
            story.step(number=float(number), epoch=epoch, total=40.0, train_loss=loss)
        assert story.asks("loss_reset") == []


def test_the_next_job_that_says_that_its_training_starts(story: Story) -> None:
    """Its first report is of the same step as that of the job before."""
    for reports in (26, 20):
        story.number = 0.0
        story.phase("start", "training starts")
        for n in range(reports):
            story.step(by=10.0, train_loss=2.1 * 0.85**n + 0.03 + 0.01 * (n % 3))
        assert story.asks("loss_reset") == []


def test_the_next_job_whose_course_is_that_of_the_first(story: Story) -> None:
    falling(story)
    story.phase("start", "training starts")
    story.number = 0.0
    falling(story, 12, seed=9)
    assert story.asks("loss_reset") == []
