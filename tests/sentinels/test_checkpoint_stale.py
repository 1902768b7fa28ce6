"""Steps without saves."""

from __future__ import annotations

from dataclasses import replace

from middlewatch.sentinels.checkpoint_stale import Limits
from middlewatch.sentinels.kit import Severity

from .story import Story


def saving(story: Story, saves: int, every_s: float) -> Story:
    """Trains, and saves so many times."""
    for _ in range(saves):
        story.train(20, every_s / 20).saved()
    return story


def test_a_save_that_is_long_overdue(story: Story) -> None:
    saving(story, 4, 600).train(59, 30)
    assert story.asks("checkpoint_stale") == []
    (finding,) = story.train(2, 30).asks("checkpoint_stale")
    assert (finding.trouble, finding.severity) == ("checkpoint_stale", Severity.WARNING)
    assert finding.summary == "no checkpoint for 30 min of training; this run saves every 10 min"
    assert finding.details["path"] == story.checkpoints[-1].path


def test_it_is_over_with_the_next_save(story: Story) -> None:
    saving(story, 4, 600).train(90, 30).saved()
    assert story.asks("checkpoint_stale") == []


def test_never_before_ten_minutes(story: Story) -> None:
    saving(story, 8, 60).train(59, 10)
    assert story.asks("checkpoint_stale") == []
    assert len(story.train(2, 10).asks("checkpoint_stale")) == 1


def test_without_a_cadence_nothing_is_overdue(story: Story) -> None:
    assert story.train(500, 60).asks("checkpoint_stale") == []
    saving(story, 2, 600).train(500, 60)
    assert story.asks("checkpoint_stale") == []


def test_a_run_that_keeps_one_file_is_known_by_its_claims(story: Story) -> None:
    for _ in range(4):
        story.train(20, 30).claim()
    story.saved(path="/data/out/ckpt.pt").train(59, 30)
    assert story.asks("checkpoint_stale") == []
    assert len(story.train(2, 30).asks("checkpoint_stale")) == 1


def test_best_and_last_are_one_save(story: Story) -> None:
    for _ in range(5):
        story.train(20, 90).saved(path="best").wait(0.5).saved(path="last")
    assert story.train(60, 60).asks("checkpoint_stale") == [], "it saves every half hour"


def test_a_run_that_stands_still_has_another_trouble(story: Story) -> None:
    assert saving(story, 4, 600).wait(86400).asks("checkpoint_stale") == []


def test_broken_checkpoints_do_not_count(story: Story) -> None:
    saving(story, 4, 600)
    for _ in range(3):
        story.train(20, 30).saved(state="corrupt")
    assert len(story.train(2, 30).asks("checkpoint_stale")) == 1


def test_saves_of_nan_come_in_time_all_the_same(story: Story) -> None:
    saving(story, 4, 600)
    for _ in range(8):
        story.train(20, 30).saved(state="corrupt")
        story.checkpoints[-1] = replace(story.checkpoints[-1], level="finite")
        story.seen(story.checkpoints[-1])
        assert story.asks("checkpoint_stale") == []


def test_time_before_the_watch_does_not_count(story: Story) -> None:
    saving(story, 4, 600).train(90, 30)
    story.run(watched_since=story.now - 600)
    assert story.asks("checkpoint_stale") == []


def test_time_before_a_restart_of_the_watch_does_not_count(story: Story) -> None:
    saving(story, 4, 600).train(90, 30)
    assert story.asks("checkpoint_stale", gap_s=600.0) == []


def test_an_ended_run_and_an_old_log(story: Story) -> None:
    saving(story, 4, 600).train(90, 30).end(0)
    assert story.asks("checkpoint_stale") == []
    story.endings.clear()
    assert len(story.asks("checkpoint_stale")) == 1
    assert story.replayed().asks("checkpoint_stale") == []


def test_patience_is_a_setting(story: Story) -> None:
    saving(story, 4, 60).train(31, 10)
    assert len(story.asks("checkpoint_stale", Limits(times=2, floor_s=60))) == 1


def test_a_run_that_became_slow_is_not_late(story: Story) -> None:
    """It saves every 20 steps, and 20 steps take long now."""
    saving(story, 5, 600).train(28, 120)
    assert story.asks("checkpoint_stale") == []
    assert len(story.train(3, 120).asks("checkpoint_stale")) == 1


def test_hours_of_evaluation_are_not_late(story: Story) -> None:
    saving(story, 5, 600).train(10, 30).phase("evaluate").wait(7200).train(5, 30)
    assert story.asks("checkpoint_stale") == []


def test_a_trainer_that_saves_only_what_is_best(story: Story) -> None:
    """Its saves become rarer; the longest wait so far counts."""
    for minutes in (10, 10, 10, 20, 30, 40):
        story.train(minutes, 60).saved()
    assert story.train(59, 60).asks("checkpoint_stale") == []
    assert len(story.train(5, 60).asks("checkpoint_stale")) == 1


def test_a_run_that_keeps_one_file_is_known_by_its_saves(story: Story) -> None:
    for _ in range(5):
        story.train(20, 30).saved(path="/data/out/ckpt.pt")
        story.checkpoints = story.checkpoints[-1:]
    assert story.train(59, 30).asks("checkpoint_stale") == []
    assert len(story.train(2, 30).asks("checkpoint_stale")) == 1


def test_what_an_earlier_run_left_there_is_no_cadence(story: Story) -> None:
    story.saved(path="/data/out/old-1").wait(86400).saved(path="/data/out/old-2").wait(86400)
    story.run(started_at=story.now, watched_since=story.now)
    saving(story, 4, 600).train(61, 30)
    assert len(story.asks("checkpoint_stale")) == 1


def test_saves_that_cannot_be_seen_are_not_missed(story: Story) -> None:
    saving(story, 4, 600).train(90, 30)
    assert len(story.asks("checkpoint_stale")) == 1
    assert story.source("checkpoint_dir:/far", "stalled", 1500).asks("checkpoint_stale") == []


def test_a_trainer_that_never_finds_its_metric(story: Story) -> None:
    line = "UserWarning: Can save best model only with val_accuracy available."
    for epoch in range(3):
        assert [f for f in story.asks("checkpoint_stale") if f.key == "monitor"] == [], epoch
        story.train(20).says("checkpoint_stale", line, severity="warning", fatal=False)
    (finding,) = story.asks("checkpoint_stale")
    assert (finding.trouble, finding.severity) == ("checkpoint_stale", Severity.WARNING)
    assert "val_accuracy" in finding.summary
    story.saved(path="best.keras")
    assert story.asks("checkpoint_stale") == []


def test_a_validation_every_few_epochs(story: Story) -> None:
    line = "UserWarning: Can save best model only with val_accuracy available."
    for epoch in range(12):
        story.train(5)
        if epoch % 3 == 2:
            story.saved(path=f"best-{epoch}.keras")
        else:
            story.says("checkpoint_stale", line, severity="warning", fatal=False)
        assert story.asks("checkpoint_stale") == []


def test_a_warning_that_python_shows_once(story: Story) -> None:
    line = "UserWarning: Can save best model only with val_accuracy available."
    story.train(5, number=None)
    story.says("checkpoint_stale", line, severity="warning", fatal=False)
    for _ in range(3):
        assert story.asks("checkpoint_stale") == []
        story.train(5, number=None).step(number=None, eval_loss=0.4)
    assert [f.key for f in story.asks("checkpoint_stale")] == ["monitor"]


def test_saves_that_are_only_claimed(story: Story) -> None:
    for step in (700, 800, 900):
        story.number = step
        story.claim(f"ckpt/step_{step}.pt", step=step).saved(path=f"/d/ckpt/step_{step}.pt").train(
            3
        )
    for step in (1000, 1100, 1200):
        story.number = step
        story.claim(f"ckpt/step_{step}.pt", step=step)
        assert story.asks("checkpoint_stale") == []
        story.train(20)
    (finding,) = story.asks("checkpoint_stale")
    assert finding.key == "claims"
    assert "3 saves up to step 1200, but the newest on disk is of step 900" in finding.summary
    story.number = 1300
    story.saved(path="/d/ckpt/step_1300.pt")
    assert story.asks("checkpoint_stale") == []


def test_claims_about_another_folder(story: Story) -> None:
    story.saved(path="/d/ckpt/step_1.pt", step=1)
    for step in (1000, 1100, 1200, 1300):
        story.claim(f"s3/step_{step}.pt", step=step).train(20)
    assert story.asks("checkpoint_stale") == []
