"""Ends that somebody else has set."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit import Deadline, Finding, Severity
from middlewatch.sentinels.walltime_short import Limits

from .story import BEGIN, Story


def ends(story: Story, in_s: float, origin: str = "SLURM_JOB_END_TIME") -> Story:
    story.seen(Deadline(story.now, story.now + in_s, origin))
    return story


def trained(hours: float = 1.0, total: float = 50_000) -> Story:
    """Ten seconds a step, evaluated for two minutes every twenty, and saved after that."""
    story = Story().wait(60)
    for _ in range(int(3 * hours)):
        story.train(108, 10, total=total).wait(120).saved()
    return story


def told(story: Story) -> Finding:
    (finding,) = story.asks("walltime_short")
    return finding


def test_it_will_not_be_ready() -> None:
    """At 11 s a step with its evaluations, 49,000 steps need 149 hours."""
    finding = told(ends(trained(3), 24 * 3600))
    assert (finding.trouble, finding.severity) == ("walltime_short", Severity.WARNING)
    assert finding.summary.startswith("the run is ended at Oct 10 11:54 UTC, 5 d 5 h before step")
    assert "; the last save would be at Oct 10 11:54 UTC, near step 8843" in finding.summary
    assert [e.kind for e in finding.evidence] == ["process", "log"]
    assert finding.details["origin"] == "SLURM_JOB_END_TIME"


def test_it_will_be_ready() -> None:
    story = trained(3, total=5000)  # 4,000 more: 12.4 hours
    assert ends(story, 13 * 3600).asks("walltime_short") == []


def test_evaluations_count() -> None:
    """Without them it would be ready an hour before the end."""
    story = trained(3, total=9720 / 10 + 3600)
    assert story.number == 972
    assert len(ends(story, 10.5 * 3600).asks("walltime_short")) == 1


def test_the_margin_is_one_save_or_a_tenth() -> None:
    story = trained(3, total=972 + 3240)  # not quite ten hours more
    assert ends(story, 9.9 * 3600).asks("walltime_short") != [], "closer than one save"
    assert ends(story, 10.5 * 3600).asks("walltime_short") == []


def test_one_outage_is_not_the_speed() -> None:
    story = trained(2, total=972 + 3240).wait(7200)
    story.train(108, 10, total=972 + 3240).wait(120).saved().train(216, 10, total=972 + 3240)
    assert ends(story, 11 * 3600).asks("walltime_short") == []


def test_without_a_plan_or_a_speed_nothing_is_reckoned() -> None:
    assert ends(trained(3, total=0), 3600).asks("walltime_short") == []
    assert ends(Story().train(30, 10, total=9e9), 3600).asks("walltime_short") == []
    story = Story().train(400, 0.0, total=1e6).wait(90).train(3, 10, total=1e6)
    assert ends(story, 3600).asks("walltime_short") == [], "a log that was there before"


def test_the_nearest_end_counts_and_one_that_has_passed_does_not() -> None:
    story = ends(ends(trained(3), 90 * 3600, "timeout"), 24 * 3600)
    assert told(story).details["origin"] == "SLURM_JOB_END_TIME"
    story.wait(25 * 3600)
    assert told(story).details["origin"] == "timeout"
    assert story.wait(90 * 3600).asks("walltime_short") == []


def test_an_end_that_was_put_off() -> None:
    story = ends(trained(3, total=5000), 3 * 3600)
    assert len(story.asks("walltime_short")) == 1
    assert ends(story, 30 * 3600).asks("walltime_short") == []


# -- the last call -----------------------------------------------------------------------------


def test_shortly_before_the_end_with_an_old_save() -> None:
    """It saves every 20 minutes, and has not for 26."""
    story = ends(trained(3).train(156, 10, total=50_000), 29 * 60)
    finding = told(story)
    assert finding.severity is Severity.CRITICAL
    assert "in 29 min, and the newest checkpoint is of 11:54 UTC: 55 min of work" in finding.summary
    assert told(ends(story, 31 * 60)).severity is Severity.WARNING, "not yet"


def test_what_is_lost_always_wakes_nobody() -> None:
    """It will lose less than this run risks at any time."""
    story = ends(trained(3).train(20, 10, total=50_000), 20 * 60)
    assert told(story).severity is Severity.WARNING


def test_a_run_that_is_ready_in_time_loses_nothing() -> None:
    story = trained(3, total=1150).train(156, 10, total=1150)
    assert ends(story, 25 * 60).asks("walltime_short") == []


def test_no_save_at_all() -> None:
    story = ends(Story().wait(60).train(500, 10), 25 * 60)
    assert story.asks("walltime_short") == [], "nobody knows where it saves"
    finding = told(story.source("checkpoint_dir:/data/out", "ok"))
    assert finding.severity is Severity.CRITICAL
    assert "no checkpoint is there: " in finding.summary
    assert story.claim().asks("walltime_short") == [], "elsewhere, then"


def test_of_two_saves_no_interval_is_known() -> None:
    story = ends(Story().wait(60).train(300, 10).saved().train(300, 10), 25 * 60)
    assert told(story).severity is Severity.CRITICAL, "75 minutes"
    assert story.asks("walltime_short", Limits(lost_s=5000)) == []


@pytest.mark.parametrize("other", [{"live": False}, {"gap_s": 60.0}])
def test_old_logs_and_gaps(other: dict[str, object]) -> None:
    assert ends(trained(3), 24 * 3600).asks("walltime_short", **other) == []


def test_after_the_end() -> None:
    assert ends(trained(3), 24 * 3600).end(0).asks("walltime_short") == []
    done = ends(trained(3).step(number=50_000, total=50_000), 60)
    assert done.asks("walltime_short") == []


def test_no_end_is_known() -> None:
    story = trained(3)
    assert story.now > BEGIN
    assert story.asks("walltime_short") == []
