"""What is remembered of saves and of the volumes they fill."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit import CheckpointSeen, DiskSample
from middlewatch.sentinels.kit.forecast import MINUTES, Trend, clock
from middlewatch.sentinels.kit.saves.pattern import pruned, prunes
from middlewatch.sentinels.kit.saves.save_log import MOUNTS, SAVES, SaveLog

from ..story import BEGIN, GIB, Story
from ..views import disks


def seen(path: str, at: float, state: str = "ok", size: int = GIB) -> CheckpointSeen:
    return CheckpointSeen(at, path, at, size, 4, "hf", state=state)  # type: ignore[arg-type]


def free(at: float, gib: int, mount: str = "/data") -> DiskSample:
    return DiskSample(at, mount, "ext4", 100 * GIB, gib * GIB, None, None, holds=("checkpoints",))


def test_levels_are_the_most_that_was_free_between_two_saves() -> None:
    log = SaveLog()
    for one in (
        free(0, 90),
        seen("a", 10, "pending"),
        free(11, 88),
        seen("a", 20),  # it was still being written
        free(21, 80),
        free(30, 70),
        seen("b", 40, "pending"),
        seen("b", 40),
        free(41, 60),
        free(50, 75),  # what it replaced is gone
    ):
        log.add(one)
    assert [s.levels for s in log.saves] == [{"/data": (80 * GIB, None)}, {}]
    assert log.levels == {"/data": (75 * GIB, None)}


def test_one_path_that_is_written_again_and_again() -> None:
    log = SaveLog()
    for n in range(5):
        log.add(seen("last", 100 * n, "pending"))
        log.add(seen("last", 100 * n + 10, "ok"))
        log.add(seen("last", 100 * n + 10, "ok"))
    assert [s.at for s in log.saves] == [10, 110, 210, 310, 410]


def test_what_is_broken_is_no_save() -> None:
    log = SaveLog()
    log.add(seen("a", 1, "corrupt"))
    log.add(seen("b", 1, "incomplete"))
    assert log.saves == []


def test_old_ones_are_put_in_order() -> None:
    log = SaveLog()
    for at in (5, 3, 9, 1):
        log.add(seen(f"at-{at}", at))
    assert [s.at for s in log.saves] == [1, 3, 5, 9]


def test_it_is_bounded() -> None:
    log = SaveLog()
    for n in range(500):
        log.add(seen(f"ckpt-{n}", n))
        log.add(free(60.0 * n, 10, f"/mnt/{n}"))
    assert len(log.saves) == SAVES
    assert len(log.space) == MOUNTS
    trend = Trend()
    for n in range(500):
        trend.add(60.0 * n, n)
    assert len(trend.values) == MINUTES


@given(st.lists(disks | st.builds(seen, st.sampled_from("abc"), st.floats(0, 1e9)), max_size=40))
def test_it_goes_on_after_a_restart(observations: list[object]) -> None:
    before, after = SaveLog(), SaveLog()
    for one in observations:
        before.add(one)  # type: ignore[arg-type]
    after.restore(json.loads(json.dumps(before.save())))
    assert [(s.path, s.at, s.levels) for s in after.saves] == [
        (s.path, s.at, s.levels) for s in before.saves
    ]
    assert after.levels == before.levels
    assert after.quiet


@pytest.mark.parametrize("saves", [None, 7, [[]], [["a", "b", 1, 2, True, {}]], [{"a": 1}]])
def test_it_takes_back_nothing_strange(saves: object) -> None:
    log = SaveLog()
    log.restore({"saves": saves, "levels": {}, "space": {}, "inodes": {}})
    assert log.saves == []


def test_what_was_pruned(story: Story) -> None:
    for _ in range(3):
        story.train(3).saved()
    assert (pruned(story.view()), prunes(story.view())) == (0, False)
    assert prunes(story.run(keep_saves=3).view())
    story.run(keep_saves=None).checkpoints = story.checkpoints[1:]
    assert (pruned(story.view()), prunes(story.view())) == (1, True)


def test_a_clock_that_was_set_back() -> None:
    trend = Trend()
    for at in (100.0, 200.0, 50.0):
        assert trend.add(at, 1.0)
    assert list(trend.values) == [(50.0, 1.0)]


@pytest.mark.parametrize(
    ("after_s", "text"),
    [(0, "08:53 UTC"), (7200, "10:53 UTC"), (90_000, "Oct 10 09:53 UTC"), (1e300, "never")],
)
def test_instants(after_s: float, text: str) -> None:
    assert clock(BEGIN + after_s, BEGIN) == text


def test_when_a_save_began_outlives_a_restart() -> None:
    log = SaveLog()
    for at, state in ((101.0, "pending"), (110.0, "ok")):
        log.add(CheckpointSeen(at, "/out/a.pt", 105.0, 9, 1, "torch", 1.0, state=state))  # type: ignore[arg-type]
    again = SaveLog()
    again.restore(json.loads(json.dumps(log.save())))
    assert (again.saves[0].began, again.saves[0].at) == (101.0, 105.0)
    old = log.save()
    old["saves"] = [one[:6] for one in old["saves"]]  # as the version before wrote it
    again.restore(old)
    assert again.saves[0].began is None
