"""The test that tells a jump of a loss from its noise."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit import codec
from middlewatch.sentinels.kit.loss.slow_rise import SlowRiseDetector
from middlewatch.sentinels.kit.loss.spikes import HOLD, WARM_UP, Alarm, SpikeDetector
from middlewatch.sentinels.kit.loss.trajectory import PLACES, LossTrajectory
from middlewatch.sentinels.kit.loss.window import Window


def curve(count: int, *, seed: int = 1, scale: float = 1.0) -> list[float]:
    """A loss that falls from 10 to about 2, with some noise."""
    dice = random.Random(seed)
    return [scale * (2 + 8 * math.exp(-n / 60) + dice.gauss(0, 0.05)) for n in range(count)]


def feed(guard: SpikeDetector, values: list[float]) -> list[tuple[int, Alarm]]:
    alarms = []
    for at, value in enumerate(values):
        alarm = guard.push(value, float(at))
        if alarm is not None:
            alarms.append((at, alarm))
    return alarms


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_a_healthy_curve_is_quiet(seed: int, scale: float) -> None:
    assert feed(SpikeDetector(), curve(2000, seed=seed, scale=scale)) == []


def test_two_of_three_values_are_an_alarm() -> None:
    values = curve(300)
    values[200:203] = [4.0, 4.0, 2.0]
    (at, alarm), *_ = feed(SpikeDetector(), values)
    assert (at, alarm.kind, alarm.since) == (201, "spike", 1)
    assert alarm.level == pytest.approx(values[199], abs=0.4)


def test_one_value_is_none() -> None:
    values = curve(300)
    values[200] = 4.0
    assert feed(SpikeDetector(), values) == []


def test_what_is_gross_is_told_at_once_and_in_the_warm_up() -> None:
    values = curve(20)
    values[12] = 1e6
    ((at, alarm),) = feed(SpikeDetector(), values)
    assert (at, alarm.kind) == (12, "lone")
    values[13] = 2e6
    assert [alarm.kind for _, alarm in feed(SpikeDetector(), values)][:2] == ["lone", "gross"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_told_at_once(value: float) -> None:
    alarm = SpikeDetector().push(value)
    assert alarm is not None
    assert alarm.kind == "nonfinite"


def test_a_new_level_is_accepted_in_the_end() -> None:
    alarms = feed(SpikeDetector(), curve(300) + [v + 3 for v in curve(600)[300:]])
    alarms = [(at, alarm) for at, alarm in alarms if alarm.kind != "record"]
    assert alarms[0][0] == 301
    assert alarms[-1][0] <= 301 + 2 * HOLD


def test_a_relapse_soon_after_a_steep_descent() -> None:
    """The long window still holds the descent; the newest deviations know better."""
    falling = [10 - 0.15 * n for n in range(48)]
    flat = [2.9 + 0.01 * (n % 3) for n in range(30)]
    alarms = feed(SpikeDetector(), falling + flat + [5.0, 5.1, 5.2])
    assert [at for at, _ in alarms][:1] == [79]


def test_after_a_restart_spikes_wait() -> None:
    guard = SpikeDetector()
    feed(guard, curve(300))
    guard.restart()
    assert feed(guard, [9.0] * (WARM_UP - 2)) == []


def test_a_changed_logging_interval_is_like_a_restart() -> None:
    guard = SpikeDetector()
    for n, value in enumerate(curve(300)):
        guard.push(value, float(n))
    steps = [300.0 + 500 * n for n in range(1, 12)]
    assert [a for s in steps if (a := guard.push(2.9, s))] == []


def test_it_goes_on_where_it_was_saved() -> None:
    values = curve(400)
    values[350:352] = [4.0, 4.0]
    one = SpikeDetector()
    feed(one, values[:340])
    other = codec.load(SpikeDetector, json.loads(json.dumps(codec.dump(one))))
    assert feed(one, values[340:]) == feed(other, values[340:]) != []


@pytest.mark.parametrize(
    "saved", [7, {"level": "x"}, {"level": [math.nan]}, {"numbers": [0, 9, 0, 0, 0]}]
)
def test_what_it_never_saved(saved: object) -> None:
    with pytest.raises(codec.Unfit):
        codec.load(SpikeDetector, saved)


@given(st.lists(st.floats(), max_size=300))
def test_any_values(values: list[float]) -> None:
    guard = SpikeDetector()
    feed(guard, values)
    codec.load(SpikeDetector, json.loads(json.dumps(codec.dump(guard), allow_nan=False)))


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60), st.integers(1, 20))
def test_a_window_knows_its_order(values: list[float], size: int) -> None:
    window = Window(size)
    for value in values:
        window.add(value)
    assert window.ordered == sorted(values[-size:])
    assert list(window.ring) == values[-size:]


def test_a_streak_shows_through_a_wide_spread() -> None:
    values = curve(300)
    for n in range(100, 300, 12):
        values[n] += 1.5
    assert feed(SpikeDetector(), values) == []
    found = feed(SpikeDetector(), [*values, 5.5, 5.3, 5.1, 5.0])
    assert [(at, alarm.kind) for at, alarm in found][:1] == [(302, "spike")] or found[0][0] == 301


def test_a_slow_rise() -> None:
    dice = random.Random(2)
    drift = SlowRiseDetector()
    calm = [drift.push(2 + dice.gauss(0, 0.05)) for _ in range(400)]
    assert not any(calm)
    rises = [drift.push(2 + 0.006 * n + dice.gauss(0, 0.05)) for n in range(80)]
    first = next(n for n, rise in enumerate(rises) if rise)
    assert 5 < first < 40
    rise = rises[first]
    assert rise is not None
    assert rise.base == pytest.approx(2, abs=0.1)
    assert codec.load(SlowRiseDetector, json.loads(json.dumps(codec.dump(drift)))) == drift


@pytest.mark.parametrize("saved", [{}, [1.5], [1, "x"], None])
def test_no_saved_drift(saved: object) -> None:
    with pytest.raises(codec.Unfit):
        codec.load(SlowRiseDetector, saved)


@given(st.lists(st.floats(-1e300, 1e300), max_size=200))
def test_a_drift_of_any_values(values: list[float]) -> None:
    drift = SlowRiseDetector()
    for value in values:
        drift.push(value)


def test_a_path_is_bounded() -> None:
    path = LossTrajectory()
    for n in range(50_000):
        if path.due():
            path.add(float(n), 10 - n / 10_000, 0.1)
    found = path.at(20_000.0)
    assert found is not None
    assert found[0] == pytest.approx(8, abs=0.2)
    assert len(path.places) <= PLACES
    path.back_to(1000.0)
    assert path.at(40_000.0) is None
    assert path.at(-1.0) is None
