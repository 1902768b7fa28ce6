"""The long and the short window of a living run."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.sentinels.kit import Phase, ProcessesSeen, Step
from middlewatch.sentinels.kit.pace.windows import Windows

from ..story import sample

FILE = "/data/train.log"


class Run:
    """Reports on a clock of its own."""

    def __init__(self) -> None:
        self.windows = Windows()
        self.now = 1e9
        self.number = 0.0
        self.cpu_s = 0.0

    def train(
        self,
        seconds: float,
        every_s: float = 1.0,
        by: float = 1.0,
        cores: float = 1.0,
        **report: Any,
    ) -> Windows:
        end = self.now + seconds
        while self.now < end:
            self.now += every_s
            self.number += by
            self.cpu_s += cores * every_s
            look = ProcessesSeen(self.now, (sample(cpu_s=self.cpu_s),))
            self.windows.add(look)
            values = {"train_loss": 2.0, **report}
            self.windows.add(Step(self.now, self.number, values, file=FILE, line=int(self.number)))
        return self.windows

    def told_after(self, most_s: float, every_s: float, **report: Any) -> float | None:
        """Seconds of a slower pace until both windows are slow."""
        began = self.now
        while self.now - began < most_s:
            if self.train(every_s, every_s, **report).slow_since is not None:
                return self.now - began
        return None


@pytest.fixture
def run() -> Run:
    return Run()


def test_a_steady_run(run: Run) -> None:
    windows = run.train(7200)
    assert windows.quiet
    assert windows.usual_s == pytest.approx(1.0, rel=0.05)
    assert windows.short_ratio == pytest.approx(1.0, rel=0.05)


def test_a_run_of_an_hour_that_slows_down(run: Run) -> None:
    run.train(3600)
    told = run.told_after(3600, 1.6)
    assert told is not None
    assert 800 < told < 1100, "the long window is half slow after a quarter of an hour"
    assert run.windows.long_ratio == pytest.approx(1 / 1.6, rel=0.05)


@pytest.mark.parametrize("age_s", [120.0, 300.0, 600.0])
def test_a_young_run_is_told_sooner(run: Run, age_s: float) -> None:
    assert run.train(age_s, 0.4).quiet
    told = run.told_after(600, 1.0)
    assert told is not None
    assert told < 360


def test_it_is_over_when_the_short_window_is_fast_again(run: Run) -> None:
    run.train(1800)
    assert run.told_after(1800, 3.0)
    assert run.train(300).quiet


def test_a_fifth_is_the_limit(run: Run) -> None:
    run.train(3600)
    assert run.told_after(3600, 1.2) is None


def test_a_pause_of_minutes(run: Run) -> None:
    for _ in range(6):
        run.train(400)
        run.now += 600  # an evaluation that nobody announced
        assert run.windows.quiet
    run.windows.add(Phase(run.now, "evaluate", "evaluating", FILE))
    run.now += 3000
    assert run.train(400).quiet


def test_another_interval_of_reports(run: Run) -> None:
    run.train(600)
    assert run.train(1800, 50.0, 50.0).quiet
    assert run.train(1800, 5.0, 5.0).quiet


def test_bursts_of_a_buffered_log(run: Run) -> None:
    for _ in range(60):
        run.now += 57
        assert run.train(0.5, 0.01, 1.0).quiet


def test_bigger_steps_at_the_same_rate(run: Run) -> None:
    run.train(1200, 1.0, tokens_per_s=9e4)
    assert run.train(1800, 4.0, tokens_per_s=8.8e4).quiet
    assert run.told_after(3600, 4.0, tokens_per_s=5e4)


def test_reports_between_that_state_no_rate(run: Run) -> None:
    for _ in range(300):
        run.train(3, 1.0, tokens_per_s=9e4)
        run.train(3, 1.0)
    assert run.windows.usual_s == pytest.approx(1 / 9e4)


@pytest.mark.parametrize("name", ["seq_len", "batch_size", "resolution"])
def test_a_report_that_says_that_the_work_is_another(run: Run, name: str) -> None:
    run.train(1200, 1.0, **{name: 512.0})
    assert run.train(1800, 3.0, **{name: 2048.0}).quiet
    assert run.windows.usual_s == pytest.approx(3.0)


def test_a_resumed_run(run: Run) -> None:
    run.train(1200)
    run.windows.add(Phase(run.now, "start", "starting", FILE))
    run.number -= 300
    run.now += 200
    assert run.train(400).quiet
    assert run.windows.usual_s == pytest.approx(1.0, rel=0.05), "its usual speed is known"
    assert run.told_after(900, 3.0)


def test_a_box_that_is_shared(run: Run) -> None:
    """Bad times of several minutes, again and again, are how this run is."""
    for _ in range(12):
        run.train(900)
        run.train(240, 2.0)
    assert run.windows.slow_since is None


def test_other_ranks_and_files_are_not_mixed_in(run: Run) -> None:
    for _ in range(600):
        run.train(1)
        run.windows.add(Step(run.now, run.number * 7, {}, rank=3, file=FILE))
        run.windows.add(Step(run.now, run.number / 3, {}, file="/data/other.log"))
    assert run.windows.quiet
    assert run.windows.usual_s == pytest.approx(1.0, rel=0.05)


def test_the_cpu_time_of_the_processes(run: Run) -> None:
    run.train(1200, cores=8.0)
    assert run.windows.cores_ratio == pytest.approx(1.0, abs=0.02)
    run.train(300, 2.5, cores=3.2)
    assert run.windows.cores_ratio == pytest.approx(0.4, abs=0.02)


def test_it_survives_a_restart_of_the_watch(run: Run) -> None:
    run.train(3600)
    saved = run.windows.save()
    run.windows = Windows()
    run.windows.restore(saved)
    assert run.windows.usual_s == pytest.approx(1.0, rel=0.05)
    told = run.told_after(3600, 2.0)
    assert told is not None


@pytest.mark.parametrize("saved", [{}, {"looks": "x"}, {"looks": [[1]]}, {"context": 3}])
def test_a_state_that_cannot_be_read(saved: dict[str, Any]) -> None:
    windows = Windows()
    windows.restore(saved)
    assert windows.quiet


def test_its_memory_is_bounded(run: Run) -> None:
    run.train(200_000, 10.0, by=10.0)
    assert len(str(run.windows.save())) < 40_000
