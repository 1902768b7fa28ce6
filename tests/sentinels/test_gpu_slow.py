"""Cards that hold themselves back."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.sentinels.gpu_slow import Limits
from middlewatch.sentinels.kit import Finding, Severity

from .story import Story


def load(story: Story, seconds: int, **fields: Any) -> Story:
    """Two cards at full load; the fields are those of the second."""
    usual = {"sm_clock_mhz": 1755.0, "sm_clock_usual_mhz": 1755.0}
    for _ in range(seconds):
        story.wait(1).gpu(0, **usual).gpu(1, **{**usual, **fields})
    return story


def told(story: Story) -> Finding:
    (finding,) = story.asks("gpu_slow")
    return finding


@pytest.mark.parametrize("reason", ["hw_thermal", "hw_power_brake", "hw_slowdown"])
def test_the_hardware_slows_it_down(story: Story, reason: str) -> None:
    load(story, 30)
    assert load(story, 5, throttle=(reason,)).asks("gpu_slow") == []
    finding = told(load(story, 1, throttle=(reason,), sm_clock_mhz=500.0, temp_c=91.0))
    assert (finding.trouble, finding.severity) == ("gpu_slow", Severity.WARNING)
    assert (finding.key, finding.details["reason"]) == ("gpu1", reason)
    assert "500 MHz, usually 1755" in finding.summary
    assert "91 °C" in finding.evidence[0].text


def test_it_is_told_within_ten_seconds(story: Story) -> None:
    load(story, 60)
    seconds = 0
    while not load(story, 1, sm_clock_mhz=345.0).asks("gpu_slow"):
        seconds += 1
        assert seconds < 8


def test_the_clock_has_dropped(story: Story) -> None:
    finding = told(load(load(story, 30), 8, sm_clock_mhz=900.0))
    assert finding.details["reason"] == "clock"
    assert "far below its usual clock" in finding.summary
    assert finding.details["clock_ratio"] == pytest.approx(0.513, abs=0.001)


def test_the_driver_lowers_the_clock_of_a_warm_card(story: Story) -> None:
    assert load(story, 30, throttle=("sw_thermal",)).asks("gpu_slow") == []
    finding = told(load(story, 8, throttle=("sw_thermal",), sm_clock_mhz=1500.0))
    assert finding.details["reason"] == "sw_thermal"


@pytest.mark.parametrize(
    "fields",
    [
        {"throttle": ("sw_power_cap",), "sm_clock_mhz": 900.0},
        {"throttle": ("hw_slowdown",), "util_ratio": 0.0, "sm_clock_mhz": 345.0},
        {"util_ratio": 0.1, "sm_clock_mhz": 345.0},
        {"throttle": ("hw_slowdown",), "util_ratio": None},
        {"sm_clock_mhz": 345.0, "sm_clock_usual_mhz": None},
        {"sm_clock_mhz": None},
        {"throttle": ("reliability",)},
    ],
)
def test_what_is_no_trouble(story: Story, fields: dict[str, Any]) -> None:
    assert load(load(story, 30), 60, **fields).asks("gpu_slow") == []


def test_a_second_of_it_now_and_then(story: Story) -> None:
    for _ in range(20):
        load(load(story, 4), 2, throttle=("hw_slowdown",), sm_clock_mhz=600.0)
        assert story.asks("gpu_slow") == []


def test_a_card_of_another_run(story: Story) -> None:
    story.idle(1)
    for _ in range(20):
        story.wait(1).gpu(0).gpu(1, stray=True, throttle=("hw_thermal",))
    assert story.asks("gpu_slow") == []


def test_a_card_of_which_nothing_shows_who_uses_it(story: Story) -> None:
    story.gpus_known = False
    for _ in range(20):
        story.wait(1).gpu(1, stray=True, throttle=("hw_thermal",))
    (finding,) = story.asks("gpu_slow")
    assert (finding.severity, finding.place) == (Severity.WARNING, "gpu:GPU-1")
    assert finding.since == story.now - 7


def test_old_samples_and_old_logs(story: Story) -> None:
    load(story, 20, throttle=("hw_thermal",))
    assert len(story.asks("gpu_slow")) == 1
    assert story.wait(60).asks("gpu_slow") == []
    assert story.replayed().asks("gpu_slow") == []


def test_settings(story: Story) -> None:
    load(story, 4, throttle=("hw_thermal",))
    assert len(story.asks("gpu_slow", Limits(looks=4, most=3))) == 1
