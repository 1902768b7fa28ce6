"""What the watch cannot see."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.blind import Limits
from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.observations import SourceStateName

from .story import Story

LOG = "log_tail:/data/train.log"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("failed", "cannot be read"),
        ("stalled", "has not answered"),
        ("impaired", "is impaired"),
    ],
)
def test_a_broken_source_is_told_after_a_while(
    story: Story, state: SourceStateName, words: str
) -> None:
    story.source(LOG, state, detail="Permission denied")
    assert story.wait(29).asks("blind") == []
    (finding,) = story.wait(2).asks("blind")
    assert (finding.trouble, finding.severity) == ("blind", Severity.WARNING)
    assert finding.summary == f"{LOG} {words} for 31 s: Permission denied"
    assert finding.key == LOG


@pytest.mark.parametrize("state", ["starting", "ok", "unsupported"])
def test_what_works_or_is_absent(story: Story, state: SourceStateName) -> None:
    assert story.source(LOG, state, 900).asks("blind") == []


def test_every_source_is_an_incident_of_its_own(story: Story) -> None:
    story.source(LOG, "failed", 60).source("nvml", "stalled", 60)
    assert {f.key for f in story.asks("blind")} == {LOG, "nvml"}


@pytest.mark.parametrize("words", ["/data/train.log: Too many open files", "no descriptor is left"])
def test_a_lack_of_descriptors_is_told_once(story: Story, words: str) -> None:
    story.source(LOG, "failed", 60, detail=words)
    story.source("processes", "impaired", 60, detail="one process is hidden")
    assert {f.key for f in story.asks("blind")} == {LOG, "processes"}
    story.source("own:descriptors", "impaired", 60, detail="nearly none left")
    assert {f.key for f in story.asks("blind")} == {"own:descriptors", "processes"}


def test_a_driver_that_hangs_while_the_run_goes_on(story: Story) -> None:
    story.source("nvml", "stalled", detail="no answer").train(60)
    (finding,) = story.asks("blind")
    assert finding.severity is Severity.WARNING


def test_a_driver_that_hangs_while_the_run_stands_still(story: Story) -> None:
    story.train(60).source("nvml", "stalled", detail="no answer").wait(90)
    (finding,) = story.asks("blind")
    assert finding.severity is Severity.CRITICAL
    assert finding.summary.endswith("; the run makes no progress either")


def test_a_driver_that_is_gone_while_the_run_evaluates_as_it_always_did(story: Story) -> None:
    for _ in range(3):
        story.train(600).wait(240)
    story.train(600).source("nvml", "failed").wait(240)
    (finding,) = story.asks("blind")
    assert finding.severity is Severity.WARNING
    (finding,) = story.wait(240).asks("blind")
    assert finding.severity is Severity.CRITICAL


def test_a_driver_that_was_gone_long_before(story: Story) -> None:
    story.train(60).source("nvml", "failed").train(120).wait(240)
    (finding,) = story.asks("blind")
    assert finding.severity is Severity.WARNING, "the steps went on without it: ask the hang rule"


def test_a_flaw_of_the_driver_is_no_silence(story: Story) -> None:
    story.train(60).source("nvml", "impaired").wait(90)
    (finding,) = story.asks("blind")
    assert finding.severity is Severity.WARNING


def test_what_was_before_a_restart_of_the_watch_proves_nothing(story: Story) -> None:
    story.train(60).wait(600).source("nvml", "failed").wait(40)
    (finding,) = story.asks("blind", gap_s=40.0)
    assert finding.severity is Severity.WARNING


def test_a_run_that_was_never_seen_to_step(story: Story) -> None:
    story.source("nvml", "failed").wait(600)
    (finding,) = story.asks("blind")
    assert finding.severity is Severity.WARNING


def test_silence_after_the_end(story: Story) -> None:
    story.source(LOG, "failed", 900).end(0)
    assert story.asks("blind") == []


def test_an_old_log(story: Story) -> None:
    assert story.source(LOG, "failed", 900).replayed().asks("blind") == []


def test_a_reason_of_many_lines_stays_one(story: Story) -> None:
    story.source(LOG, "failed", 60, detail="Traceback:\n  line 1\n" + "x" * 900)
    (finding,) = story.asks("blind")
    assert "\n" not in finding.summary
    assert len(finding.summary) == 300


def test_patience_is_a_setting(story: Story) -> None:
    story.source(LOG, "failed", 60)
    assert story.asks("blind", Limits(for_s=90)) == []
