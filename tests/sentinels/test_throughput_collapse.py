"""Steps that take several times as long as they did."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.sentinels.kit import Finding, Severity
from middlewatch.sentinels.kit.pace.collapse import Collapse

from .story import Story, sample


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


# -- by the clock --------------------------------------------------------------------------------


def cards(story: Story, minutes: int, every_s: float, power_w: float, **fields: Any) -> Story:
    """Steps every so often while two cards draw so much."""
    usual = {"power_usual_w": 600.0, "sm_clock_usual_mhz": 1755.0, "sm_clock_mhz": 1755.0}
    for _ in range(minutes * 12):
        story.train(max(1, round(5 / every_s)), max(5.0, every_s) / max(1, round(5 / every_s)))
        for index in (0, 1):
            for _ in range(5):
                story.gpu(index, power_w=power_w, **{**usual, **fields})
            story.gpus[index] = story.gpus[index][-60:]
    return story


def pace(story: Story) -> Finding:
    (finding,) = story.asks("throughput_collapse")
    assert finding.key == "pace"
    return finding


def test_a_fifth_slower_in_both_windows(story: Story) -> None:
    assert cards(story, 40, 1.0, 600.0).asks("throughput_collapse") == []
    assert cards(story, 8, 1.6, 450.0).asks("throughput_collapse") == [], "not yet for long"
    finding = pace(cards(story, 14, 1.6, 450.0))
    assert finding.severity is Severity.WARNING
    assert finding.summary.startswith("the run makes 60% of its usual speed, seen at step ")
    assert finding.summary.endswith("; the GPUs draw 75% of their usual power")
    assert "s usually" in finding.evidence[0].text
    assert {e.kind for e in finding.evidence} == {"process", "gpu"}


def test_half_as_fast_for_ten_minutes_wakes_a_person(story: Story) -> None:
    cards(story, 40, 1.0, 600.0)
    assert pace(cards(story, 22, 2.5, 240.0)).severity is Severity.WARNING
    assert pace(cards(story, 10, 2.5, 240.0)).severity is Severity.CRITICAL
    assert cards(story, 12, 1.0, 600.0).asks("throughput_collapse") == []


def test_steps_that_are_more_work_than_before(story: Story) -> None:
    cards(story, 40, 1.0, 600.0)
    assert cards(story, 60, 3.0, 590.0).asks("throughput_collapse") == []


def test_a_card_that_is_held_back_is_told_by_its_own_rule(story: Story) -> None:
    cards(story, 40, 1.0, 600.0)
    slow = cards(story, 40, 3.0, 300.0, throttle=("hw_thermal",), sm_clock_mhz=600.0)
    assert slow.asks("throughput_collapse") == []
    assert len(slow.asks("gpu_slow")) == 2


def computing(story: Story, minutes: int, every_s: float, cores: float) -> Story:
    for _ in range(minutes * 60):
        story.lives(1, cores, None)
        if story.now % every_s < 1:
            story.step(0.0)
    return story


def test_processes_that_compute_less(story: Story) -> None:
    computing(story, 20, 1.0, 8.0)
    finding = pace(computing(story, 20, 3.0, 2.0))
    assert finding.severity is Severity.WARNING, "nothing but its own pace and CPU time"
    assert finding.summary.endswith("; its processes use 25% of their usual CPU time")


def test_processes_that_compute_as_before(story: Story) -> None:
    """Longer sequences, on a box without GPUs."""
    computing(story, 20, 1.0, 8.0)
    assert computing(story, 40, 3.0, 8.0).asks("throughput_collapse") == []


def test_nothing_but_lines_needs_half_the_speed(story: Story) -> None:
    story.train(1800, 1.0)
    assert story.train(1500, 1.5).asks("throughput_collapse") == []
    assert pace(story.train(1200, 2.5)).severity is Severity.WARNING


# -- at once -------------------------------------------------------------------------------------


def works(story: Story, reports: int, every_s: float, cores: float, **report: Any) -> Story:
    """Reports every so often, while the main process uses so many CPU cores."""
    for _ in range(reports):
        story.lives(every_s, cores, None)
        story.step(every_s % 1, **report)
    return story


def test_every_step_takes_ten_times_as_long_and_nothing_is_computed(story: Story) -> None:
    works(story, 40, 2, 0.9)
    assert works(story, 1, 20, 0.05).asks("throughput_collapse") == []
    (finding,) = works(story, 2, 20, 0.05).asks("throughput_collapse")
    assert (finding.trouble, finding.severity) == ("throughput_collapse", Severity.WARNING)
    assert finding.summary == (
        "the run is 10 times as slow as before since step 41, and waits: its processes use 0.05 CPU "
        "cores instead of 0.9"
    )
    assert finding.since is not None
    works(story, 4, 2, 0.9)
    assert all(f.key != "sudden" for f in story.asks("throughput_collapse"))


@pytest.mark.parametrize(("every_s", "told"), [(30.0, True), (9.0, False)])
def test_soon_after_the_start_it_must_be_more(story: Story, every_s: float, told: bool) -> None:
    works(story, 7, 2, 0.9)
    works(story, 4, every_s, 0.05)
    assert bool(story.asks("throughput_collapse")) is told


def test_a_rate_without_step_numbers(story: Story) -> None:
    works(story, 30, 3, 0.9, number=None, tokens_per_s=3500.0)
    works(story, 12, 3, 0.1, number=None, tokens_per_s=310.0)
    assert [f.key for f in story.asks("throughput_collapse")] == ["sudden"]


def test_reports_of_a_bar_without_step_numbers(story: Story) -> None:
    for _ in range(40):
        story.lives(1, 0.9, None)
        for _ in range(8):
            story.step(0.0, number=None)
    works(story, 20, 2, 0.05, number=None)
    assert [f.key for f in story.asks("throughput_collapse")] == ["sudden"]


def test_steps_that_compute_more_are_no_collapse(story: Story) -> None:
    works(story, 40, 2, 0.9)
    assert works(story, 6, 20, 0.8).asks("throughput_collapse") == []


def test_readers_that_compute_more_while_the_trainer_waits(story: Story) -> None:
    reader = 0.0

    def feeds(reports: int, every_s: float, trainer: float, cores: float) -> Story:
        nonlocal reader
        for _ in range(reports):
            for _ in range(int(every_s)):
                reader += cores
                story.lives(1, trainer, None, sample(), sample(pid=200, cpu_s=reader))
            story.step(0.0)
        return story

    feeds(40, 2, 0.7, 0.1)
    assert feeds(1, 20, 0.05, 1.5).asks("throughput_collapse") == []
    (finding,) = feeds(2, 20, 0.05, 1.5).asks("throughput_collapse")
    assert "its trainer uses 0.08" in finding.summary
    feeds(40, 2, 0.7, 0.1)
    assert feeds(4, 20, 0.7, 1.5).asks("throughput_collapse") == [], "it computes as before"


def test_cards_that_draw_their_power_are_at_work(story: Story) -> None:
    works(story, 40, 2, 0.9)
    for _ in range(10):
        story.gpu(power_w=580.0, power_usual_w=600.0)
    assert works(story, 4, 20, 0.05).asks("throughput_collapse") == []
    for _ in range(10):
        story.gpu(power_w=110.0, power_usual_w=600.0)
    assert works(story, 1, 20, 0.05).asks("throughput_collapse")


def test_a_pause_as_the_run_had_before(story: Story) -> None:
    works(story, 40, 2, 0.9)
    works(story, 2, 12, 0.05)
    works(story, 40, 2, 0.9)
    assert works(story, 3, 12, 0.05).asks("throughput_collapse") == []
    assert works(story, 2, 12, 0.05).asks("throughput_collapse")


def test_an_old_run_may_be_held_up_for_longer(story: Story) -> None:
    works(story, 600, 6, 0.9)  # an hour
    assert works(story, 4, 30, 0.05).asks("throughput_collapse") == []
    assert works(story, 6, 30, 0.05).asks("throughput_collapse")


def test_marks_that_are_only_partly_slow_do_not_become_usual(story: Story) -> None:
    works(story, 9, 2, 0.9)
    works(story, 1, 7, 0.4)  # four times as slow in its second half
    assert works(story, 4, 12, 0.05).asks("throughput_collapse")


def test_a_stretch_that_is_less_slow_becomes_usual(story: Story) -> None:
    works(story, 40, 2, 0.9)
    works(story, 24, 6, 0.2)
    assert all(f.key != "sudden" for f in story.asks("throughput_collapse"))
    assert story.accumulators[Collapse].quiet
    works(story, 5, 30, 0.02)
    assert "sudden" in [f.key for f in story.asks("throughput_collapse")]


def test_a_silence_is_left_to_another_rule(story: Story) -> None:
    works(story, 40, 2, 0.9)
    works(story, 3, 20, 0.05)
    assert story.idle(200).asks("throughput_collapse") == []


def test_an_announced_evaluation_between_reports(story: Story) -> None:
    works(story, 40, 2, 0.9)
    for _ in range(4):
        story.phase("evaluate")
        works(story, 1, 20, 0.05)
    assert story.asks("throughput_collapse") == []


def test_a_new_stage_may_be_other_work(story: Story) -> None:
    works(story, 40, 2, 0.9)
    story.phase("stage", "==== stage 2: sequences of 14 ====")
    works(story, 20, 6, 0.3)
    assert story.asks("throughput_collapse") == []
    works(story, 4, 50, 0.02)
    assert story.asks("throughput_collapse"), "and within it the rule is the same"


def test_a_new_stage_that_waits_where_the_one_before_computed(story: Story) -> None:
    works(story, 40, 2, 0.9)
    story.phase("stage", "stage 2: all 900 documents")
    (finding,) = works(story, 5, 22, 0.05).asks("throughput_collapse")
    assert "waits" in finding.summary


def test_what_is_announced_all_the_time_is_no_stage(story: Story) -> None:
    for _ in range(40):
        story.phase("stage", "task 3: done")
        works(story, 4, 2, 0.9)
    works(story, 3, 20, 0.05)
    assert story.asks("throughput_collapse")


def test_a_long_slow_stretch_that_falls_silent_is_left_to_another_rule(story: Story) -> None:
    works(story, 40, 2, 0.9)
    works(story, 90, 20, 0.05)
    assert story.asks("throughput_collapse")
    assert all(f.key != "sudden" for f in story.idle(100).asks("throughput_collapse"))
