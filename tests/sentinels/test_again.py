"""Programs that fail inside a run that goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from middlewatch.sentinels.kit import ProcessesSeen, Severity

from .story import Story, sample

BAD_RECORD: Any = {"exception": "JSONDecodeError", "message": "Unterminated string: char 41"}


def fails(story: Story, message: str = "Unterminated string: char 41", **other: object) -> Story:
    """The program ends with an exception, as its parent sees it as well."""
    details: Any = {"exception": "JSONDecodeError", "message": message, **other}
    story.says("python_exception", f"JSONDecodeError: {message}", **details)
    return story.wait(1).end(1, main=False, pid=200).wait(1)


def attempt(story: Story, first: int, last: int) -> Story:
    story.number = first - 1
    return story.wait(4).train(last - first + 1)


def test_a_wrapper_that_starts_it_again_and_again(story: Story) -> None:
    fails(attempt(story, 1, 91))
    fails(attempt(story, 80, 91))
    assert story.asks("crash") == [], "one retry may be luck"
    fails(attempt(story, 80, 91), "Unterminated string: char 977")
    (finding,) = story.asks("crash")
    assert (finding.trouble, finding.severity) == ("python_exception", Severity.CRITICAL)
    assert finding.key == "loop"
    assert finding.summary.startswith("JSONDecodeError: Unterminated string: char 977: 3 times in ")
    assert "no step beyond 91" in finding.summary
    assert not finding.fatal, "the run is still there"
    assert finding.since == story.events[0].at


def test_without_any_step(story: Story) -> None:
    for _ in range(3):
        fails(story.wait(6))
    (finding,) = story.asks("crash")
    assert finding.key == "loop"


def test_retries_that_come_further_are_no_loop(story: Story) -> None:
    for last in (91, 140, 200):
        fails(attempt(story, last - 11, last))
    assert story.asks("crash") == []


def test_other_exceptions_are_no_loop(story: Story) -> None:
    for name in ("KeyError", "JSONDecodeError", "OSError"):
        fails(attempt(story, 80, 91), exception=name)
    assert story.asks("crash") == []


def test_ranks_that_fail_together_fail_once(story: Story) -> None:
    story.train(20)
    for rank in range(8):
        story.says("python_exception", rank=rank, **BAD_RECORD).wait(0.5)
    assert story.asks("crash") == []


def test_reports_without_steps_may_be_progress(story: Story) -> None:
    for n in range(4):
        story.train(5 + n, number=None).says("python_exception", **BAD_RECORD)
    assert story.asks("crash") == []


def test_reports_without_steps_that_are_never_more_are_none(story: Story) -> None:
    for _ in range(3):
        story.train(5, number=None).says("python_exception", **BAD_RECORD)
    assert [f.key for f in story.asks("crash")] == ["loop"]
    assert [f.key for f in story.train(5, number=None).asks("crash")] == ["loop"]
    assert story.train(5, number=None).asks("crash") == [], "it has come further"


def test_equal_jobs_of_a_queue_that_reach_their_last_epoch_are_none(story: Story) -> None:
    for _ in range(4):
        for epoch in range(1, 6):
            story.step(number=None, epoch=float(epoch), epochs=5.0)
        story.says("python_exception", **BAD_RECORD).wait(5)
    assert story.asks("crash") == []


def test_a_loop_that_was_left_is_over(story: Story) -> None:
    for _ in range(3):
        fails(attempt(story, 80, 91))
    assert story.asks("crash")
    assert attempt(story, 80, 95).asks("crash") == []


def test_the_next_job_of_a_queue_goes_on_without_the_one_that_failed(story: Story) -> None:
    fails(story.train(40))
    assert story.asks("crash") == []
    (finding,) = attempt(story, 1, 3).asks("crash")
    assert (finding.key, finding.severity) == ("part", Severity.WARNING)
    assert "the run goes on with another one" in finding.summary
    assert story.train(100).asks("crash"), "it stays failed"
    story.end(0)
    assert story.wait(9).asks("crash"), "and when all are done as well"


def test_the_next_job_of_a_queue_goes_on_without_the_one_that_was_ended(story: Story) -> None:
    story.train(50).says("sigterm_received", "Terminated", role="cascade")
    story.events[-1] = replace(story.events[-1], signature="terminated-word")
    story.end(main=False, pid=77)
    assert story.asks("crash") == []
    (finding,) = attempt(story, 1, 3).asks("crash")
    assert (finding.trouble, finding.key) == ("sigterm_received", "part")


def test_epochs_count_where_there_are_no_steps(story: Story) -> None:
    story.step(number=None, epoch=1.0)
    fails(story)
    story.wait(3).step(number=None, epoch=1.0)
    assert [f.key for f in story.asks("crash")] == ["part"]


@pytest.mark.parametrize("first", [80, 60])
def test_a_resume_nearby_is_nobody_s_trouble(story: Story, first: int) -> None:
    fails(attempt(story, 1, 91))
    assert attempt(story, first, first + 9).asks("crash") == []


def test_a_kill_after_which_it_begins_from_the_beginning(story: Story) -> None:
    story.train(160).end(signal=9, main=False, pid=200, name="python")
    assert story.asks("crash") == []
    (finding,) = attempt(story, 1, 3).asks("crash")
    assert (finding.trouble, finding.key) == ("process_killed", "part")
    assert finding.severity is Severity.WARNING
    assert finding.summary == (
        "process 200 python was killed (SIGKILL); after it the steps begin from the beginning"
    )


def test_a_kill_after_which_it_goes_on_nearby(story: Story) -> None:
    story.train(160).end(signal=9, main=False, pid=200)
    assert attempt(story, 141, 160).asks("crash") == []


def test_a_worker_that_ends_with_its_epoch(story: Story) -> None:
    for epoch in (1.0, 2.0, 3.0):
        story.number = 0
        story.train(20, epoch=epoch).end(signal=9, main=False, pid=200 + int(epoch))
    assert story.asks("crash") == []


def test_a_program_that_begins_at_the_same_save_each_time(story: Story) -> None:
    story.train(160)
    for _ in range(3):
        assert story.asks("hang") == []
        story.end(1, main=False, pid=77)
        attempt(story, 141, 160)
    (finding,) = story.asks("hang")
    assert finding.key == "rounds"


def test_a_run_that_rolls_back_again_and_again(story: Story) -> None:
    story.train(117)
    for _ in range(3):
        attempt(story, 101, 117)
    assert story.asks("hang") == []
    (finding,) = attempt(story, 101, 103).asks("hang")
    assert (finding.trouble, finding.key, finding.severity) == ("hang", "rounds", Severity.CRITICAL)
    assert finding.summary == "no step beyond 117: the run went back 4 times, to step 101 now"
    attempt(story, 104, 130)
    assert story.asks("hang") == [], "it came further"


def test_counters_that_begin_with_every_epoch_are_no_rounds(story: Story) -> None:
    for _ in range(9):
        attempt(story, 1, 30)
    assert story.asks("hang") == []
    for epoch in range(9):
        story.number = 70
        story.train(30, epoch=float(epoch))
    assert story.asks("hang") == []


def test_an_exception_that_ended_nothing(story: Story) -> None:
    story.train(40).says("python_exception", **BAD_RECORD)
    assert attempt(story, 1, 20).asks("crash") == []


@pytest.mark.parametrize(("before", "told"), [(True, False), (False, True)])
def test_an_error_that_the_script_tolerates(story: Story, before: bool, told: bool) -> None:
    """The optional export of every job fails; the queue goes on, and ends well."""
    story.train(20)
    if before:
        story.says("python_exception", **BAD_RECORD)
    story.wait(5).train(20).says("python_exception", **BAD_RECORD)
    story.end(0, name="bash").wait(5)
    assert bool(story.asks("crash")) is told


@pytest.mark.parametrize(("later_s", "trouble"), [(8, "python_exception"), (0, "process_killed")])
def test_the_program_after_one_that_was_killed_fails_for_itself(
    story: Story, later_s: int, trouble: str
) -> None:
    """A kill cuts a save off, and the next start stumbles over it; or both are of one program."""
    story.train(60).says("process_killed", "start.sh: line 7: 12 Killed python gan.py")
    story.events[-1] = replace(story.events[-1], signature="killed-word")
    story.wait(later_s).says("python_exception", **BAD_RECORD).end(1).wait(5)
    (finding,) = story.asks("crash")
    assert finding.trouble == trouble


def test_errors_that_are_logged_while_the_epochs_go_on_are_no_loop(story: Story) -> None:
    """Broken samples are replaced, with a traceback; the steps are counted within each epoch."""
    for epoch in (1.0, 2.0, 3.0, 4.0):
        for number in (0.0, 10.0, 20.0, 30.0):
            story.step(number=number, epoch=epoch, total=40.0).wait(4)
            if epoch > 1.0:
                story.says("python_exception", **BAD_RECORD)
        assert story.asks("crash") == []


@pytest.mark.parametrize(("main", "told"), [("python", False), ("bash", True)])
def test_what_a_program_logs_again_and_again_it_has_caught(
    story: Story, main: str, told: bool
) -> None:
    """Unreadable files, before the first step: only who starts programs can start one again."""
    for _ in range(4):
        story.lives(8, 0.9, None, sample(name=main)).says("python_exception", **BAD_RECORD)
    assert bool(story.asks("crash")) is told


def test_a_search_that_skips_what_cannot_be_built_and_ends_well(story: Story) -> None:
    """Its own end is not that of a program that was started again."""
    for _ in range(4):
        story.lives(8, 0.9, None, sample(name="python")).says("python_exception", **BAD_RECORD)
    assert story.end(0).wait(3).asks("crash") == []


def raised(story: Story) -> Story:
    return story.says("python_exception", "TypeError: x", exception="TypeError", message="x")


def test_a_part_of_a_sweep_that_lived_too_briefly_to_be_seen(story: Story) -> None:
    """Its main process is a shell, so that the exception has ended a program, whoever saw that."""
    story.looks.append(ProcessesSeen(story.now, (sample(name="bash"),)))
    story.train(30).step(number=None)
    raised(story).wait(2)
    for n in range(1, 6):
        story.step(number=float(n))
    (finding,) = story.asks("crash")
    assert (finding.key, finding.severity) == ("part", Severity.WARNING)


@pytest.mark.parametrize(("apart_s", "told"), [(2.5, True), (0.1, False)])
def test_jobs_that_fail_within_seconds(story: Story, apart_s: float, *, told: bool) -> None:
    story.looks.append(ProcessesSeen(story.now, (sample(name="bash"),)))
    story.train(30)
    for _ in range(3):
        raised(story.wait(apart_s))
    found = [finding.key for finding in story.wait(1).asks("crash")]
    assert ("loop" in found) is told


@pytest.mark.parametrize(("there", "told"), [("python3", False), ("perl", True)])
def test_a_program_of_a_pipeline_that_logs_what_it_has_caught(
    story: Story, there: str, *, told: bool
) -> None:
    """It is a part of what a shell runs, and was there before the first of them and after the last."""
    both = (sample(name="bash"), sample(pid=9, name=there))
    story.train(30)
    for _ in range(8):
        story.looks.append(ProcessesSeen(story.now, both))
        raised(story.wait(2.5))
    story.looks.append(ProcessesSeen(story.wait(1).now, both))
    assert ("loop" in [finding.key for finding in story.asks("crash")]) is told


def test_a_candidate_of_a_search_that_fails_in_the_same_program(story: Story) -> None:
    """A shell is above it, and the counter of the next candidate begins anew."""
    both = (sample(name="bash"), sample(pid=9, name="python3"))
    story.looks.append(ProcessesSeen(story.now, both))
    story.train(30).step(number=None)
    raised(story).wait(2)
    for n in range(1, 6):
        story.step(number=float(n))
    story.looks.append(ProcessesSeen(story.now, both))
    assert story.asks("crash") == []


JOB: Any = {**BAD_RECORD, "script": "/data/queue/rank_job.py"}


def one_job(story: Story) -> Story:
    """A job of a queue that failed before anybody saw its process, and then the next one."""
    story.looks.append(ProcessesSeen(story.now, (sample(name="python3"),)))
    story.train(60).wait(1).says("python_exception", **JOB)
    return attempt(story.wait(1), 1, 5)


def test_a_job_that_was_never_seen_alive(story: Story) -> None:
    story.facts = replace(story.facts, command="python queue.py")
    (finding,) = one_job(story).asks("crash")
    assert (finding.key, finding.severity) == ("part", Severity.WARNING)


def test_an_exception_of_the_main_script_itself_was_caught(story: Story) -> None:
    story.facts = replace(story.facts, command="python rank_job.py")
    assert one_job(story).asks("crash") == []
