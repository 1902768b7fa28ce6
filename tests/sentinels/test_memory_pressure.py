"""Memory that runs out, and memory that only looks like it."""

from __future__ import annotations

import json
import math
from random import Random

import pytest

from middlewatch.sentinels.kit import MemorySample, Severity, discover
from middlewatch.sentinels.kit.forecast import MemoryUse

from .story import GIB, Story

RULE = discover()["memory_pressure"]
LIMIT = 100 * GIB


class Box:
    """A run whose memory is told in GiB of a limit of 100, every five seconds."""

    def __init__(self, started_s: float = 0.0) -> None:
        self.story = Story()
        if started_s:
            self.story.train(20).wait(started_s)
        self.said: list[tuple[float, Severity]] = []
        self.killed_at: float | None = None
        self.trains = True

    def look(
        self, used: float, cache: float = 0.0, active: float = 0.0, some: float | None = None
    ) -> Box:
        story = self.story.wait(5)
        working = int((used + active) * GIB)
        sample = MemorySample(
            story.now,
            "/box",
            LIMIT,
            working + int(cache * GIB),
            working,
            0,
            active_file_bytes=int(active * GIB),
            pressure_some_avg10=some,
        )
        story.memory = [sample]
        story.seen(sample)
        if used >= 100 and self.killed_at is None:
            self.killed_at = story.now
        if self.trains and int(story.now) % 60 < 5:
            story.step(0.0)
            story.steps, story.marks = story.steps[-5:], story.marks[-5:]
        if story.accumulators[MemoryUse].quiet:
            assert RULE(story.view()) == []
        else:
            self.said += [(story.now, f.severity) for f in RULE(story.view())]
        return self

    def lead_s(self, severity: Severity) -> float:
        assert self.killed_at is not None
        return self.killed_at - min(at for at, s in self.said if s >= severity)


def leak(minutes: float, start: float = 30.0, left_at: float = 0.0) -> Box:
    """Steady for ten minutes, then everything is gone in so many, or all but ``left_at``."""
    box = Box()
    for _ in range(120):
        box.look(start)
    used = start
    while box.killed_at is None and used < 100 - left_at:
        used += (100 - start) / (minutes * 12)
        box.look(used)
    return box


@pytest.mark.parametrize(
    ("minutes", "warned_min", "paged_min"),
    [(20, 8, 8), (40, 18, 15), (120, 50, 18), (360, 105, 18), (1200, 110, 18)],
)
def test_leaks(minutes: int, warned_min: float, paged_min: float) -> None:
    box = leak(minutes)
    warned, paged = box.lead_s(Severity.WARNING) / 60, box.lead_s(Severity.CRITICAL) / 60
    print(f"leak over {minutes} min: warned {warned:.0f}, paged {paged:.0f} min ahead")
    assert warned >= warned_min
    assert paged >= paged_min


def test_a_leak_with_every_evaluation() -> None:
    """Three gigabytes every 20 minutes, and nothing between."""
    box = Box()
    for look in range(12 * 60 * 12):
        box.look(40 + 3 * (look // 240))
        if box.killed_at is not None:
            break
    assert box.lead_s(Severity.WARNING) >= 60 * 60


def test_a_model_that_is_loaded_is_no_leak() -> None:
    box = Box()
    box.trains = False
    for look in range(12 * 15):
        box.look(10 + 0.45 * look)
    box.trains = True
    for _ in range(12 * 60):
        box.look(91)
    assert box.said == []


def test_humps_of_saves() -> None:
    """Every half hour four minutes of gathering weights, up to 92 %."""
    box = Box()
    for look in range(12 * 60 * 5):
        into = (look / 12) % 30
        box.look(60 + 8 * min(into, 4) if into < 5 else 60)
    assert box.said == []


@pytest.mark.parametrize("seed", range(6))
def test_noise_and_the_first_hump(seed: int) -> None:
    """A use that shakes by 3 %, and 20 minutes of a copy of the weights with every save."""
    box, noise = Box(), Random(seed)
    for look in range(12 * 60 * 3):
        saving = (look / 12) % 70 >= 50
        box.look(70 * noise.uniform(0.97, 1.03) + 5 * saving)
    assert box.said == []


def test_a_leak_below_humps_of_saves() -> None:
    """What remains after every save is more than before: told, though humps come and go."""
    box = Box()
    for look in range(12 * 60 * 12):
        saving = (look / 12) % 60 >= 50
        box.look(50 + look / 144 + 6 * saving)
        if box.killed_at is not None:
            break
    assert box.lead_s(Severity.WARNING) >= 45 * 60
    assert box.lead_s(Severity.CRITICAL) >= 10 * 60


def test_page_cache_is_no_use() -> None:
    box = Box()
    for look in range(12 * 60 * 3):
        box.look(40, cache=min(25, look * 0.05), active=min(34, look * 0.05))
    assert box.said == []


def test_breathing_near_the_limit() -> None:
    box = Box()
    for look in range(12 * 60 * 4):
        box.look(90 + 3 * math.sin(look / 40) + 1.5 * math.sin(look / 7))
    assert box.said == []


def test_growth_that_has_stopped() -> None:
    """A cache of the data set fills during the first epoch."""
    box = Box()
    for look in range(12 * 60 * 4):
        box.look(min(80, 50 + look * 0.03))
    quiet_from = box.story.now - 2 * 3600
    assert [at for at, _ in box.said if at > quiet_from] == []
    assert all(s is Severity.WARNING for _, s in box.said)


def test_what_is_told() -> None:
    box = leak(240)
    story = box.story.wait(-600)
    story.accumulators = {MemoryUse: MemoryUse()}
    for look in range(12 * 60):
        box.look(60 + look / 36)
    (finding,) = story.asks("memory_pressure")
    assert (finding.trouble, finding.severity) == ("memory_pressure", Severity.WARNING)
    assert "GiB of 100.0 GiB left, 20.0 GiB more an hour" in finding.summary
    assert "in 60 min" in finding.summary
    assert finding.evidence[0].kind == "cgroup"


def squeezed(some: float | None, used: float = 97.0, seconds: int = 15) -> list[Severity]:
    box = Box()
    for _ in range(seconds // 5 + 1):
        box.look(used, some=some)
    return [f.severity for f in RULE(box.story.view())]


def test_waiting_for_memory() -> None:
    assert squeezed(30.0) == [Severity.CRITICAL]
    assert squeezed(30.0, seconds=5) == [], "a moment is none"
    assert squeezed(10.0) == []
    assert squeezed(30.0, used=90.0) == [], "something is left"
    assert squeezed(None) == [], "version 1 tells no pressure"


def test_without_a_limit_the_box_counts() -> None:
    story = Story().train(20)
    for look in range(60):
        story.wait(60)
        left = (40 - look // 2) * GIB
        story.memory = [MemorySample(story.now, "/", None, 0, 200 * GIB, 0, None, left)]
        story.seen(story.memory[0])
    (finding,) = story.asks("memory_pressure")
    assert "11.0 GiB of 211.0 GiB left" in finding.summary


def test_nothing_known_nothing_told() -> None:
    story = Story().train(20)
    story.memory = [MemorySample(story.now, "/", None, 9, 9, None)]
    story.seen(story.memory[0])
    assert story.accumulators[MemoryUse].quiet
    assert story.asks("memory_pressure") == []


def test_old_samples_the_end_and_old_logs() -> None:
    box = Box()
    for look in range(12 * 60):
        box.look(60 + look / 36)
    story = box.story
    assert len(story.asks("memory_pressure")) == 1
    assert story.asks("memory_pressure", live=False) == []
    assert story.asks("memory_pressure", now=story.now + 120) == []
    assert story.end(0).asks("memory_pressure") == []


def test_a_steep_rise_in_a_save_wakes_nobody() -> None:
    box = leak(15)
    story = box.story
    assert [f.severity for f in story.asks("memory_pressure")] == [Severity.CRITICAL]
    (finding,) = story.asks("memory_pressure", saving_at=story.now - 10)
    assert finding.severity is Severity.WARNING, "next to nothing is left"
    early = leak(15, left_at=25).story
    assert [f.severity for f in early.asks("memory_pressure")] == [Severity.CRITICAL]
    assert early.asks("memory_pressure", saving_at=early.now - 10) == []


def test_it_goes_on_after_a_restart_of_the_watch() -> None:
    box = Box()
    for look in range(12 * 60):
        box.look(60 + look / 36)
    before = box.story.accumulators[MemoryUse]
    after = MemoryUse()
    after.restore(json.loads(json.dumps(before.save())))
    box.story.accumulators[MemoryUse] = after
    assert after.quiet
    box.look(80.1)
    assert len(RULE(box.story.view())) == 1


def test_another_limit_is_another_story() -> None:
    box = Box()
    for look in range(12 * 60):
        box.look(60 + look / 36)
    story = box.story
    sample = MemorySample(story.now, "/box", LIMIT + GIB, 80 * GIB, 80 * GIB, 0)
    story.memory = [sample]
    story.seen(sample)
    assert story.asks("memory_pressure") == []
