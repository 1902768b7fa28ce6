"""A CPU quota that is too small."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit import CpuQuotaSample, Finding, Severity
from middlewatch.sentinels.kit.pace.quota import Quota

from .story import Story, samples


class Box:
    """A run in a control group, looked at every ten seconds."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.periods = self.throttled = 0
        self.waited_s = 0.0

    def lives(
        self,
        seconds: int,
        cores: float | None,
        share: float = 0.0,
        *,
        every_s: float = 1.0,
        used: float = 1.0,
    ) -> Story:
        """Steps every so often, and this part of the periods throttled."""
        end = self.story.now + seconds
        while self.story.now < end:
            for _ in range(10):
                self.story.lives(1, used, None, *samples())
            self.story.step(0.0, 10 / every_s)
            self.periods += 100
            self.throttled += round(100 * share)
            self.waited_s += 10 * share
            self.story.seen(
                CpuQuotaSample(
                    self.story.now, "/pod", cores, self.periods, self.throttled, self.waited_s
                )
            )
        return self.story


@pytest.fixture
def box(story: Story) -> Box:
    return Box(story)


def told(story: Story) -> Finding:
    (finding,) = story.asks("cpu_throttled")
    return finding


def test_a_run_that_is_throttled_to_two_fifths(box: Box) -> None:
    assert box.lives(600, 4.0).asks("cpu_throttled") == []
    began = box.story.now
    while not (found := box.lives(10, 0.4, 0.98, every_s=2.5, used=0.4).asks("cpu_throttled")) or (
        found[0].severity is Severity.INFO
    ):
        assert box.story.now - began < 600
    finding = told(box.story)
    assert (finding.trouble, finding.severity) == ("cpu_throttled", Severity.WARNING)
    assert "of its usual speed: its CPU quota (0.4 CPUs, 4 before) ran out in" in finding.summary
    assert finding.evidence[0].kind == "cgroup"
    assert finding.details["cores"] == 0.4
    assert box.story.asks("throughput_collapse") == [], "its reason is known"


def test_a_young_run_whose_quota_was_lowered(box: Box) -> None:
    box.lives(20, None)
    finding = told(box.lives(130, 0.4, 0.95, every_s=2.5, used=0.4))
    assert finding.severity is Severity.WARNING
    assert "the run is slowed down: its CPU quota (0.4 CPUs, none before)" in finding.summary


def test_a_quota_that_is_used_up_all_the_time_is_a_note(box: Box) -> None:
    assert told(box.lives(900, 4.0, 0.9)).severity is Severity.INFO


def test_a_lower_quota_that_costs_no_speed_is_a_note(box: Box) -> None:
    box.lives(600, 8.0)
    assert told(box.lives(400, 4.0, 0.7)).severity is Severity.INFO


def test_bigger_steps_at_a_quota_that_was_always_used_up(box: Box) -> None:
    box.lives(900, 4.0, 0.9, used=4.0)
    assert told(box.lives(600, 4.0, 0.9, every_s=3.0, used=4.0)).severity is Severity.INFO


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_a_quota_that_runs_out_now_and_then(box: Box, share: float) -> None:
    assert box.lives(900, 4.0, share).asks("cpu_throttled") == []


def test_a_burst_of_two_minutes(box: Box) -> None:
    box.lives(600, 4.0)
    assert box.lives(120, 4.0, 1.0).asks("cpu_throttled") == []
    assert box.lives(60, 4.0).asks("cpu_throttled") == []


def test_no_quota(box: Box) -> None:
    assert box.lives(900, None, every_s=1.0).asks("cpu_throttled") == []


def test_it_is_over_when_the_quota_is_raised(box: Box) -> None:
    box.lives(600, 4.0)
    assert told(box.lives(300, 0.4, 1.0, every_s=2.5, used=0.4))
    assert box.lives(80, 4.0).asks("cpu_throttled") == []


def test_old_looks_and_old_logs(box: Box) -> None:
    box.lives(600, None)
    assert told(box.lives(300, 0.4, 1.0))
    assert box.story.wait(120).asks("cpu_throttled") == []
    assert box.story.replayed().asks("cpu_throttled") == []


# -- what is remembered ------------------------------------------------------------------------


def test_counters_that_begin_anew() -> None:
    quota = Quota()
    for at, group, periods in ((0, "/a", 500), (10, "/a", 600), (20, "/b", 700), (30, "/b", 5)):
        quota.add(CpuQuotaSample(at, group, 1.0, periods, periods, 0.0))
    assert [one.at for one in quota.spent] == [10]
    assert quota.share(10, 10) == 1.0
    assert quota.share(10, 60) is None, "most of the window was not seen"


def test_it_is_quiet_while_nothing_waits() -> None:
    quota = Quota()
    for at in range(0, 100, 10):
        quota.add(CpuQuotaSample(at, "/a", 1.0, at, 0, 0.0))
    assert quota.quiet
    quota.add(CpuQuotaSample(100, "/a", 1.0, 100, 1, 0.1))
    assert not quota.quiet
    assert quota.waits(100, 10) == pytest.approx(0.01)
