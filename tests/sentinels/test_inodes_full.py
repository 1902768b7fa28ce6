"""File systems that take no more files."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.inodes_full import Limits
from middlewatch.sentinels.kit import Finding, Severity

from .story import GIB, Story


def told(story: Story) -> Finding:
    (finding,) = story.asks("inodes_full")
    return finding


@pytest.mark.parametrize(
    ("free", "total", "full"),
    [(0, 20, True), (1, 20, False), (64, 10_000, True), (65, 10_000, False), (5, 600, True)],
)
def test_what_counts_as_full(story: Story, free: int, total: int, full: bool) -> None:
    story.disk(50 * GIB, inodes=(free, total))
    assert [f.trouble for f in story.asks("inodes_full")] == ["inode_exhausted"] * full


def test_no_inodes_are_left(story: Story) -> None:
    finding = told(story.train(30).disk(50 * GIB, inodes=(0, 1_000_000)))
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == (
        "/data has no inodes left: 0 of 1000000 free; new files fail although "
        "there may be free space"
    )
    assert finding.details == {"path": "/data", "free_inodes": 0}


@pytest.mark.parametrize("inodes", [None, (0, 0)])
def test_file_systems_that_count_none(story: Story, inodes: tuple[int, int] | None) -> None:
    """btrfs and some overlays report zero in total."""
    story.disk(50 * GIB, inodes=inodes, fstype="btrfs").train(10).saved(files=4).wait(60)
    assert story.asks("inodes_full") == []


def test_mounts_that_do_not_count(story: Story) -> None:
    story.disk(GIB, inodes=(0, 9), holds=("state",))
    story.disk(0, mount="/opt", inodes=(0, 9), read_only=True, holds=("cwd",))
    assert story.asks("inodes_full") == []


def test_the_next_checkpoint_has_too_many_files(story: Story) -> None:
    for _ in range(3):
        story.train(10, 60).saved(files=1100)
    finding = told(story.wait(310).disk(50 * GIB, inodes=(900, 80_000)))
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == (
        "the next checkpoint (1100 files, due in 5 min) will not fit on /data: 900 inodes free"
    )


def test_one_folder_that_is_overwritten(story: Story) -> None:
    story.train(10).saved(files=1100, path="/data/out/latest").wait(60)
    finding = told(story.disk(50 * GIB, inodes=(900, 80_000)))
    assert finding.severity is Severity.WARNING
    assert "(1100 files)" in finding.summary


def test_a_trainer_has_time_to_delete_the_old_one(story: Story) -> None:
    story.train(10).saved(files=1100).wait(2).disk(50 * GIB, inodes=(900, 80_000))
    assert story.asks("inodes_full") == []


def test_there_are_enough(story: Story) -> None:
    story.train(10).saved(files=900).wait(60).disk(50 * GIB, inodes=(900, 80_000))
    assert story.asks("inodes_full") == []


def test_after_the_end_there_is_no_next_one(story: Story) -> None:
    story.train(10).saved(files=1100).wait(60).disk(50 * GIB, inodes=(900, 80_000)).end(0)
    assert story.asks("inodes_full") == []


def test_a_line_where_no_mount_tells(story: Story) -> None:
    story.train(30).disk(50 * GIB).says("inode_exhausted", "out of inodes on /mnt/x")
    finding = told(story)
    assert (finding.key, finding.severity) == ("write", Severity.CRITICAL)
    assert finding.fatal
    assert story.train(2).asks("inodes_full") == []


def test_a_line_where_a_mount_tells_more(story: Story) -> None:
    story.disk(50 * GIB, inodes=(0, 9)).says("inode_exhausted")
    assert told(story).key == "/data"


def test_an_old_log(story: Story) -> None:
    story.replayed().train(5).says("inode_exhausted")
    assert told(story).severity is Severity.CRITICAL
    finding = told(story.train(2))
    assert (finding.severity, finding.fatal) == (Severity.INFO, False)


def test_settings(story: Story) -> None:
    story.disk(50 * GIB, inodes=(500, 80_000))
    assert len(story.asks("inodes_full", Limits(full_inodes=600))) == 1
