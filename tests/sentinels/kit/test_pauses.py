"""What a run's own pauses teach, and the limits that follow from them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.sentinels.kit import Phase, Step
from middlewatch.sentinels.kit.pace.pauses import Pauses
from middlewatch.sentinels.kit.pace.silence import SilenceLimits, case_of

from ..story import Story


def pauses(story: Story) -> Pauses:
    found = story.accumulators[Pauses]
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
    assert case_of(story.wait(61).view(), SilenceLimits()).limit_s == pytest.approx(1.5 * 201)
    story.wait(140).train(10, epoch=4.0)
    assert case_of(story.wait(61).view(), SilenceLimits()).limit_s < 320


def test_pauses_without_a_word(story: Story) -> None:
    for _ in range(2):
        story.train(600).wait(150)
    story.train(600)
    story.marks = story.marks[-512:]  # as many as the history keeps
    case = case_of(story.wait(61).view(), SilenceLimits())
    assert case.limit_s == pytest.approx(1.5 * 151)
    assert case.limit_steps == pytest.approx(1.5 * 151)
    assert case.longest_s == 151
    assert not case.open


def test_one_pause_is_no_habit(story: Story) -> None:
    story.train(600).wait(500).train(600)
    assert case_of(story.wait(61).view(), SilenceLimits()).limit_s == 60


def test_nobody_waits_for_a_pause_for_ever(story: Story) -> None:
    for _ in range(3):
        story.train(600).wait(9000)
    story.train(600)
    story.marks = story.marks[-512:]
    case = case_of(story.wait(61).view(), SilenceLimits())
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


def test_what_is_announced_when_it_is_over_was_unannounced(story: Story) -> None:
    for _ in range(3):
        story.train(100).wait(150).phase("evaluate")
    story.train(20)
    learned = pauses(story)
    assert learned.seen["evaluate"] == learned.seen["other"] == 3
    assert learned.timetable is not None
    assert learned.timetable.period == 100


def test_a_log_that_turns_to_every_five_hundredth_step_does_not_pause(story: Story) -> None:
    story.train(100, 0.25).train(40, 125, by=500)
    assert "other" not in pauses(story).seen


def test_a_run_that_gets_slow_does_not_pause_for_ever(story: Story) -> None:
    story.train(100).train(100, 9.0)
    assert pauses(story).seen["other"] == 8
    assert pauses(story).usual_s == pytest.approx(9.0)


def test_short_pauses_beside_long_ones_are_waited_for_anywhere(story: Story) -> None:
    for n in range(12):
        story.train(53 + n).wait(50).train(447 - n).wait(400)
    story.train(20)
    learned = pauses(story)
    assert learned.timetable is not None
    assert learned.timetable.period == 500
    assert learned.expected_pause(story.number, 1.0) == 51
    assert learned.expected_pause(6500, 1.0) == 401


def test_values_that_are_no_numbers_teach_nothing(story: Story) -> None:
    story.train(20, epoch=float("inf")).step(number=float("nan")).step(number=float("inf"))
    again = Pauses()
    again.restore(json.loads(json.dumps(pauses(story).save(), allow_nan=False)))
    assert again.save() == pauses(story).save()


regular = st.fixed_dictionaries(
    {
        "period": st.integers(40, 200),
        "pause_s": st.floats(70.0, 1100.0),
        "every_s": st.floats(0.2, 4.0),
        "often": st.sampled_from((0, 2, 5)),
        "restarts": st.booleans(),
    }
)


@settings(max_examples=30)
@given(told=regular, dies=st.floats(0.05, 0.95))
def test_regular_pauses_open_no_case_and_a_death_elsewhere_soon_does(
    told: dict[str, float], dies: float
) -> None:
    story, period = Story(), int(told["period"])
    for nth in range(1, 9):
        story.train(period, told["every_s"])
        longer = 1.4 if told["often"] and nth % told["often"] == 0 else 1.0
        story.wait(longer * told["pause_s"])
        story.marks = story.marks[-512:]
        if nth > 3:
            assert not case_of(story.view(), SilenceLimits()).open, nth
        if told["restarts"] and nth == 5:
            after = Pauses()
            after.restore(json.loads(json.dumps(pauses(story).save())))
            story.accumulators[Pauses] = after
    at = min(max(3, round(dies * period)), period - 3)
    story.train(at, told["every_s"])
    assert case_of(story.wait(61).view(), SilenceLimits()).limit_s == 60


def test_pauses_of_a_sparse_log_are_no_part_of_its_pace(story: Story) -> None:
    for nth in range(30):
        story.train(11, 125.0, by=500).step(455.0 + 9 * nth, by=500)
    story.train(5, 125.0, by=500)
    learned = pauses(story)
    assert learned.usual_s == pytest.approx(125.0, rel=0.01)
    assert learned.timetable is not None
    assert learned.timetable.period == 6000
    assert case_of(story.wait(61).view(), SilenceLimits()).limit_s == pytest.approx(375)
