"""What a run's own pauses teach, and the limits that follow from them."""

from __future__ import annotations

import json

import pytest

from middlewatch.sentinels.kit import Phase, Step
from middlewatch.sentinels.kit.pauses import Pauses
from middlewatch.sentinels.kit.silence import Patience, case_of

from .story import Story


def pauses(story: Story) -> Pauses:
    found = story.ledgers[Pauses]
    assert isinstance(found, Pauses)
    return found


def test_phases_that_the_log_announces(story: Story) -> None:
    for seconds in (90, 130, 110):
        story.train(20).phase("evaluate").wait(seconds)
    story.train(1)
    learned = pauses(story)
    assert learned.seen["evaluate"] == 3
    assert learned.longest["evaluate"] == 131
    assert learned.recurring["evaluate"] == 111
    assert "other" not in learned.seen


def test_the_first_step(story: Story) -> None:
    story.step().step(400.0).train(20)
    assert pauses(story).longest["first"] == 400


def test_the_end_of_an_epoch(story: Story) -> None:
    for epoch in range(4):
        story.train(50, epoch=float(epoch)).wait(200)
    learned = pauses(story)
    assert (learned.longest["epoch"], learned.epoch_steps) == (201, 50)
    # Inside an epoch the limit is the usual one, at its end that of the pauses.
    story.wait(-200)
    assert case_of(story.wait(61).view(), Patience()).limit_s == pytest.approx(1.5 * 201)
    story.wait(140).train(10, epoch=4.0)
    assert case_of(story.wait(61).view(), Patience()).limit_s < 320


def test_pauses_without_a_word(story: Story) -> None:
    for _ in range(2):
        story.train(600).wait(150)
    story.train(600)
    story.marks = story.marks[-512:]  # as many as the history keeps
    case = case_of(story.wait(61).view(), Patience())
    assert case.limit_s == pytest.approx(1.5 * 151)
    assert case.limit_steps == pytest.approx(1.5 * 151)
    assert case.longest_s == 151
    assert not case.open


def test_one_pause_is_no_habit(story: Story) -> None:
    story.train(600).wait(500).train(600)
    assert case_of(story.wait(61).view(), Patience()).limit_s == 60


def test_nobody_waits_for_a_pause_for_ever(story: Story) -> None:
    for _ in range(3):
        story.train(600).wait(9000)
    story.train(600)
    story.marks = story.marks[-512:]
    case = case_of(story.wait(61).view(), Patience())
    assert case.limit_s == 1800


def test_a_backlog_teaches_nothing(story: Story) -> None:
    story.train(40, 0.0).phase("save").train(40, 0.0)
    assert pauses(story).seen == {}
    assert pauses(story.replayed().train(9)).seen == {}


def test_it_outlives_a_restart(story: Story) -> None:
    for epoch in range(3):
        story.train(50, epoch=float(epoch)).phase("save").wait(30)
    learned = pauses(story)
    again = Pauses()
    again.restore(json.loads(json.dumps(learned.save())))
    assert again.save() == learned.save()
    for broken in ({}, {"seen": 3}, {**learned.save(), "usual": ["x"]}):
        again.restore(broken)
        assert again.save() == learned.save(), "what cannot be read changes nothing"


def test_a_report_of_the_same_step_is_no_pause() -> None:
    learned = Pauses()
    learned.add(Step(1.0, 1.0, {}))
    learned.add(Phase(2.0, "evaluate", "…"))
    learned.add(Step(90.0, 1.0, {}))
    learned.add(Step(91.0, 2.0, {}))
    assert learned.longest["evaluate"] == 90.0
