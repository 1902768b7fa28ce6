"""Runs that are gone without a word."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.sentinels.kit import LastWords, ProcessesSeen, Severity
from middlewatch.sentinels.silent_end import Limits, completed, planned

from .story import Story, samples


def test_exit_0_before_the_last_step(story: Story) -> None:
    story.train(30, total=1000).end(0)
    assert story.wait(2.4).asks("silent_end") == []
    (finding,) = story.wait(0.2).asks("silent_end")
    assert (finding.trouble, finding.severity) == ("silent_end", Severity.CRITICAL)
    assert finding.fatal
    assert finding.summary == (
        "the run ended at step 30 of 1000 with exit status 0, and nothing says why"
    )
    assert finding.details == {"exitcode": 0, "step": 30, "total": 1000}


def test_the_command_line_may_know_the_plan(story: Story) -> None:
    story.run(expected_steps=600.0).train(30).end(0).wait(3)
    (finding,) = story.asks("silent_end")
    assert " at step 30 of 600 " in finding.summary


def test_a_process_that_nobody_saw_ending(story: Story) -> None:
    (finding,) = story.train(30).end().wait(3).asks("silent_end")
    assert finding.severity is Severity.WARNING, "that nobody saw it proves nothing"
    assert finding.summary == "the process is gone after step 30; its exit status is not known"


def test_before_its_first_step(story: Story) -> None:
    (finding,) = story.end().wait(3).asks("silent_end")
    assert finding.summary.startswith("the process is gone before its first step; its exit")


def test_after_a_restart_of_the_watch_the_marks_are_left(story: Story) -> None:
    story.train(30)
    story.steps.clear()
    (finding,) = story.end().wait(3).asks("silent_end")
    assert "after step 30;" in finding.summary


@pytest.mark.parametrize("last", [1000, 999, 991])
def test_the_end_of_the_plan(story: Story, last: int) -> None:
    story.train(20, total=1000).step(number=last, total=1000).end(0).wait(3)
    assert story.asks("silent_end") == []
    story.endings.clear()
    assert story.end().wait(3).asks("silent_end") == []


def test_the_last_report_may_lag_an_interval_behind(story: Story) -> None:
    story.train(19, by=50, total=1000)
    assert story.end(0).wait(3).asks("silent_end") == []
    story = Story().train(18, by=50, total=1000).end(0).wait(3)
    assert len(story.asks("silent_end")) == 1


def test_exit_0_without_a_plan(story: Story) -> None:
    assert story.train(30).end(0).wait(3).asks("silent_end") == []
    assert Story().run(expected_steps=600.0).end(0).wait(3).asks("silent_end") == []


def test_a_farewell_counts_where_no_plan_is_known(story: Story) -> None:
    assert story.train(30).phase("done").end().wait(3).asks("silent_end") == []


def test_the_data_ended_before_the_training(story: Story) -> None:
    """The program saves what it has, says that it is done, and leaves with status 0."""
    said = "Data iterator can not provide data anymore but required total number is not reached"
    words = LastWords("saved final.pt", 40, farewell="results", said="saved final.pt", ran_out=said)
    story.train(30, total=1000).end(0)
    (finding,) = story.wait(3).asks("silent_end", last_words={"l": words})
    assert (finding.trouble, finding.severity) == ("silent_end", Severity.CRITICAL)
    assert said in finding.summary


def test_an_early_stop_after_the_data_of_an_epoch(story: Story) -> None:
    words = LastWords(
        "early stop", 40, farewell="stop", said="early stop", ran_out="loader exhausted"
    )
    story.train(30, total=1000).end(0).wait(3)
    assert story.asks("silent_end", last_words={"l": words}) == []


def test_data_that_ended_with_the_training(story: Story) -> None:
    """One pass over a stream, as it was meant: no plan is known, and the line speaks of none."""
    words = LastWords("bye", 40, farewell="end", said="bye", ran_out="stream exhausted")
    assert story.train(30).end(0).wait(3).asks("silent_end", last_words={"l": words}) == []


def test_a_claim_that_counts_less_than_was_planned(story: Story) -> None:
    said = "Training complete (global step 200 of 1000)"
    words = LastWords(said, 40, farewell="end", said=said, short_of=(200, 1000))
    (finding,) = story.train(30).end(0).wait(3).asks("silent_end", last_words={"l": words})
    assert " at 200 of 1000 by its own count with exit status 0" in finding.summary


def test_a_farewell_before_the_last_step_does_not(story: Story) -> None:
    story.train(30).phase("done").train(2).end().wait(3)
    assert len(story.asks("silent_end")) == 1
    # a bar is drawn once more when it is closed
    assert Story().train(30).phase("done").step().end().wait(3).asks("silent_end") == []


def test_a_farewell_that_was_read_together_with_the_steps(story: Story) -> None:
    story.phase("done").train(30, 0.0).end().wait(3)
    assert len(story.asks("silent_end")) == 1
    story = Story().train(30, 0.0).phase("done").end().wait(3)
    assert story.asks("silent_end") == []


def test_a_farewell_replaces_the_plan(story: Story) -> None:
    """Of a program that says that it is done and then ends, the plan was misread, or changed."""
    assert story.train(30, total=1000).phase("done").end(0).wait(3).asks("silent_end") == []
    assert Story().train(30, total=1000).phase("done").end().wait(3).asks("silent_end") == []


def _words(**fields: Any) -> dict[str, Any]:
    return {"last_words": {"/data/train.log": LastWords("the last line", **fields)}}


@pytest.mark.parametrize("code", [0, None])
def test_an_announced_stop(story: Story, code: int | None) -> None:
    story.train(30, total=1000).end(code).wait(3)
    assert len(story.asks("silent_end")) == 1
    assert story.asks("silent_end", **_words(farewell="stop", said="patience is exhausted")) == []


def test_a_counter_that_no_grammar_knows(story: Story) -> None:
    story.train(30).end().wait(3)
    assert story.asks("silent_end", **_words(reached=True, counted=(40.0, 40.0))) == []
    well = Story().train(30).end(0).wait(3)
    assert well.asks("silent_end", **_words(reached=False, counted=(40.0, 40.0))) == []
    (finding,) = story.asks("silent_end", **_words(reached=False, counted=(12.0, 40.0)))
    assert finding.summary == (
        "the process is gone after 12 of 40 by its own count; its exit status is not known;"
        " last line: the last line"
    )


def test_results_are_no_end_of_a_plan_that_was_not_reached(story: Story) -> None:
    results = _words(farewell="results", said="best accuracy 0.91")
    story.train(30, total=1000).end().wait(3)
    assert len(story.asks("silent_end", **results)) == 1
    story.endings.clear()
    assert story.end(0).wait(3).asks("silent_end", **results) == [], "it exited with 0"
    assert Story().train(30).end().wait(3).asks("silent_end", **results) == [], "no plan"


def test_a_save_after_the_last_step_and_exit_0(story: Story) -> None:
    story.train(30, total=1000).wait(1).phase("save").end(0).wait(3)
    assert story.asks("silent_end") == []
    story.endings.clear()
    assert len(story.end().wait(3).asks("silent_end")) == 1, "the status is not known"


def test_workers_that_were_left_behind_show_a_kill(story: Story) -> None:
    story.train(30, total=1000).end().wait(1)
    story.looks.append(ProcessesSeen(story.now, samples(pid=101)))
    story.wait(2)
    (finding,) = story.asks("silent_end")
    assert finding.severity is Severity.CRITICAL
    assert "1 of its processes were left behind" in finding.summary


@pytest.mark.parametrize(("code", "signal"), [(1, None), (137, None), (None, 9)])
def test_a_bad_status_is_told_elsewhere(story: Story, code: int | None, signal: int | None) -> None:
    assert story.train(30, total=99).end(code, signal).wait(3).asks("silent_end") == []


def test_an_error_in_the_log_is_told_elsewhere(story: Story) -> None:
    story.train(30, total=99).says("python_exception").end().wait(3)
    assert story.asks("silent_end") == []


def test_an_error_that_was_overcome_explains_nothing(story: Story) -> None:
    story.train(30, total=99).says("python_exception").train(2).end().wait(3)
    assert len(story.asks("silent_end")) == 1


def test_the_kernel_log_is_about_the_whole_box(story: Story) -> None:
    story.train(30).says("host_oom_kill", file="kernel").end().wait(3)
    assert len(story.asks("silent_end")) == 1


def test_a_living_run_and_an_old_log(story: Story) -> None:
    story.train(30, total=99).wait(600)
    assert story.asks("silent_end") == []
    assert story.end().wait(3).replayed().asks("silent_end") == []


def test_settings(story: Story) -> None:
    story.train(80, total=100).end(0).wait(3)
    assert story.asks("silent_end", Limits(settle_s=10)) == []
    assert story.asks("silent_end", Limits(slack_ratio=0.2)) == []


def test_planned_and_completed(story: Story) -> None:
    story.run(expected_steps=600.0)
    assert planned(story.view()) == 600
    assert not completed(story.view())
    story.step(total=1000).step()
    assert planned(story.view()) == 1000, "the log knows better"
    assert completed(story.step(number=1000).view())
    assert not completed(story.train(3, number=None).step(number=3).view()), "it began anew"


def test_a_jump_is_no_interval(story: Story) -> None:
    """Resumed at half of the plan, and gone soon after."""
    story.step(total=1000).step(number=500, total=1000).train(9, total=1000)
    assert not completed(story.view())
