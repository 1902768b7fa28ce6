"""What the next save will need."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit.saves.pattern import Saves, expect, no_inodes, saves_on

from ..story import GIB, Story


def expected(story: Story) -> Saves:
    saves = expect(story.view().checkpoints, story.view().claimed_saves)
    assert saves is not None
    return saves


def test_nothing_yet(story: Story) -> None:
    assert expect(story.view().checkpoints) is None
    story.saved(state="incomplete").saved(state="corrupt").disk(GIB)
    assert expect(story.view().checkpoints) is None
    assert saves_on(story.view(), "/data") is None


def test_the_largest_of_the_last_five(story: Story) -> None:
    for gib, files in ((90, 9), (1, 1), (7, 2), (3, 5), (1, 1), (2, 3)):
        story.train(3).saved(gib * GIB, files)
    saves = expected(story)
    assert (saves.bytes, saves.files, saves.kept) == (7 * GIB, 5, 6)
    assert saves.newest_at == story.now


@pytest.mark.parametrize("state", ["ok", "pending", "unverifiable"])
def test_what_counts_as_whole(story: Story, state: str) -> None:
    assert expected(story.saved(state=state)).kept == 1  # type: ignore[arg-type]


def test_cadence(story: Story) -> None:
    story.saved().wait(600).saved()
    assert expected(story).every_s is None
    assert expected(story).due_in_s(story.now) is None
    story.wait(660).saved().wait(600).saved()
    saves = expected(story)
    assert saves.every_s == 600
    assert saves.due_in_s(story.now + 100) == 500
    assert saves.due_in_s(story.now + 900) == 0


def test_files_that_belong_to_one_save(story: Story) -> None:
    for _ in range(3):
        for name in ("best", "last", "ema"):
            story.saved(path=f"/data/{name}").wait(1)
        story.wait(597)
    assert expected(story).every_s == pytest.approx(600, abs=3)


def test_all_saved_at_one_instant(story: Story) -> None:
    """Copied here from elsewhere: their times tell nothing."""
    for _ in range(4):
        story.saved()
    assert expected(story).every_s is None


def test_only_the_newest_are_looked_at(story: Story) -> None:
    for _ in range(400):
        story.wait(60).saved()
    for _ in range(12):
        story.wait(600).saved()
    assert (expected(story).every_s, expected(story).kept) == (600, 12)


def test_claims_where_too_few_are_kept(story: Story) -> None:
    for _ in range(4):
        story.wait(600).claim()
    story.saved()
    assert expected(story).every_s == 600
    assert expect(story.view().checkpoints) is not None
    story.claims = story.claims[:2]
    assert expected(story).every_s is None


@pytest.mark.parametrize(
    ("path", "step", "grows"),
    [
        ("/o/checkpoint-500", 500, True),
        ("/o/checkpoint-500/", 500, True),
        ("/o/step_000500.pt", 500, True),
        ("/o/epoch=0-step=0.ckpt", 0, True),
        ("/o/ckpt.pt", 500, False),
        ("/o/500/ckpt.pt", 500, False),
        ("/o/checkpoint-1500", 500, False),
        ("/o/checkpoint-500", None, False),
    ],
)
def test_whether_the_next_one_comes_beside_it(
    story: Story, path: str, step: float | None, grows: bool
) -> None:
    story.saved(path=path, step=-1.0 if step is None else step)
    assert expected(story).grows is grows
    assert expected(story.saved(path="/o/other")).grows


@pytest.mark.parametrize(("after_s", "settled"), [(0, False), (29, False), (30, True)])
def test_a_save_is_over_after_a_while(story: Story, after_s: float, settled: bool) -> None:
    saves = expected(story.saved())
    assert saves.settled(story.wait(after_s).view()) is settled


def test_quick_saves_settle_quickly(story: Story) -> None:
    for _ in range(4):
        story.wait(10).saved()
    assert not expected(story).settled(story.wait(4).view())
    assert expected(story).settled(story.wait(1).view())


@pytest.mark.parametrize(("after_s", "settled"), [(299, False), (300, True)])
def test_a_second_save_may_replace_the_first(story: Story, after_s: float, settled: bool) -> None:
    saves = expected(story.saved().wait(900).saved())
    assert saves.settled(story.wait(after_s).view()) is settled


def test_the_end_of_a_save_and_the_beginning_of_the_next(story: Story) -> None:
    for _ in range(4):
        story.wait(10).saved()
    saves, saved = expected(story), story.now
    view = story.wait(6).view(saving_at=saved + 1)
    assert saves.settled(view), "bytes of the newest, seen a second later"
    assert not saves.settled(story.view(saving_at=saved + 5)), "bytes of the next"


# -- where they lie ----------------------------------------------------------------------------


def on(story: Story, mount: str) -> int:
    saves = saves_on(story.view(), mount)
    return 0 if saves is None else saves.kept


def test_the_longest_mount_above(story: Story) -> None:
    for mount in ("/", "/data", "/data/out", "/database"):
        story.disk(GIB, mount=mount)
    story.saved(path="/data/out/a").saved(path="/data/b").saved(path="/database/c")
    story.saved(path="/data/out").saved(path="/root/d").saved(path="relative")
    assert [on(story, m) for m in ("/", "/data", "/data/out", "/database")] == [1, 1, 2, 1]
    assert on(story, "/elsewhere") == 0


def test_the_only_mount_that_holds_checkpoints(story: Story) -> None:
    story.disk(GIB, mount="/", holds=("cwd",)).disk(GIB, mount="/data")
    story.saved(path="/workspace/out/a")
    assert (on(story, "/"), on(story, "/data")) == (0, 1)


def test_where_nothing_tells_what_it_holds(story: Story) -> None:
    story.disk(GIB, mount="/", holds=("cwd",)).disk(GIB, mount="/data", holds=("log",))
    story.saved(path="/data/a").saved(path="/b")
    assert (on(story, "/"), on(story, "/data")) == (1, 1)


@pytest.mark.parametrize(
    ("inodes", "none"),
    [(None, False), ((0, 0), False), ((0, 50), True), ((1, 50), False), ((64, 10**7), True)],
)
def test_file_systems_without_inodes(
    story: Story, inodes: tuple[int, int] | None, none: bool
) -> None:
    (sample,) = story.disk(GIB, inodes=inodes).disks["/data"]
    assert no_inodes(sample) is none
