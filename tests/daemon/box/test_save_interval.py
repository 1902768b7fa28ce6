from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.box import save_interval
from middlewatch.daemon.box.platforms import recognise
from middlewatch.daemon.box.save_interval import (
    SaveTiming,
    advise,
    by_length,
    daly,
    overhead,
    young,
)
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.sentinels.kit import (
    CheckpointSeen,
    LogGrowth,
    ProcessesSeen,
    ProcessSample,
    RunFacts,
    Step,
)

from ..box_tree import BoxTree

HOUR = 3600.0
BEGIN = 1_760_000_000.0

WORKED = [  # save s, hours between interruptions, Young s, Daly s, overhead %, steps of 2 s
    (5, 1, 190, 186, 5.3, 94),
    (5, 3, 329, 325, 3.0, 164),
    (5, 12, 657, 654, 1.5, 328),
    (5, 72, 1610, 1607, 0.6, 804),
    (30, 1, 465, 445, 12.9, 232),
    (30, 3, 805, 785, 7.5, 402),
    (30, 12, 1610, 1590, 3.7, 804),
    (30, 72, 3944, 3924, 1.5, 1971),
    (120, 1, 930, 851, 25.8, 464),
    (120, 3, 1610, 1531, 14.9, 804),
    (120, 12, 3220, 3140, 7.5, 1609),
    (120, 72, 7887, 7807, 3.0, 3943),
    (600, 1, 2078, 1698, 57.7, 1039),
    (600, 3, 3600, 3211, 33.3, 1800),
    (600, 12, 7200, 6806, 16.7, 3600),
    (600, 72, 17636, 17239, 6.8, 8818),
]


@pytest.mark.parametrize(("save", "hours", "first", "higher", "percent", "steps"), WORKED)
def test_worked_figures(
    save: int, hours: int, first: int, higher: int, percent: float, steps: int
) -> None:
    between = hours * HOUR
    assert young(save, between) == pytest.approx(first, abs=0.5)
    assert daly(save, between) == pytest.approx(higher, abs=0.5)
    assert 100 * overhead(young(save, between), save, between) == pytest.approx(percent, abs=0.05)
    assert save_interval.whole_steps(young(save, between), 2.0) == steps


saves = st.floats(0.01, 3600.0)
betweens = st.floats(60.0, 1e8)


@given(saves, betweens)
def test_the_higher_order_is_never_longer(save: float, between: float) -> None:
    assert 0 < daly(save, between) <= young(save, between) * (1 + 1e-9)


@given(saves, betweens, st.floats(0.05, 20.0))
def test_no_other_interval_costs_less(save: float, between: float, factor: float) -> None:
    best = young(save, between)
    assert overhead(best, save, between) <= overhead(best * factor, save, between) * (1 + 1e-9)


@given(saves, betweens, st.floats(1.0, 100.0))
def test_dearer_saves_and_rarer_interruptions_mean_rarer_saves(
    save: float, between: float, factor: float
) -> None:
    assert young(save * factor, between) >= young(save, between)
    assert young(save, between * factor) >= young(save, between)


@given(st.floats(1.0, 1e6), st.floats(1e-3, 1e4))
def test_steps_are_rounded_down(every: float, step: float) -> None:
    steps = save_interval.whole_steps(every, step)
    assert steps >= 1
    assert steps == 1 or steps * step <= every * (1 + 1e-9)
    assert (steps + 1) * step > every * (1 - 1e-9)


def test_whole_steps_stay_whole() -> None:
    assert save_interval.whole_steps(0.3, 0.1) == 3
    assert save_interval.whole_steps(0.01, 5.0) == 1


def test_a_save_as_dear_as_the_time_between_two_interruptions() -> None:
    assert daly(7200.0, 3600.0) == 3600.0
    assert daly(1e9, 3600.0) == 3600.0


@pytest.mark.parametrize(
    ("hours", "minutes"), [(0.5, 10), (1, 30), (3.9, 30), (4, 60), (23, 60), (24, 120), (999, 120)]
)
def test_the_rule_of_thumb(hours: float, minutes: float) -> None:
    assert by_length(hours * HOUR) == minutes * 60


# ------------------------------------------------------------------------ advice


def test_advice_in_one_line() -> None:
    seen = SaveTiming(every_s=1800.0, save_s=40.0, save_from="steps", step_s=2.0, job_s=5 * HOUR)
    told = advise(seen, 24 * HOUR, "as configured")
    assert told["advised_s"] == told["advised_steps"] * 2.0
    assert told["advised_s"] <= told["daly_s"] <= told["young_s"]
    assert told["lost_now_s"] == 900.0
    assert told["overhead_advised"] < told["overhead_now"] or told["advised_s"] > 1800
    assert told["rule_of_thumb_s"] == 3600.0
    assert told["text"] == (
        "saves every 30 min; Young/Daly advises 43 min (1301 steps): a save takes 40 s, one "
        "interruption every 24 h assumed (as configured); one loses 15 min on average now, "
        "22 min then"
    )


def test_more_boxes_are_interrupted_more_often() -> None:
    one = advise(SaveTiming(save_s=30.0), 48 * HOUR, "as configured")
    four = advise(SaveTiming(save_s=30.0, nodes=4), 48 * HOUR, "as configured")
    assert four["young_s"] == pytest.approx(one["young_s"] / 2)
    assert "of each of 4 boxes" in four["text"]


def test_without_a_rate_there_is_the_rule_of_thumb() -> None:
    told = advise(SaveTiming(every_s=600.0, save_s=5.0, job_s=6 * HOUR), None, None)
    assert told["advised_s"] is None
    assert told["text"] == "saves every 10 min; rule of thumb for a job of 6 h: every 60 min"


def test_nothing_known_says_nothing() -> None:
    assert advise(SaveTiming(), None, None)["text"] == ""
    assert advise(SaveTiming(job_s=99.0), 24 * HOUR, "x")["text"] == ""
    assert advise(SaveTiming(every_s=60.0), None, None)["text"] == "saves every 60 s"


def test_a_save_that_costs_nothing_is_not_advised_with_every_step() -> None:
    told = advise(SaveTiming(save_s=0.0, step_s=0.1), 24 * HOUR, "as configured")
    assert told["advised_s"] > 60.0
    assert "under a second" in told["text"]


@given(
    st.builds(
        SaveTiming,
        every_s=st.none() | st.floats(0.1, 1e6),
        save_s=st.none() | st.floats(0.0, 1e5),
        step_s=st.none() | st.floats(1e-4, 1e4),
        job_s=st.none() | st.floats(0.0, 1e8),
        nodes=st.integers(1, 10_000),
    ),
    st.none() | st.floats(1.0, 1e9),
)
def test_advice_of_anything(seen: SaveTiming, between: float | None) -> None:
    told = advise(seen, between, "as configured")
    numbers = [v for v in told.values() if isinstance(v, float)]
    assert all(math.isfinite(v) and v >= 0 for v in numbers)
    assert told["advised_steps"] is None or told["advised_steps"] >= 1
    assert isinstance(told["text"], str)


def test_who_says_how_often_boxes_are_interrupted(tmp_path: Any) -> None:
    box = BoxTree(tmp_path).env("COLAB_RELEASE_TAG")
    platforms = recognise(str(box.root))
    told = save_interval.interruptions(
        parse("[checkpoints]\ninterruption_hours = 3", "f"), platforms
    )
    assert told == (3 * HOUR, "as configured")
    between, by = save_interval.interruptions(parse("", ""), platforms)
    assert between == 12 * HOUR
    assert by is not None
    assert "Colab" in by
    assert save_interval.interruptions(parse("", ""), ()) == (None, None)


# ------------------------------------------------------------------------ measuring


class Run:
    """A run that saves, told to a history as the daemon would."""

    def __init__(self, **facts: Any) -> None:
        self.now = BEGIN
        self.history = RunHistory(RunFacts("run", BEGIN, BEGIN, **facts), BoxHistory())
        self.number = 0.0

    def train(self, steps: int, step_s: float = 2.0) -> Run:
        for _ in range(steps):
            self.now += step_s
            self.number += 1
            self.history.add(Step(self.now, self.number, {"train_loss": 1.0}))
        return self

    def save(self, held_s: float, *, seen_after_s: float | None = None, extra_s: float = 0) -> Run:
        """Holds the run up; the follower sees it begin ``seen_after_s`` later, if at all."""
        path, began = f"/out/step_{self.number:.0f}.pt", self.now
        ended = began + held_s
        if seen_after_s is not None:
            self._seen(path, "pending", began + seen_after_s, began + seen_after_s)
        self._seen(path, "ok", ended + 5, ended)
        self.now = ended + extra_s
        return self

    def _seen(self, path: str, state: Any, at: float, saved_at: float) -> None:
        seen = CheckpointSeen(at, path, saved_at, 10, 1, "torch", self.number, state=state)
        self.history.add(seen)
        rest = [c for c in self.history.checkpoints if c.path != path]
        self.history.checkpoints = [*rest, seen]

    def measure(self) -> SaveTiming:
        return save_interval.measure(self.history, self.now)


def test_a_save_is_measured_by_the_pause_of_the_steps() -> None:
    run = Run(expected_steps=10_000.0)
    for _ in range(4):
        run.train(30).save(12.0)
    seen = run.train(3).measure()
    assert seen.save_s == pytest.approx(12.0, abs=0.1)
    assert seen.save_from == "steps"
    assert seen.step_s == pytest.approx(2.0)
    assert seen.every_s == pytest.approx(72.0)
    assert seen.job_s == pytest.approx(20_000.0)


def test_a_save_in_the_background_costs_its_pause_only() -> None:
    run = Run()
    for _ in range(4):
        run.train(30).save(0.4, seen_after_s=0.1)
        run.history.checkpoints.clear()
    assert (run.train(3).measure().save_s or 9.0) < 0.5


def test_an_evaluation_after_the_save_is_no_part_of_it() -> None:
    run = Run()
    for _ in range(4):
        run.train(30).save(12.0, seen_after_s=1.0, extra_s=60.0)
    seen = run.train(3).measure()
    assert seen.save_s == pytest.approx(12.0, abs=0.1)
    assert seen.save_from == "files"


@pytest.mark.parametrize("held", [1.0, 2.0, 6.0])
def test_a_save_is_noticed_late(held: float) -> None:
    """Folders are looked at every two seconds; what is not seen is reckoned with."""
    run = Run()
    for late in (0.2, 0.6, 1.0, 1.4, 1.8):
        run.train(30).save(held, seen_after_s=late * min(held, 2.0) / 2, extra_s=60.0)
    seen = run.train(3).measure()
    assert seen.save_s == pytest.approx(held, abs=0.1)
    assert seen.save_from == "files"


def test_what_a_step_takes_when_reports_and_reading_do_not_keep_time() -> None:
    """A report each 0.75 s, read by the second: 5 steps, 5, 10, …; a pause now and then."""
    run = Run()
    for second in range(1, 200):
        told = int(second / 0.75) * 5
        more = told - int(run.number)
        run.now += 1.0 + (6.0 if second % 40 == 0 else 0.0)
        run.number += more
        run.history.add(Step(run.now, run.number, {"train_loss": 1.0}))
    assert run.measure().step_s == pytest.approx(0.15, rel=0.03)


def test_steps_in_bursts_tell_nothing() -> None:
    run = Run()
    for _ in range(4):
        run.train(30).save(12.0)
    run.train(3).history.add(LogGrowth(run.now, "/log", 8192, 9, run.now, chunk_bytes=4096))
    assert run.measure().save_s is None


def test_a_fast_log_that_is_read_by_the_second() -> None:
    run = Run()
    for _ in range(4):
        for _ in range(10):
            run.train(1, 1.0).train(9, 0.0)
        run.save(6.0)
    seen = run.train(1, 1.0).train(9, 0.0).measure()
    assert seen.step_s == pytest.approx(0.1)
    assert seen.save_s == pytest.approx(6.0)


def test_a_report_that_is_read_after_the_save_began() -> None:
    run = Run()
    for _ in range(4):
        run.train(30)
        run.now -= 1.0  # the save was on disk before its step was read
        run.save(0.0).now += 13.0
    assert run.train(3).measure().save_s == pytest.approx(12.0, abs=0.1)


def test_before_anything_was_saved() -> None:
    seen = Run().train(3).measure()
    assert (seen.save_s, seen.every_s, seen.step_s) == (None, None, None)
    assert seen.job_s == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("world", "here", "nodes"), [(None, 8, 1), (8, 8, 1), (16, 8, 2), (64, 8, 8), (12, 0, 1)]
)
def test_boxes_of_a_run(world: int | None, here: int, nodes: int) -> None:
    run = Run(world_size=world)
    ranks = (ProcessSample(n, 1, 1, "python", "R", 1.0, rank=n) for n in range(100, 100 + here))
    run.history.add(ProcessesSeen(run.now, tuple(ranks)))
    assert run.measure().nodes == nodes
