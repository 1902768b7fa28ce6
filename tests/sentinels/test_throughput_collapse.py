"""Steps that take several times as long as they did."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit import Severity

from .story import Story


def test_far_slower_for_long(story: Story) -> None:
    story.train(100, step_time_s=0.3)
    assert story.train(20, step_time_s=3.0).asks("throughput_collapse") == []
    (finding,) = story.train(30, step_time_s=3.0).asks("throughput_collapse")
    assert (finding.trouble, finding.severity) == ("throughput_collapse", Severity.WARNING)
    assert finding.summary.startswith("steps take 10 times as long as before since step ")
    assert not finding.fatal
    assert story.train(40, step_time_s=0.3).asks("throughput_collapse") == []
    (finding,) = story.replayed().asks("throughput_collapse")
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize("metric", ["tokens_per_s", "samples_per_s"])
def test_rates(story: Story, metric: str) -> None:
    story.train(100, **{metric: 9e4}).train(48, **{metric: 9e3})
    assert len(story.asks("throughput_collapse")) == 1


def test_half_as_fast_is_no_collapse(story: Story) -> None:
    story.train(100, step_time_s=0.3).train(100, step_time_s=0.7)
    assert story.asks("throughput_collapse") == []


def test_evaluations_and_saves_between_steps(story: Story) -> None:
    for _ in range(40):
        story.train(9, step_time_s=0.3).step(step_time_s=60.0)
    assert story.asks("throughput_collapse") == []


def test_a_slow_beginning(story: Story) -> None:
    story.train(16, step_time_s=90.0).train(200, step_time_s=0.3)
    assert story.asks("throughput_collapse") == []


def test_a_batch_that_grows(story: Story) -> None:
    for n in (1, 2, 4, 8, 16):
        story.train(40, step_time_s=0.3 * n, **{"global batch size": 64.0 * n})
    assert story.asks("throughput_collapse") == []
