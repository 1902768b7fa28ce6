"""Skipped steps: how a loss scaler works, and how it gives up."""

from __future__ import annotations

from typing import Any

from middlewatch.sentinels.kit import Severity

from .story import Story


def skip(story: Story, scale: float | None = None, **more: Any) -> Story:
    if scale is not None:
        more["loss_scale"] = scale
    return story.says("overflow_skip", severity="info", fatal=False, **more)


def test_a_scaler_finds_its_scale(story: Story) -> None:
    for power in range(32, 14, -1):
        skip(story, 2.0**power)
    assert story.train(20).asks("loss_scale") == []


def test_a_growing_scale_is_taken_back(story: Story) -> None:
    for _ in range(6):
        skip(story.train(1000, 0.1), 65536.0)
    assert story.asks("loss_scale") == []


def test_one_skip_after_another_in_the_middle_of_a_run(story: Story) -> None:
    story.train(300)
    for power in range(6, 1, -1):
        assert story.asks("loss_scale") == []
        skip(story.step(), 2.0**power)
    (finding,) = story.asks("loss_scale")
    assert (finding.trouble, finding.severity) == ("overflow_skip", Severity.WARNING)
    assert finding.summary == "the loss scaler skipped 5 steps since step 301; the loss scale is 4"
    assert story.train(101).asks("loss_scale") == []


def test_eight_ranks_say_the_same(story: Story) -> None:
    story.train(300)
    for rank in range(8):
        skip(story, 1024.0, rank=rank)
    assert story.asks("loss_scale") == []


def test_a_scale_below_one(story: Story) -> None:
    (finding,) = skip(story.train(20), 0.5).asks("loss_scale")
    assert finding.trouble == "overflow_skip"


def test_no_scale_is_left(story: Story) -> None:
    story.train(20)
    for power in range(-2, -14, -1):
        skip(story, 2.0**power)
    found = {f.trouble: f for f in story.asks("loss_scale")}
    assert found["loss_scale_exhausted"].severity is Severity.CRITICAL
    assert found["loss_scale_exhausted"].fatal
    found = {f.trouble: f for f in story.train(3).asks("loss_scale")}
    assert not found["loss_scale_exhausted"].fatal


def test_the_program_gives_up(story: Story) -> None:
    (finding,) = story.train(20).says("loss_scale_exhausted").asks("loss_scale")
    assert (finding.trouble, finding.severity) == ("loss_scale_exhausted", Severity.CRITICAL)
    assert story.train(3).asks("loss_scale") == []


def test_an_old_log_has_a_note_of_every_skip(story: Story) -> None:
    (finding,) = skip(story.replayed().train(5)).train(5).asks("loss_scale")
    assert finding.severity is Severity.INFO


def test_reports_at_the_least_scale(story: Story) -> None:
    story.train(60, loss_scale=65536.0)
    assert story.train(9, loss_scale=1.0).asks("loss_scale") == []
    (finding,) = story.train(1, loss_scale=1.0).asks("loss_scale")
    assert (finding.trouble, finding.severity) == ("loss_scale_exhausted", Severity.CRITICAL)
    assert (finding.line, finding.decided_line) == (61, 70)
    assert finding.summary == "the loss scale stays at its minimum of 1 since step 61"
    assert story.train(1, loss_scale=2.0).asks("loss_scale") == []


def test_a_scale_of_one_that_was_never_another(story: Story) -> None:
    assert story.train(80, loss_scale=1.0).asks("loss_scale") == []


def test_a_count_of_all_skipped_steps_says_nothing_new_while_it_stays(story: Story) -> None:
    for skipped in (0.0, 6.0, 12.0, 13.0):
        story.train(60, loss_scale=1024.0, skipped=skipped)
        story.train(1, loss_scale=512.0)  # "gradient overflow: loss scale 1024 -> 512"
        assert story.asks("loss_scale") == []


def test_a_scaler_that_tries_larger_scales_often(story: Story) -> None:
    for report in range(30):
        story.train(10, loss_scale=None)
        story.step(1.0, loss_scale=1024.0 / (1 + report % 2), skipped=float(report))
    assert story.asks("loss_scale") == []


def test_reports_of_skipped_steps_in_a_row(story: Story) -> None:
    names = {"loss_scale": 1024.0, "number of skipped iterations": 1.0}
    assert story.train(20, **names).asks("loss_scale") == []
    story.train(40, loss_scale=1024.0, **{"number of skipped iterations": 0.0})
    assert story.train(3, **names).asks("loss_scale") == []
    (finding,) = story.train(1, **names).asks("loss_scale")
    assert (finding.trouble, finding.severity) == ("overflow_skip", Severity.WARNING)
    assert finding.details["step"] == 61
    assert story.train(1, loss_scale=1024.0).asks("loss_scale") == []
