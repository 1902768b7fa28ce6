"""Processes that a signal has stopped."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit import ProcessesSeen, ProcessSample, Severity
from middlewatch.sentinels.stopped import Limits

from .story import MAIN, Story, sample, samples


def test_a_stopped_process_is_told_within_fifteen_seconds(story: Story) -> None:
    story.train(30).idle(20)
    assert story.idle(10, *samples("T")).asks("stopped") == []
    (finding,) = story.idle(1, *samples("T")).asks("stopped")
    assert (finding.trouble, finding.severity) == ("stopped", Severity.CRITICAL)
    assert finding.remedy == f"kill -CONT {MAIN}"
    assert not finding.fatal, "nothing is lost yet"


def test_the_time_is_that_of_the_whole_stop(story: Story) -> None:
    (finding,) = story.idle(60, *samples("T")).asks("stopped")
    assert finding.summary == f"process {MAIN} is stopped (state T) for 59 s"


@pytest.mark.parametrize("state", ["R", "S", "D", "t", "Z"])
def test_other_states(story: Story, state: str) -> None:
    assert story.idle(60, *samples(state)).asks("stopped") == []


def test_a_debugger_that_attaches_for_moments(story: Story) -> None:
    for _ in range(6):
        story.idle(8, *samples("T")).idle(1)
    assert story.asks("stopped") == []


def test_it_is_over_at_once_after_it_goes_on(story: Story) -> None:
    assert story.idle(30, *samples("T")).idle(1).asks("stopped") == []


def test_some_of_many(story: Story) -> None:
    workers = [sample(pid=200 + n, state="T", rank=n) for n in range(12)]
    story.idle(30, sample(), *workers)
    (finding,) = story.asks("stopped")
    assert finding.summary.startswith("process 200 and 11 more is stopped")
    assert finding.details["pids"] == [w.pid for w in workers]
    assert len(finding.evidence) == 4
    assert finding.remedy.count(" ") == 9, "no more than eight pids in one command"


def test_the_main_process_is_named_first(story: Story) -> None:
    story.idle(30, sample(state="T"), sample(pid=7, state="T"))
    (finding,) = story.asks("stopped")
    assert finding.summary.startswith(f"process {MAIN} and 1 more")


def test_one_that_was_just_joined_by_another(story: Story) -> None:
    story.idle(30, sample(state="T"), sample(pid=7))
    story.idle(3, sample(state="T"), sample(pid=7, state="T"))
    (finding,) = story.asks("stopped")
    assert finding.details["pids"] == [MAIN]


def test_nothing_to_look_at(story: Story) -> None:
    assert story.asks("stopped") == []
    story.looks.append(ProcessesSeen(story.now, ()))
    assert story.asks("stopped") == []
    assert story.idle(30, *samples("T")).replayed().asks("stopped") == []


def test_patience_is_a_setting(story: Story) -> None:
    story.idle(30, *samples("T"))
    assert story.asks("stopped", Limits(for_s=60)) == []


def with_other(cpu_s: float) -> list[ProcessSample]:
    """The main process stands still; another one has used so much CPU time."""
    return [sample(state="T"), sample(pid=200, start_ticks=9, cpu_s=cpu_s, state="R")]


def test_a_job_that_the_run_lets_go_before(story: Story) -> None:
    story.idle(30, *samples())
    for second in range(60):
        story.idle(1, *with_other(0.9 * second))
    assert story.asks("stopped") == []
    for second in range(60, 105):
        story.idle(1, *with_other(0.9 * second))
    assert len(story.asks("stopped")) == 1, "that was long"


def test_a_new_process_that_does_nothing_excuses_nothing(story: Story) -> None:
    story.idle(30, *samples()).idle(3, *samples("T"))
    assert len(story.idle(30, *with_other(0.1)).asks("stopped")) == 1


def test_a_rank_that_waits_for_the_stopped_one_is_not_new(story: Story) -> None:
    story.idle(30, sample(), sample(pid=200, start_ticks=7))
    for second in range(30):
        story.idle(1, *with_other(9.0 + second))
    assert len(story.asks("stopped")) == 1


def test_two_that_take_turns(story: Story) -> None:
    """A small scheduler stops one of two trainings and lets the other go on."""
    for turn in range(6):
        states = ("T", "S") if turn % 2 else ("S", "T")
        for _ in range(12):
            story.grow()  # the one that was not stopped
            story.idle(1, sample(state=states[0]), sample(pid=200, start_ticks=9, state=states[1]))
            assert story.asks("stopped") == []


def test_a_pause_through_which_the_run_reports(story: Story) -> None:
    story.train(30).idle(20)
    for _ in range(90):
        story.grow().idle(1, sample(state="T"), sample(pid=200, start_ticks=9))
    assert story.asks("stopped") == []
    for _ in range(15):
        story.grow().idle(1, sample(state="T"), sample(pid=200, start_ticks=9))
    assert len(story.asks("stopped")) == 1, "that was long"


def test_a_stop_after_which_one_more_line_comes(story: Story) -> None:
    story.train(30).idle(20).idle(1, *samples("T")).grow()
    assert story.idle(9, *samples("T")).asks("stopped") == []
    assert len(story.idle(2, *samples("T")).asks("stopped")) == 1
