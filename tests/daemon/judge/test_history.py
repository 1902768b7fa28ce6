from __future__ import annotations

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.judge.curve import CURVE_POINTS, Curve
from middlewatch.daemon.judge.history import NAMES, BoxHistory, RunHistory
from middlewatch.daemon.system import jsonlines
from middlewatch.sentinels.kit import DiskSample, GpuSample, ProcessesSeen, RunFacts, Step
from middlewatch.sentinels.kit.pace.pauses import Pauses

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


def fresh() -> RunHistory:
    return RunHistory(RunFacts("gpt", 0.0, 0.0), BoxHistory())


def step(number: float | None, at: float = 0.0, rank: int | None = None, **values: float) -> Step:
    return Step(at=at, number=number, values=values, rank=rank)


# ------------------------------------------------------------------------ curves


@given(st.lists(st.tuples(st.integers(-5, 5000), NUMBERS), max_size=2500))
def test_a_curve_is_bounded_and_its_steps_go_up(samples: list[tuple[int, float]]) -> None:
    curve = Curve()
    for at, value in samples:
        curve.add(at, value)
        assert len(curve.points) <= CURVE_POINTS
    steps = [at for at, _ in curve.points]
    assert steps == sorted(set(steps))


def test_a_long_curve_is_thinned_out_evenly() -> None:
    curve = Curve()
    for at in range(100_000):
        curve.add(at, 1.0 / (at + 1))
    steps = [at for at, _ in curve.points]
    gaps = {b - a for a, b in itertools.pairwise(steps)}
    assert steps[0] == 0
    assert gaps == {curve.stride}
    assert CURVE_POINTS // 2 <= len(steps) <= CURVE_POINTS
    assert steps[-1] >= 100_000 - 2 * curve.stride


def test_a_nan_is_never_thinned_out() -> None:
    curve = Curve(stride=64)
    for at in range(40):
        curve.add(at, math.nan if at == 17 else 1.0)
    assert [at for at, value in curve.points if math.isnan(value)] == [17]


def test_a_resume_cuts_the_curve_where_it_goes_back() -> None:
    curve = Curve()
    for at in (*range(10), 5, 6):
        curve.add(at, float(at))
    assert [at for at, _ in curve.points] == [0, 1, 2, 3, 4, 5, 6]


# ------------------------------------------------------------------------ a run


def test_steps_and_what_they_bring() -> None:
    history = fresh()
    history.add(Step(1.0, 10, {"train_loss": 2.0, "lr": 0.1}, epoch=0.5, total=100))
    history.add(step(10, 2.0, train_loss=1.9))
    history.add(step(None, 3.0, train_loss=1.8))
    history.add(step(None, 4.0, accuracy=0.5))
    view = history.view(5.0)
    assert [s.loss for s in view.steps] == [2.0, 1.9, 1.8]
    assert list(view.step_times) == [(1.0, 10)]
    assert (history.total, history.epoch) == (100, 0.5)
    assert history.latest == {"train_loss": 1.8, "lr": 0.1, "accuracy": 0.5}
    assert history.latest_at["lr"] == 1.0


def test_the_curve_is_rank_0_s() -> None:
    history = fresh()
    for number in range(5):
        history.add(step(number, rank=0, train_loss=1.0))
        history.add(step(number, rank=1, train_loss=9.0))
    assert [value for _, value in history.curves["train_loss"].points] == [1.0] * 5


def test_a_program_that_invents_a_name_with_every_step() -> None:
    history = fresh()
    for number in range(2000):
        values = {f"val/sample_{number}": 1.0, "train_loss": 2.0}
        history.add(Step(float(number), number, values))
    assert len(history.latest) == len(history.latest_at) == NAMES
    assert history.latest["train_loss"] == 2.0
    assert "val/sample_1999" in history.latest


def test_the_box_is_shared_and_bounded() -> None:
    box = BoxHistory()
    one, other = (RunHistory(RunFacts(n, 0.0, 0.0), box) for n in "ab")
    for at in range(500):
        one.add(DiskSample(at, "/data", "ext4", 10, 5, None, None))
        one.add(GpuSample(at, 3))
    view = one.view(500)
    assert len(view.disks["/data"]) == len(view.gpus[3]) == 120
    assert view.gpus[3][-1].at == 499
    assert (other.view(500).disks, other.view(500).gpus) == ({}, {}), "they are of the first"
    other.gpus.look(None, [7], [GpuSample(500, 3, pids=(7,))])
    assert len(other.view(500).gpus[3]) == 120, "samples are kept once"


def test_the_age_of_a_gap() -> None:
    history = fresh()
    assert history.view(50.0).gap_s == 0.0
    history.gap_at = 40.0
    assert history.view(50.0).gap_s == 10.0
    assert history.view(30.0).gap_s == 0.0  # the clock was set back


# ------------------------------------------------------------------------ over a restart


@given(
    st.lists(
        st.builds(
            Step,
            at=st.floats(0, 2e9),
            number=st.none() | st.integers(0, 10**9).map(float),
            values=st.dictionaries(
                st.sampled_from(["train_loss", "eval_loss", "lr", "损失"]), NUMBERS, max_size=3
            ),
            epoch=st.none() | NUMBERS,
            total=st.none() | NUMBERS,
        ),
        max_size=40,
    )
)
def test_what_is_saved_comes_back(steps: list[Step]) -> None:
    history, again = fresh(), fresh()
    for one in steps:
        history.add(one)
    again.restore(json.loads(jsonlines.dumps(history.save())))
    assert list(again.step_times) == list(history.step_times)
    assert repr((again.latest, again.latest_at)) == repr((history.latest, history.latest_at))
    assert repr((again.total, again.epoch)) == repr((history.total, history.epoch))
    for name, curve in history.curves.items():
        assert repr(again.curves[name].points) == repr(curve.points)
        assert again.curves[name].stride == curve.stride


def test_nothing_saved_is_nothing_restored() -> None:
    history = fresh()
    history.restore({})
    assert not history.step_times
    assert history.view(0.0).last_step is None


# ------------------------------------------------------------------------ the wall clock


@given(st.floats(6.0, 1e7), st.sampled_from([1.0, -1.0]))
def test_ages_stay_what_they_were_when_the_clock_is_set(by: float, sign: float) -> None:
    history = fresh()
    for second in range(20):
        history.keep_time(1e9 + second, second)
        history.add(step(second, 1e9 + second, train_loss=2.0))
        history.add(ProcessesSeen(1e9 + second, ()))
    now = 1e9 + 50 + sign * by
    history.keep_time(now, 50.0)
    view = history.view(now)
    assert view.gap_s == 0.0, "it was there all the time"
    assert now - view.step_times[-1][0] == pytest.approx(31.0, abs=1e-3)
    assert now - view.steps[0].at == pytest.approx(50.0, abs=1e-3)
    assert now - view.process_samples[-1].at == pytest.approx(31.0, abs=1e-3)
    history.keep_time(now + 1, 51.0)
    assert view.step_times[-1] == history.step_times[-1], "moved once"


def test_a_clock_that_is_slewed_moves_nothing() -> None:
    history = fresh()
    for second in range(1000):
        history.keep_time(1e9 + 1.01 * second, second)
        history.add(step(second, 1e9 + 1.01 * second))
    assert history.step_times[-1] == (1e9 + 1.01 * 999, 999)
    assert history.step_times[0] == (1e9 + 1.01 * 488, 488)


def test_a_watch_that_was_stopped_says_so_and_learns_no_pause() -> None:
    history = fresh()
    for second in range(100):
        history.keep_time(1e9 + second, second)
        history.add(step(second, 1e9 + second))
    history.keep_time(1e9 + 1300, 1300.0)
    history.add(step(1300, 1e9 + 1300))
    view = history.view(1e9 + 1310)
    assert view.gap_s == 10.0
    pauses = view.accumulator(Pauses)
    assert pauses is not None
    assert pauses.longest.get("other", 0.0) == 0.0
