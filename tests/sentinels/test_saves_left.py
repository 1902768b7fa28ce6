"""Volumes that fill: how early it is told, and what must never be told."""

from __future__ import annotations

from random import Random
from statistics import median

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.saves_left import Limits

from .story import GIB, Story
from .volume import Volume

HOURS = 60
FEW = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
"""A trace of days is dear to make smaller."""


# -- traces: lead times --------------------------------------------------------------------------


def leads(volumes: list[Volume], hours: int) -> list[int]:
    found = []
    for volume in volumes:
        volume.live(hours * HOURS)
        assert volume.full_at is not None
        assert volume.lead is not None, volume
        found.append(volume.lead)
    return found


def test_no_rotation() -> None:
    """Fourteen to eighteen gigabytes every half hour and more, onto 300 to 500."""
    found = leads(
        [Volume(300 + 30 * s, 14 + s % 5, 30 + 5 * s, logs=0.01, used=90) for s in range(6)], 48
    )
    print("no rotation:", found)
    assert min(found) >= 90
    assert median(found) >= 150


def test_logs_only() -> None:
    found = leads(
        [Volume(300, 0, 60, logs=0.2 + 0.05 * s, used=200, noise=Random(s)) for s in range(5)], 24
    )
    print("logs only:", found)
    assert min(found) >= 150


def test_logs_beside_a_rotation() -> None:
    found = leads([Volume(120, 10, 40 + s, keep=2, logs=0.1, used=40) for s in range(3)], 24)
    print("logs beside keep 2:", found)
    assert min(found) >= 120


def test_a_second_write_that_will_not_fit() -> None:
    for s in range(5):
        size = 40 + s
        volume = Volume(size * 2.3, size, 45, logs=0.01, used=size * 0.69).live(3 * HOURS)
        assert volume.full_at is not None
        assert volume.told("disk_full", Severity.CRITICAL)[0] - 45 <= 2, "right after the first"
        assert volume.told("saves_left") == [], "one cause, one push"
        assert volume.lead is not None
        assert volume.lead >= 40


def test_a_rotation_that_fits_for_ever() -> None:
    for keep, room in ((1, 2.05), (2, 3.05), (2, 3.5), (2, 4.2)):
        volume = Volume(20 * room, 20, 33, keep=keep, logs=0.0).live(30 * HOURS)
        assert volume.full_at is None
        assert volume.first is None, volume.said[:2]


def test_what_grows_by_less_than_a_hundredth_of_a_save_is_no_trend() -> None:
    """The state of a trainer has a few more reports each time."""
    quiet = Volume(50, 12.4, 2, keep=2, used=8, writing=1, grows=0.06).live(2 * HOURS)
    assert quiet.told("saves_left") == []
    grows = Volume(50, 12.4, 2, keep=2, used=8, writing=1, grows=0.2).live(2 * HOURS)
    assert grows.told("saves_left")[0] < (grows.full_at or 0) - 20


def test_growth_in_an_hour() -> None:
    """Something else fills an empty volume within an hour: told with ten minutes to go."""
    volume = Volume(100, 0, 60, logs=1.6).live(2 * HOURS)
    assert volume.lead is not None
    assert volume.lead >= 25


def test_growth_that_stops() -> None:
    """A data set is unpacked for half an hour, and then it is there."""
    volume = Volume(100, 0, 60, logs=0.8, used=35).live(14)
    volume.logs = 0.0
    assert volume.live(6 * HOURS).told("saves_left")[12:] == []


# -- any rotation, any growth --------------------------------------------------------------------


@FEW
@given(
    keep=st.integers(1, 9),
    size=st.floats(1, 80),  # with the smallest spare more is left than a full disk has
    spare=st.floats(0.02, 3),
    every=st.integers(5, 90),
    prune_after=st.integers(0, 2),
    told=st.booleans(),
    other=st.floats(0, 50),
)
def test_a_rotation_that_is_known_or_seen_is_never_told(
    keep: int, size: float, spare: float, every: int, prune_after: int, told: bool, other: float
) -> None:
    """Told by the command line, of at most two, or with room for as many as two more."""
    spare = spare if told or keep <= 2 else 3 + spare
    volume = Volume(
        other + size * (keep + 1 + spare),
        size,
        every,
        keep,
        used=other,
        prune_after=min(prune_after, every // 3) if told else 0,
    )
    volume.story.run(keep_saves=keep if told else None)
    volume.live(every * (keep + 6))
    assert volume.full_at is None
    assert volume.first is None, volume.said[:2]


@FEW
@given(
    size=st.floats(1, 60),
    saves=st.floats(3.3, 14),
    every=st.integers(6, 60),
    other=st.floats(0, 50),
    logs=st.floats(0, 0.05),
)
def test_saves_that_pile_up_are_told_before_the_volume_is_full(
    size: float, saves: float, every: int, other: float, logs: float
) -> None:
    assume(saves % 1 > 1e-6 or logs > 1e-6)  # else the last one fits to the byte
    volume = Volume(other + size * saves, size, every, logs=logs * size / every, used=other)
    volume.live(every * 20)
    assert volume.full_at is not None
    assert volume.lead is not None
    patience = min(5, every / 2)  # time for what the trainer may still delete
    assert volume.lead >= every - volume.writing - 1 - patience


@FEW
@given(hours=st.floats(1.5, 12), used=st.floats(0, 0.8), seed=st.integers(0, 99))
def test_a_volume_that_fills_is_told_before_it_is_full(
    hours: float, used: float, seed: int
) -> None:
    rate = 100 * (1 - used) / (hours * 60)
    volume = Volume(100, 0, 60, logs=rate, used=100 * used, noise=Random(seed))
    volume.live(20 * HOURS)
    assert volume.lead is not None
    assert volume.lead >= 30


# -- words ---------------------------------------------------------------------------------------


def piled(saves: int = 5, free: int = 25, **other: object) -> Story:
    """So many saves of ten gigabytes on 100, none deleted, at ten-minute intervals."""
    story = Story().disk(100 * GIB)
    for left in range(saves - 1, -1, -1):
        story.train(5, 60).saved(10 * GIB, 1100).wait(300).disk((free + 10 * left) * GIB)
    return story


def test_what_is_told() -> None:
    (finding,) = piled().asks("saves_left")
    assert (finding.trouble, finding.severity, finding.key) == (
        "saves_left",
        Severity.WARNING,
        "/data",
    )
    assert finding.summary == (
        "/data is full after 2 more saves: the next needs 10.0 GiB and 1100 files at 09:48 UTC,"
        " 25.0 GiB free, the first that will not fit is due at 10:08 UTC;"
        " nothing has been pruned so far"
    )
    assert finding.evidence[0].kind == "disk"
    assert finding.details["saves"] == 2


def test_three_saves_are_too_few_to_tell() -> None:
    """Many trainers keep three, and delete the first when the next is there."""
    assert piled(3).asks("saves_left") == []


def test_what_the_command_line_tells_is_known_at_once() -> None:
    story = piled(1, 25).run(keep_saves=5)
    (finding,) = story.asks("saves_left")
    assert finding.summary.startswith("/data is full after 2 more saves")
    assert finding.summary.endswith("; the trainer is told to keep 5")
    assert story.run(keep_saves=2).asks("saves_left") == [], "two and one more fit"


def test_the_full_disk_is_told_by_its_own_rule() -> None:
    story = piled(5, 5)
    (finding,) = story.asks("saves_left")
    assert finding.severity is Severity.INFO, "it only stays open"
    (other,) = story.asks("disk_full")
    assert other.severity is Severity.CRITICAL


def test_inodes() -> None:
    story = Story().disk(90 * GIB)
    for left in range(5500, 1100, -1100):
        story.train(5, 60).saved(GIB, 1100).wait(300).disk(90 * GIB, inodes=(left, 10_000))
    (finding,) = story.asks("saves_left")
    assert (
        "/data is full after 2 more saves: the next needs 1.0 GiB and 1100 files" in finding.summary
    )
    assert "2200 inodes free" in finding.summary


def test_something_else_takes_the_inodes() -> None:
    story = Story()
    for minute in range(40):
        story.wait(60).disk(90 * GIB, inodes=(400_000 - 5000 * minute, 1_000_000))
    (finding,) = story.asks("saves_left")
    assert finding.summary == (
        "/data will be full at 10:14 UTC, in 41 min: 205000 inodes free, and other files grow"
        " by 300000 inodes an hour"
    )


@pytest.mark.parametrize("inodes", [None, (0, 0)])
def test_where_inodes_are_not_counted(inodes: tuple[int, int] | None) -> None:
    story = Story()
    for _ in range(40):
        story.wait(60).disk(40 * GIB, inodes=inodes)
    assert story.asks("saves_left") == []


def test_our_own_volume_and_images_do_not_count() -> None:
    story = Story()
    for minute in range(40):
        free = (40 - minute) * GIB
        story.wait(60).disk(free, holds=("state",)).disk(free, mount="/x", read_only=True)
    assert story.asks("saves_left") == []


def test_after_the_end_and_in_an_old_log() -> None:
    story = piled()
    assert len(story.asks("saves_left")) == 1
    assert story.asks("saves_left", live=False) == []
    assert story.end(0).asks("saves_left") == []


def test_a_save_under_way_takes_its_room_already() -> None:
    story = piled()
    assert story.asks("saves_left", saving_at=story.now - 1) == []
    assert len(story.asks("saves_left", saving_at=story.now - 60)) == 1


def test_patience_is_a_setting() -> None:
    assert piled().asks("saves_left", Limits(saves=1)) == []
    assert piled(6, 38).asks("saves_left") == []
    assert piled(2).asks("saves_left", Limits(settled_saves=2)) != []


# -- what others fill ----------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, 2])
@pytest.mark.parametrize("every", [3, 20])
def test_what_somebody_else_fills_is_not_told_in_saves(every: int, keep: int) -> None:
    """An installation writes gigabytes beside a run that saves little, often or rarely."""
    volume = Volume(100, 0.05, every, keep=keep, logs=0.3, used=45, writing=1).live(6 * HOURS)
    assert volume.full_at is not None
    said = [f for _, who, f in volume.said if who == "saves_left"]
    assert said
    for finding in said:
        assert "other files grow by" in finding.summary
        assert "more save" not in finding.summary
        assert finding.place == "mount:/data"
    assert volume.lead is not None
    assert volume.lead >= 60


def test_the_rate_is_that_of_the_others() -> None:
    volume = Volume(100, 0.1, 3, logs=0.2, used=45, writing=1).live(HOURS)
    per_hour = [f.details["per_hour"] for _, who, f in volume.said if who == "saves_left"]
    assert per_hour
    for rate in per_hour:
        assert isinstance(rate, int)
        assert 8 * GIB < rate < 16 * GIB, "12 GiB an hour are theirs, 2 the run's"


def test_saves_that_pile_up_beside_others_are_told_in_saves() -> None:
    volume = Volume(200, 10, 40, logs=0.05, used=90).live(12 * HOURS)
    assert (
        "/data is full after" in next(f for _, who, f in volume.said if who == "saves_left").summary
    )
