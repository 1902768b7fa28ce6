"""Runs that are complete and live on."""

from __future__ import annotations

from middlewatch.sentinels.kit import Finding, Severity, StackSeen

from .story import MIB, Story, samples


def told(story: Story) -> Finding:
    (finding,) = story.asks("not_exiting")
    return finding


def finished(story: Story) -> Story:
    return story.train(60, total=60)


def test_a_minute_is_a_warning_and_ten_wake(story: Story) -> None:
    assert finished(story).idle(59).asks("not_exiting") == []
    finding = told(story.idle(1))
    assert (finding.trouble, finding.severity) == ("not_exiting", Severity.WARNING)
    assert finding.summary == (
        "the run reached step 60 and does not exit: nothing happened for 60 s, "
        "and the box is still billed"
    )
    assert finding.remedy.startswith("check that the last checkpoint is whole")
    assert finding.details["pids"] == [100]
    assert told(story.idle(540)).severity is Severity.CRITICAL


def test_the_log_said_that_it_is_done(story: Story) -> None:
    assert len(story.train(60).phase("done").idle(60).asks("not_exiting")) == 1
    assert Story().train(60).phase("done").train(3).idle(80).asks("not_exiting") == []


def test_a_bar_that_is_drawn_once_more_after_it_was_done(story: Story) -> None:
    assert len(story.train(60).phase("done").step(0.0).idle(60).asks("not_exiting")) == 1


def test_where_it_stands(story: Story) -> None:
    finished(story).idle(70)
    frames = ("join (python/threading.py:1147)", "shutdown (train.py:9)")
    story.stacks.append(StackSeen(story.now, 100, frames, own=1))
    assert "pid 100 in join at train.py:9" in [e.text for e in told(story).evidence]


def test_code_of_its_own_may_have_more_to_do(story: Story) -> None:
    """Statistics of averaged weights, a last test: a loader that sleeps uses no CPU."""
    finished(story).idle(70)
    frames = ("__getitem__ (train.py:30)", "fetch (torch/utils/data/_utils/fetch.py:54)")
    story.stacks.append(StackSeen(story.now, 100, frames, own=0))
    assert story.asks("not_exiting") == []
    story.idle(105)
    story.stacks.append(StackSeen(story.now, 100, frames, own=0))
    assert story.asks("not_exiting") == []
    assert told(story.idle(5)).severity is Severity.WARNING


def test_a_last_save_or_upload(story: Story) -> None:
    assert finished(story).lives(90, 0.01, 2.0 * MIB).asks("not_exiting") == []
    assert finished(Story()).lives(90, 0.1, 0.0).asks("not_exiting") == []
    assert finished(Story()).idle(90, *samples("R")).asks("not_exiting") == []
    story = finished(Story()).idle(50).grow().idle(50)
    assert story.asks("not_exiting") == [], "its log goes on"
    assert story.idle(10).asks("not_exiting", saving_at=story.now - 5) == []


def test_a_counter_that_turned_twice_is_that_of_an_epoch(story: Story) -> None:
    """Its last report is not at its total: every sixth of 23 batches is told."""
    for _ in range(3):
        for batch in (6.0, 12.0, 18.0):
            story.step(number=batch, total=23.0)
    assert story.idle(90).asks("not_exiting") == []


def test_one_that_was_resumed_twice_from_a_save_is_none(story: Story) -> None:
    for first in (1, 50, 50):
        for step in range(first, 59):
            story.step(number=float(step), total=60.0)
    story.step(number=59.0, total=60.0).step(number=60.0, total=60.0)
    assert len(story.idle(90).asks("not_exiting")) == 1


def test_what_others_tell(story: Story) -> None:
    assert story.train(60).idle(90).asks("not_exiting") == [], "a hang"
    assert finished(Story()).idle(90, *samples("T")).asks("not_exiting") == []
    assert finished(Story()).idle(90, *samples("D")).asks("not_exiting") == []
    story = finished(Story()).idle(90)
    assert len(story.asks("not_exiting")) == 1
    assert story.asks("not_exiting", gap_s=30.0) == [], "the watch was away"
    assert story.end(0).asks("not_exiting") == []


def test_no_looks_no_verdict(story: Story) -> None:
    assert finished(story).wait(900).asks("not_exiting") == []
    story.idle(2)
    assert story.asks("not_exiting") == []
