"""When a trouble is over: what each sentinel wants to have seen, and what proves nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from middlewatch.sentinels.kit import Finding, OpenIncident, discover

from .story import GIB, MAIN, Story, sample

FOR_GOOD = {"silent_end"}
"""Sentinels whose troubles never end: the end of a run."""


def case(finding: Finding, story: Story, *, quiet_s: float = 0.0) -> OpenIncident:
    """The open incident of a finding; the daemon was restarted ``quiet_s`` seconds ago."""
    now = story.now
    return OpenIncident(finding.trouble, finding.key, now, now - quiet_s, finding.details)


def well(story: Story, name: str, one: OpenIncident) -> str:
    sentinel = discover()[name]
    assert sentinel.recovered is not None
    return sentinel.recovered(story.view(), sentinel.limits, one)


def told(story: Story, name: str) -> OpenIncident:
    (finding,) = story.asks(name)
    return case(finding, story)


def healthy(story: Story) -> None:
    """The checkpoint folder is read."""
    story.source("checkpoint_dir:/data/out", "ok", 100)


@pytest.mark.parametrize("name", sorted(discover()))
def test_nothing_seen_proves_nothing(story: Story, name: str) -> None:
    """As after a restart: every buffer is empty, and the run is at its first step again."""
    sentinel = discover()[name]
    if sentinel.recovered is None:
        assert name in FOR_GOOD
        return
    for key in ("", "read", "write", "error", "gpu0", "/data", "train_loss", "components", "pace"):
        gone = OpenIncident("hang", key, story.now - 60, story.now, {"pids": [1], "gpu": 0})
        assert sentinel.recovered(story.view(), sentinel.limits, gone) == ""


def test_a_loss_is_finite_again(story: Story) -> None:
    story.train(20).train(3, train_loss=math.nan)
    nan = told(story, "nan_loss")
    story.step(train_loss=1.9)
    assert well(story, "nan_loss", nan) == "", "a loss scaler skips single steps"
    story.step(train_loss=1.8)
    assert well(story, "nan_loss", nan) == "the loss is finite again: 1.8 now"
    story.step(train_loss=math.nan)
    assert well(story, "nan_loss", nan) == ""


def test_a_loss_that_stays_up_has_not_recovered(story: Story) -> None:
    for n in range(200):
        story.step(train_loss=3.1 + 0.01 * (n % 5))
    story.train(40, train_loss=9.5)
    jump = told(story, "loss_spike")
    story.train(1500, train_loss=9.5)
    assert story.asks("loss_spike") == [], "it is not reported for ever"
    assert well(story, "loss_spike", jump) == ""


def test_a_loss_that_came_back(story: Story) -> None:
    for n in range(200):
        story.step(train_loss=3.1 + 0.01 * (n % 5))
    story.train(3, train_loss=9.5)
    jump = told(story, "loss_spike")
    story.train(20, train_loss=3.1)
    assert well(story, "loss_spike", jump).startswith("it came back to 3.1")


def test_a_bad_save_is_not_well_because_another_is_newer(story: Story) -> None:
    healthy(story)
    story.train(10).saved(path="/data/out/checkpoint-10", state="corrupt")
    bad = told(story, "checkpoint_corrupt")
    story.train(10).saved(path="/data/out/checkpoint-20")
    assert well(story, "checkpoint_corrupt", bad) == ""
    del story.checkpoints[0]
    assert well(story, "checkpoint_corrupt", bad) == (
        "out/checkpoint-10 is no longer on disk; good is out/checkpoint-20"
    )


def test_a_bad_save_that_is_not_listed_because_nobody_looked(story: Story) -> None:
    story.train(10).saved(path="/data/out/checkpoint-10", state="corrupt")
    bad = told(story, "checkpoint_corrupt")
    story.checkpoints.clear()
    story.saved(path="/data/out/checkpoint-20")
    assert well(story, "checkpoint_corrupt", bad) == "", "the folder cannot be read"


def test_a_bad_save_that_was_written_again(story: Story) -> None:
    healthy(story)
    story.train(10).saved(path="/data/out/last.pt", state="corrupt")
    bad = told(story, "checkpoint_corrupt")
    story.checkpoints = [replace(story.checkpoints[0], state="ok", level="load")]
    assert well(story, "checkpoint_corrupt", bad) == (
        "out/last.pt was checked again and is good (load)"
    )


def test_a_disk_that_has_space_again(story: Story) -> None:
    story.train(10).disk(0)
    full = told(story, "disk_full")
    assert well(story, "disk_full", full) == ""
    story.wait(1).disk(50 * GIB)
    assert well(story, "disk_full", full) == "/data has 50.0 GiB of 100.0 GiB free again"


def test_inodes_that_are_free_again(story: Story) -> None:
    story.train(10).disk(GIB, inodes=(0, 1000))
    full = told(story, "inodes_full")
    assert well(story, "inodes_full", full) == ""
    story.wait(1).disk(GIB, inodes=(600, 1000))
    assert well(story, "inodes_full", full) == "/data has 600 of 1000 inodes free again"


def test_a_failed_write_is_over_with_a_good_save(story: Story) -> None:
    failed = OpenIncident("ckpt_write_failed", "write", story.now, story.now)
    story.train(10).disk(50 * GIB)
    assert well(story, "disk_full", failed) == "", "that there is space was so before"
    story.saved(path="/data/out/checkpoint-10")
    assert well(story, "disk_full", failed).endswith("out/checkpoint-10")


def test_a_stopped_process_that_runs_again(story: Story) -> None:
    story.train(10).idle(20, sample(state="T"))
    stopped = told(story, "stopped")
    story.idle(2, sample(pid=300, state="R"))
    assert well(story, "stopped", stopped) == "", "that it is gone is no recovery"
    story.idle(1, sample(state="R"))
    assert well(story, "stopped", stopped) == f"process {MAIN} runs again (state R)"


@pytest.mark.parametrize("name", ["hang", "storage_stall"])
def test_a_run_that_moves_again(story: Story, name: str) -> None:
    story.train(10).wait(600)
    hang = OpenIncident("hang", "", story.now - 500, story.now)
    assert well(story, name, hang) == ""
    story.step()
    assert well(story, name, hang) == "it went on by itself after 10 min; step 11 now"


@pytest.mark.parametrize("name", ["cuda_oom", "host_oom"])
def test_training_that_went_on(story: Story, name: str) -> None:
    story.train(10)
    oom = OpenIncident("cuda_oom", "cuda_oom", story.now, story.now)
    story.step()
    assert well(story, name, oom) == "", "one step may have been in a buffer"
    story.step()
    assert well(story, name, oom).endswith("training went on; step 12 now")
    assert well(story.end(1), name, oom) == "", "it has failed"


def test_a_source_that_can_be_read_again(story: Story) -> None:
    story.source("nvml", "failed", 60, "gone")
    blind = told(story, "blind")
    assert well(story, "blind", blind) == ""
    story.sources.clear()
    assert well(story.source("nvml", "starting"), "blind", blind) == ""
    story.sources.clear()
    assert "nvml can be read again" in well(story.source("nvml", "ok"), "blind", blind)


def test_a_gpu_that_answers_again(story: Story) -> None:
    story.train(10).gpu(lost=True).wait(1).gpu(lost=True)
    lost = told(story, "gpu_lost")
    assert well(story, "gpu_lost", lost) == ""
    story.wait(1).gpu().wait(1).gpu()
    assert well(story, "gpu_lost", lost) == "GPU 0 answers again"


def test_a_run_that_reached_its_end_and_then_ended(story: Story) -> None:
    waiting = OpenIncident("not_exiting", "", story.now, story.now)
    assert well(story, "not_exiting", waiting) == ""
    assert well(story.end(0), "not_exiting", waiting) == "the process has ended"


def test_the_learning_rate_is_back(story: Story) -> None:
    zero = OpenIncident("lr_zero", "", story.now, story.now)
    story.step(lr=0.0)
    assert well(story, "lr_zero", zero) == ""
    assert well(story.step(lr=1e-4), "lr_zero", zero) == "the learning rate is 0.0001 again"


def test_a_save_came_after_all(story: Story) -> None:
    stale = OpenIncident("checkpoint_stale", "", story.now, story.now)
    assert well(story, "checkpoint_stale", stale) == ""
    story.wait(5).saved(path="/data/out/checkpoint-20")
    assert "saved again: out/checkpoint-20" in well(story, "checkpoint_stale", stale)


def test_an_end_is_for_good(story: Story) -> None:
    assert discover()["silent_end"].recovered is None
    ended = OpenIncident("process_killed", "end", story.now, story.now)
    assert well(story.train(10), "crash", ended) == ""
