"""Each statistic learns how high it comes in a run that is well."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit import codec
from middlewatch.sentinels.kit.loss.extremes import Extremes
from middlewatch.sentinels.kit.loss.slow_rise import SlowRiseDetector
from middlewatch.sentinels.kit.loss.spikes import SpikeDetector


def test_two_excursions_are_no_habit() -> None:
    usual = Extremes(2.0, 0.35)
    for excursions in range(1, 4):
        for value in (1.0,) * 100 + (9.0,) + (1.0,) * 4:
            usual.see(value, 4)
        assert (usual.level > 0.0) is (excursions == 3)


def test_an_excursion_counts_once_with_its_peak() -> None:
    one, other = Extremes(2.0, 0.35), Extremes(2.0, 0.35)
    for value in (3.0, 5.0, 4.0, 5.0, 0.0, 0.0):
        one.see(value, 2)
    for value in (0.0, 5.0, 0.0, 0.0, 0.0, 0.0):
        other.see(value, 2)
    assert (one.peaks, one.level) == (other.peaks, other.level)


@given(st.lists(st.floats(0.0, 1e6), max_size=300))
def test_it_is_kept_over_a_restart(values: list[float]) -> None:
    usual = Extremes(2.0, 0.35)
    for value in values:
        usual.see(value, 3)
    again = Extremes(2.0, 0.35)
    codec.fill(again, codec.dump(usual))
    assert again.level == usual.level
    assert math.isfinite(again.level)


def smoothed(count: int, seed: int) -> Iterator[float]:
    """The loss of a logger that reports a running mean: each value depends on those before."""
    dice, noise = random.Random(seed), 0.0
    for n in range(count):
        noise = 0.97 * noise + dice.gauss(0, 0.02)
        yield 1.0 + 2.0 * math.exp(-n / 300) + noise


def rises(slow: SlowRiseDetector, seed: int) -> int:
    told = 0
    for value in smoothed(8000, seed):
        if slow.push(value) is not None:
            told += 1
            slow.settle()
    return told


def test_noise_that_depends_on_its_past_is_learnt() -> None:
    """Without that, a rise is told forty times in 8,000 reports of such a run."""
    blind = [SlowRiseDetector() for _ in range(5)]
    for slow in blind:
        slow._usual = Extremes(math.inf, 0.5)
    without = sum(rises(slow, seed) for seed, slow in enumerate(blind))
    learnt = sum(rises(SlowRiseDetector(), seed) for seed in range(5))
    assert 10 * learnt <= without


def test_a_jump_after_usual_ones_is_still_told() -> None:
    dice, guard = random.Random(1), SpikeDetector()
    alarms = []
    for n in range(3000):
        pair = 0.3 if n % 200 in (0, 1) and n else 0.0  # hard batches come in pairs
        loss = 1.0 + pair + dice.gauss(0, 0.01) + (2.0 if n >= 2900 else 0.0)
        if guard.push(loss) is not None:
            alarms.append(n)
    assert any(2900 <= n <= 2903 for n in alarms)
    assert len([n for n in alarms if n < 2900]) <= 12
