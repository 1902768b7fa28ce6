"""Disks without room."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.disk_full import Limits
from middlewatch.sentinels.kit import Finding, Severity

from .story import GIB, MIB, Story

UNEXPECTED = "RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0"


def told(story: Story) -> Finding:
    (finding,) = story.asks("disk_full")
    return finding


def saving(story: Story, saves: int = 3, size: int = 10 * GIB, every_s: float = 600.0) -> Story:
    for _ in range(saves):
        story.train(10, every_s / 10).saved(size)
    return story.wait(310)


# -- now ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "total", "full"),
    [
        (0, 3 * MIB, True),
        (MIB, 3 * MIB, False),
        (0, 100 * GIB, True),
        (16 * MIB, 100 * GIB, True),
        (17 * MIB, 100 * GIB, False),
        (99 * MIB, 10_000 * GIB, False),
    ],
)
def test_what_counts_as_full(story: Story, free: int, total: int, full: bool) -> None:
    found = story.disk(free, total).asks("disk_full")
    assert [f.trouble for f in found] == ["disk_full"] * full


def test_a_full_disk(story: Story) -> None:
    finding = told(story.train(30).disk(0))
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == "/data is full: 0 B of 100.0 GiB left"
    assert finding.evidence[0].text == "/data: 0 B of 100.0 GiB free (holds checkpoints)"
    assert not finding.fatal, "the run still goes on"


def test_torch_does_not_say_that_it_was_the_disk(story: Story) -> None:
    finding = told(story.train(30).says("ckpt_write_failed", UNEXPECTED).wait(1).disk(0))
    assert (finding.trouble, finding.fatal) == ("disk_full", True)
    assert finding.evidence[1].text == UNEXPECTED
    assert finding.line == 31


def test_torch_took_away_what_it_could_not_finish(story: Story) -> None:
    """A trainer that removes the half-written file has made room before the next look."""
    story.train(30).disk(5 * GIB).wait(1).disk(0).says("ckpt_write_failed", UNEXPECTED)
    finding = told(story.wait(3).disk(5 * GIB))
    assert (finding.trouble, finding.key) == ("disk_full", "/data")
    assert finding.summary.startswith("/data was full when a write failed: RuntimeError")
    assert [e.kind for e in finding.evidence] == ["disk", "log"]


def test_a_disk_that_was_full_at_another_time_is_not_why(story: Story) -> None:
    story.disk(0).wait(60).disk(5 * GIB).says("ckpt_write_failed", UNEXPECTED).wait(91)
    assert told(story.disk(5 * GIB)).trouble == "ckpt_write_failed"


def test_a_failed_write_that_had_no_room(story: Story) -> None:
    saving(story).train(10, 60).disk(4 * GIB)
    story.says("ckpt_write_failed", UNEXPECTED).wait(3)
    finding = told(story)
    assert (finding.trouble, finding.severity) == ("disk_full", Severity.CRITICAL)
    assert finding.summary.startswith("a write failed, and the next checkpoint (10.0 GiB")
    assert finding.fatal
    assert told(story.end(1)).trouble == "disk_full", "it is still true of a run that ended"


@pytest.mark.parametrize("trouble", ["disk_full", "quota_exceeded", "ckpt_write_failed"])
def test_a_failed_write_with_room_everywhere(story: Story, trouble: str) -> None:
    story.train(30).disk(50 * GIB).says(trouble, "it failed")
    assert story.wait(89).asks("disk_full") == [], "it may be a word in a sample of a model"
    finding = told(story.wait(1.1))
    assert (finding.trouble, finding.key) == (trouble, "write")
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == "a write failed: it failed"


def test_a_failed_write_with_room_everywhere_that_ended_the_run(story: Story) -> None:
    story.train(30).disk(50 * GIB).says("disk_full", "it failed").end(1)
    assert story.wait(1.9).asks("disk_full") == [], "the next look at the mounts may explain it"
    assert told(story.wait(0.2)).severity is Severity.CRITICAL


def test_a_quota_is_told_beside_a_full_disk(story: Story) -> None:
    story.disk(0, mount="/scratch", holds=("logs",)).disk(5 * GIB)
    story.says("quota_exceeded", "[Errno 122] Disk quota exceeded").wait(91)
    found = {(f.trouble, f.key) for f in story.asks("disk_full")}
    assert found == {("disk_full", "/scratch"), ("quota_exceeded", "write")}


def test_the_exact_error_before_the_vague_one(story: Story) -> None:
    story.disk(50 * GIB).says("ckpt_write_failed").says("disk_full").says("ckpt_write_failed")
    assert told(story.wait(91)).trouble == "disk_full"


def test_a_failed_write_that_the_run_went_on_after(story: Story) -> None:
    story.train(30).disk(50 * GIB).says("ckpt_write_failed").train(4)
    finding = told(story)
    assert (finding.severity, finding.fatal) == (Severity.WARNING, False)
    assert story.wait(120).asks("disk_full") == []
    finding = told(Story().train(30).says("disk_full").train(4).disk(0))
    assert (finding.severity, finding.fatal, finding.line) == (Severity.CRITICAL, False, 0)


def test_inodes_are_told_elsewhere(story: Story) -> None:
    story.disk(50 * GIB, inodes=(0, 1000)).says("disk_full", "[Errno 28] No space left").wait(3)
    assert story.asks("disk_full") == []


# -- mounts that do not count ----------------------------------------------------------------


def test_our_own_disk_is_not_the_runs(story: Story) -> None:
    story.disk(0, holds=("state",)).disk(0, mount="/x", holds=())
    story.says("ckpt_write_failed").wait(91)
    assert told(story).trouble == "ckpt_write_failed"


def test_images_are_always_full(story: Story) -> None:
    story.disk(0, mount="/opt", fstype="squashfs", read_only=True, holds=("cwd",))
    assert story.asks("disk_full") == []
    assert told(story.says("ckpt_write_failed").wait(91)).trouble == "ckpt_write_failed"


def test_a_size_that_is_not_known(story: Story) -> None:
    assert story.disk(0, 0).asks("disk_full") == []


# -- the next save ---------------------------------------------------------------------------


def test_the_next_checkpoint_will_not_fit(story: Story) -> None:
    finding = told(saving(story).disk(9 * GIB))
    assert (finding.severity, finding.fatal) == (Severity.CRITICAL, False)
    assert finding.summary == (
        "the next checkpoint (10.0 GiB, due in 5 min) will not fit on /data: 9.0 GiB free"
    )
    assert finding.details["next_bytes"] == 10 * GIB


@pytest.mark.parametrize(("free", "told"), [(9, False), (2, False), (1, True)])
def test_room_is_made_first_and_the_next_save_takes_it(story: Story, free: int, told: bool) -> None:
    """Two are kept on 22 GiB, under a name in writing that nobody knows; less is more than one save."""
    for number in range(4):
        story.train(10, 60).disk(12 * GIB if number else 22 * GIB)
        del story.checkpoints[:-1]
        story.saved(10 * GIB).disk(2 * GIB if number else 12 * GIB)
    del story.checkpoints[:-1]
    story.wait(400).disk(12 * GIB).wait(100).disk(free * GIB)
    assert bool(story.asks("disk_full")) is told
    late = story.wait(500).disk(free * GIB).asks("disk_full")
    assert late, "no save takes that long: something else is there"


def test_it_fits(story: Story) -> None:
    assert saving(story).disk(10 * GIB).asks("disk_full") == []


def test_the_largest_of_the_last_five_counts(story: Story) -> None:
    story.train(10).saved(20 * GIB)
    saving(story, 4).disk(15 * GIB)
    assert told(story).details["next_bytes"] == 20 * GIB
    assert story.train(10).saved(10 * GIB).wait(310).disk(15 * GIB).asks("disk_full") == []


def test_a_second_save_with_its_step_in_its_name(story: Story) -> None:
    finding = told(saving(story, 1).disk(9 * GIB))
    assert finding.severity is Severity.CRITICAL
    assert "(10.0 GiB)" in finding.summary, "when it comes is not known yet"


def test_one_file_that_is_overwritten(story: Story) -> None:
    story.train(10).saved(10 * GIB, path="/data/run10/ckpt.pt").wait(40).disk(9 * GIB)
    assert told(story).severity is Severity.WARNING


def test_a_trainer_that_keeps_two_has_time_to_delete_the_old_one(story: Story) -> None:
    for _ in range(6):
        story.train(10, 60).saved(10 * GIB).wait(2).disk(5 * GIB)
        assert story.asks("disk_full") == [], "old and new are both there"
        story.checkpoints = story.checkpoints[-2:]
        assert story.wait(60).disk(15 * GIB).asks("disk_full") == []


def test_a_first_deletion_that_comes_late(story: Story) -> None:
    """Nobody told how many are kept, and the second save is the first that replaces one."""
    for _ in range(3):
        story.train(20, 60).saved(10 * GIB)
        for _ in range(24):
            free = 15 if len(story.checkpoints) < 2 else 5
            assert story.wait(10).disk(free * GIB).asks("disk_full") == []
        story.checkpoints = story.checkpoints[-1:]
        assert story.wait(60).disk(15 * GIB).asks("disk_full") == []


def test_broken_and_foreign_checkpoints_do_not_count(story: Story) -> None:
    story.disk(9 * GIB).disk(90 * GIB, mount="/", holds=("checkpoints",))
    story.saved(10 * GIB, state="corrupt").saved(10 * GIB, path="/root/old/ckpt-7").wait(60)
    assert story.asks("disk_full") == []


def test_after_the_end_there_is_no_next_one(story: Story) -> None:
    assert saving(story).disk(9 * GIB).end(0).asks("disk_full") == []


def test_a_folder_behind_a_link(story: Story) -> None:
    """The path names /workspace, the mount is /data: it is the one that holds checkpoints."""
    story.disk(90 * GIB, mount="/", holds=("cwd",))
    story.train(10).saved(10 * GIB, path="/workspace/out/checkpoint-10").wait(60).disk(9 * GIB)
    assert told(story).key == "/data"


def cache(story: Story, *free: int) -> Story:
    """Looks at a small disk on which nothing of the run is known, five seconds apart."""
    for one in free:
        story.train(10).disk(one * MIB, 40 * MIB, mount="/data/run/cache", holds=("cwd",)).wait(5)
    return story


def test_a_cache_that_fills_its_own_disk_again_and_again(story: Story) -> None:
    said = "INFO cache full (No space left on device), evicted the 24 oldest"
    cache(story, 12, 5, 0, 3, 0, 0, 4)
    assert story.asks("disk_full") == []
    story.says("disk_full", said)
    assert story.asks("disk_full") == []
    assert cache(story, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0).asks("disk_full") == []


def test_a_disk_of_nothing_known_that_stays_full_is_told(story: Story) -> None:
    finding = told(cache(story, *[0] * 9))
    assert (finding.key, finding.severity) == ("/data/run/cache", Severity.CRITICAL)


def test_a_write_that_fails_there_is_told_at_once(story: Story) -> None:
    cache(story, 12, 0).says("disk_full", "OSError: [Errno 28]", exception="OSError")
    assert told(story).key == "/data/run/cache"


def test_keys_are_mounts(story: Story) -> None:
    story.disk(0).disk(0, mount="/scratch", holds=("logs",))
    assert [f.key for f in story.asks("disk_full")] == ["/data", "/scratch"]


# -- old logs --------------------------------------------------------------------------------


def test_an_old_log(story: Story) -> None:
    story.replayed().train(5).says("disk_full", "[Errno 28]").says("ckpt_write_failed", UNEXPECTED)
    assert (told(story).trouble, told(story).severity) == ("disk_full", Severity.CRITICAL)
    finding = told(story.train(2))
    assert (finding.severity, finding.fatal) == (Severity.INFO, False)


def test_settings(story: Story) -> None:
    story.disk(GIB)
    assert len(story.asks("disk_full", Limits(full_bytes=2 * GIB))) == 1
    story.says("disk_full").wait(60)
    assert story.asks("disk_full", Limits(event_s=30)) == []


def test_a_failed_save_with_a_traceback_needs_no_further_proof(story: Story) -> None:
    story.train(30).says(
        "ckpt_write_failed",
        "RuntimeError: Parent directory ckpt does not exist",
        fatal=False,
        exception="RuntimeError",
    )
    (finding,) = story.wait(3).asks("disk_full")
    assert finding.trouble == "ckpt_write_failed"


def test_a_traceback_in_text_that_a_model_writes(story: Story) -> None:
    """It writes code, and what code prints when it fails; every disk has space, and the run goes on."""
    text = "OSError: [Errno 28] No space left on device"
    story.train(30).disk(GIB).says("disk_full", text, exception="OSError")
    assert story.wait(15).asks("disk_full") == []
    finding = told(story.train(2))
    assert finding.severity is not Severity.CRITICAL
    again = Story().train(30).disk(GIB).says("disk_full", text, exception="OSError")
    assert told(again.wait(50)).severity is Severity.CRITICAL, "nothing followed it"


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("rsyslogd: No space left on device, 11 messages lost", 0, False),
        ("rsyslogd: No space left on device, 11 messages lost", 1, True),
        ("could not save: [Errno 28] No space left on device: 'm.pt'", 0, True),
    ],
)
def test_the_last_text_of_a_model_that_was_trained_on_logs(
    story: Story, line: str, code: int, told: bool
) -> None:
    story.train(60, total=60).disk(50 * GIB).says("disk_full", line).wait(1).end(code).wait(3)
    assert bool(story.disk(50 * GIB).asks("disk_full")) is told
