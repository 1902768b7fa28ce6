"""Saves that are whole, and hold NaN."""

from __future__ import annotations

import math
from dataclasses import replace

from middlewatch.sentinels.checkpoint_nonfinite import Limits
from middlewatch.sentinels.kit import Finding, Severity

from .saved import save
from .story import Story

WHY = "3 of 148 tensors are not finite: model.h.0.weight (4096 of 4096 NaN)"


def bad(story: Story, step: int) -> Story:
    return save(story, step, "corrupt", detail=WHY)


def told(story: Story) -> Finding:
    (finding,) = story.asks("checkpoint_nonfinite")
    return finding


def test_finite_saves_say_nothing(story: Story) -> None:
    save(save(story.train(5), 1), 2, "pending", level=None)
    assert story.asks("checkpoint_nonfinite") == []


def test_the_newest_one(story: Story) -> None:
    save(save(story.train(5), 1), 2)
    finding = told(bad(story, 3))
    assert (finding.trouble, finding.severity) == ("ckpt_nonfinite", Severity.CRITICAL)
    assert not finding.fatal
    assert finding.summary == (
        f"the newest checkpoint, out/step_3.pt (step 3), is not finite: {WHY}; "
        "the last finite one is out/step_2.pt (step 2)"
    )
    assert finding.remedy.startswith("keep /data/out/step_2.pt from deletion")
    assert "middlewatch resume" in finding.remedy
    assert finding.details["finite_step"] == 2.0
    assert finding.details["after_loss"] is False


def test_it_is_told_by_one_rule_only(story: Story) -> None:
    bad(save(story.train(5), 1), 2)
    assert story.asks("checkpoint_corrupt") == []
    save(story, 3, "corrupt", level="checksum")
    assert [f.details["step"] for f in story.asks("checkpoint_corrupt")] == [3.0]
    assert told(story).severity is Severity.WARNING


def test_it_is_told_after_the_end_as_well(story: Story) -> None:
    bad(save(story.train(5), 1), 2).end(0).wait(10)
    assert told(story).severity is Severity.CRITICAL


def test_one_whose_numbers_were_not_read_is_not_called_finite(story: Story) -> None:
    finding = told(bad(save(story, 1, level="structure"), 2))
    assert "the last whole one (its weights not read yet) is out/step_1.pt" in finding.summary


def test_one_that_was_read_is_named_before_a_newer_one_that_was_not(story: Story) -> None:
    finding = told(save(bad(save(story, 1), 2), 3, level="structure"))
    assert finding.summary.endswith("the last finite one is out/step_1.pt (step 1)")
    assert finding.details["finite_step"] == 1.0


def test_nobody_is_sent_to_an_unread_save_of_a_loss_that_was_nan(story: Story) -> None:
    story.train(9)
    story.train(4, train_loss=math.nan, text="loss nan")
    finding = told(save(bad(story, 12), 13, level="structure"))
    assert "no finite one is on disk" in finding.summary


def test_it_is_over_once_a_newer_one_was_read_and_is_finite(story: Story) -> None:
    assert told(bad(save(story, 1), 2)).details["over"] is False
    assert told(save(story, 3, level="structure")).details["over"] is False
    assert told(save(story, 3)).details["over"] is True
    found = bad(story, 4).asks("checkpoint_nonfinite")
    assert [(f.details["step"], f.details["over"]) for f in found] == [(4.0, False), (2.0, True)]


def test_none_is_left(story: Story) -> None:
    finding = told(bad(story, 1))
    assert "no finite one is on disk" in finding.summary
    assert "earlier copy" in finding.remedy


def test_saved_after_the_loss_was_nan(story: Story) -> None:
    story.train(9)
    save(story, 9)
    story.train(4, train_loss=math.nan, text="loss nan")
    finding = told(bad(story, 12))
    assert "; saved after the loss was nan (step 10); " in finding.summary
    assert finding.details["after_loss"] is True
    assert [e.kind for e in finding.evidence] == ["checkpoint", "checkpoint", "log"]
    assert [f.trouble for f in story.asks("nan_loss")] == ["loss_nan"]


def test_weights_that_broke_before_the_loss_did(story: Story) -> None:
    story.train(9)
    bad(story, 8)
    story.train(4, train_loss=math.nan)
    assert told(story).details["after_loss"] is False


def test_every_save_since_then_is_bad(story: Story) -> None:
    for step in range(1, 12):
        bad(story, step)
    found = story.asks("checkpoint_nonfinite")
    assert [f.severity for f in found] == [Severity.CRITICAL, *[Severity.WARNING] * 3]
    assert len(story.asks("checkpoint_nonfinite", Limits(told=1))) == 1


def test_it_is_over_when_a_finite_one_came_and_it_is_gone(story: Story) -> None:
    bad(save(story, 1), 2)
    save(story, 3)
    assert told(story).severity is Severity.WARNING
    story.checkpoints = [c for c in story.checkpoints if c.step != 2.0]
    assert story.asks("checkpoint_nonfinite") == []


def test_an_old_log_says_nothing_of_the_disk(story: Story) -> None:
    assert bad(story, 1).replayed().asks("checkpoint_nonfinite") == []


def test_the_best_weights_beside_it_do_not_take_its_place(story: Story) -> None:
    bad(save(story.train(5), 2), 3)
    whole = story.checkpoints[-1]
    best = replace(whole, path="/data/out/best.pt", bytes=1 << 28, state="ok", detail="")
    story.checkpoints.append(replace(best, saved_at=whole.saved_at + 1))
    finding = told(story)
    assert finding.severity is Severity.CRITICAL
    assert finding.details["finite"] == "/data/out/step_2.pt"
    story.checkpoints[-1] = replace(best, saved_at=whole.saved_at + 1, bytes=1 << 30)
    assert told(story).severity is Severity.WARNING
