"""Saves that are no good."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from middlewatch.sentinels.checkpoint_corrupt import Limits
from middlewatch.sentinels.kit import CheckpointSeen, Finding, Severity
from middlewatch.sentinels.kit.observations import VerifiedState

from . import saved
from .story import Story

save = partial(saved.save, level="checksum")


def told(story: Story) -> Finding:
    (finding,) = story.asks("checkpoint_corrupt")
    return finding


def test_good_saves_say_nothing(story: Story) -> None:
    save(save(story.train(5), 1), 2, "pending")
    assert story.asks("checkpoint_corrupt") == []


def test_the_newest_one_is_corrupt(story: Story) -> None:
    save(save(story.train(5), 1), 2)
    finding = told(save(story, 2, "corrupt", detail="the file is cut off"))
    assert (finding.trouble, finding.severity) == ("ckpt_corrupt", Severity.CRITICAL)
    assert not finding.fatal
    assert finding.summary == (
        "the newest checkpoint, out/step_2.pt (step 2), is corrupt: the file is cut off; "
        "valid is out/step_1.pt"
    )
    assert finding.remedy.endswith("from deletion: /data/out/step_1.pt")
    assert [e.kind for e in finding.evidence] == ["checkpoint", "checkpoint"]
    assert finding.details["level"] == "checksum"


def test_a_file_of_last_week_is_a_note_once_the_run_trains_without_it(story: Story) -> None:
    save(story, 1, "corrupt")
    (seen,) = story.checkpoints
    old = replace(
        seen, step=None, path="/data/out/encoder.pt", saved_at=story.facts.started_at - 999
    )
    story.checkpoints = [old]
    story.seen(old)
    assert told(story).severity is Severity.CRITICAL
    assert told(story.train(3)).severity is Severity.INFO


def test_an_older_one_is_a_warning(story: Story) -> None:
    save(save(save(story, 1, "corrupt"), 2), 3, "pending")
    assert told(story).severity is Severity.WARNING


def test_one_that_is_being_saved_does_not_hide_the_newest(story: Story) -> None:
    save(save(save(story, 1), 2, "corrupt"), 3, "pending")
    assert told(story).severity is Severity.CRITICAL
    assert told(save(story, 3)).severity is Severity.WARNING


def test_no_valid_one_is_left(story: Story) -> None:
    finding = told(save(story, 1, "corrupt"))
    assert "no valid one is left" in finding.summary
    assert "keep the run going" in finding.remedy


def test_a_folder_of_which_parts_are_missing(story: Story) -> None:
    finding = told(save(save(story, 1), 2, "incomplete", level="structure", detail="1 of 2 shards"))
    assert (finding.trouble, finding.severity) == ("ckpt_incomplete", Severity.INFO)


def test_what_a_kill_has_left(story: Story) -> None:
    left = CheckpointSeen(
        story.now, "/data/out/step_2.pt.tmp", story.now, 1 << 20, 1, "torch", state="incomplete"
    )
    story.seen(left)
    finding = told(story)
    assert (finding.trouble, finding.severity) == ("ckpt_incomplete", Severity.INFO)
    assert "never finished: out/step_2.pt.tmp (1.0 MiB)" in finding.summary
    gone = CheckpointSeen(story.now, left.path, story.now, 0, 0, "torch", detail="gone")
    story.seen(gone)
    assert story.asks("checkpoint_corrupt") == []


def test_it_is_over_when_it_is_gone(story: Story) -> None:
    save(save(story, 1), 2, "corrupt")
    assert told(story)
    story.checkpoints = story.checkpoints[:1]
    assert story.asks("checkpoint_corrupt") == []


@pytest.mark.parametrize("state", ["ok", "pending", "unverifiable"])
def test_what_cannot_be_verified_is_no_damage(story: Story, state: VerifiedState) -> None:
    save(save(story, 1), 2, state)
    assert story.asks("checkpoint_corrupt") == []


def test_many_are_told_newest_first(story: Story) -> None:
    for step in range(1, 20):
        save(story, step, "corrupt")
    found = story.asks("checkpoint_corrupt")
    assert [f.details["step"] for f in found] == [float(n) for n in range(19, 11, -1)]
    assert len(story.asks("checkpoint_corrupt", Limits(told=2))) == 2


def test_a_read_that_failed_ends_the_run(story: Story) -> None:
    story.says("ckpt_corrupt", "central directory not found", exception="RuntimeError")
    story.end(1).wait(3)
    finding = told(story)
    assert (finding.trouble, finding.severity) == ("ckpt_corrupt", Severity.CRITICAL)
    assert finding.fatal
    assert finding.summary.startswith("a checkpoint cannot be read: RuntimeError")
    assert "ckpt_corrupt" not in {f.trouble for f in story.asks("crash")}


def test_a_read_that_failed_is_a_warning_while_nobody_knows(story: Story) -> None:
    story.train(5).says("ckpt_corrupt")
    assert story.wait(119).asks("checkpoint_corrupt") == []
    finding = told(story.wait(2))
    assert (finding.severity, finding.fatal) == (Severity.WARNING, False)
    assert story.train(2).asks("checkpoint_corrupt") == []


def test_what_the_program_took_for_no_fault(story: Story) -> None:
    story.says("ckpt_corrupt", severity="info", fatal=False).wait(300)
    assert story.asks("checkpoint_corrupt") == []
    story.says("ckpt_corrupt", fatal=False).step(number=100, total=100).end(0).wait(3)
    assert story.asks("checkpoint_corrupt") == []


def test_a_read_that_failed_before_and_did_no_harm(story: Story) -> None:
    """Whoever leaves such files out goes on, and ends well with another one as the last."""
    for _ in range(2):
        story.train(5).says("ckpt_corrupt", fatal=False, exception="BadZipFile").wait(20)
    story.train(3).says("ckpt_corrupt", fatal=False, exception="BadZipFile").end(0).wait(3)
    assert story.asks("checkpoint_corrupt") == []


def test_an_old_log_is_told_from_its_lines(story: Story) -> None:
    story.replayed().says("ckpt_corrupt")
    assert (told(story).severity, told(story).fatal) == (Severity.CRITICAL, True)
    assert told(story.train(3)).severity is Severity.INFO
