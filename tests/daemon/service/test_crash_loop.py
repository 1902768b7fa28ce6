"""What the attempts of a crash loop die of is told a few times, as of one run; progress is never held back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Change
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.sentinels.kit import Finding, Severity, Step

from .test_alerting import URL, Desk

ATTEMPTS = 12


class Loop(Desk):
    """A desk with attempts that go on from one another."""

    def attempt(self, number: int, *reached: float, trouble: str = "python_exception") -> None:
        """One more attempt, which reports these steps and dies."""
        run = f"gpt-{number}"
        before = f"gpt-{number - 1}" if number > 1 else None
        spec = RunSpec(name="gpt", id=run, resumed_from=before)
        self.watched = self.context.runs[run] = WatchedRun(spec, self.context.box, self.clock)
        for step in reached:
            self.watched.history.add(Step(self.clock.now(), step, {"train_loss": 2.0}))
        self.watched.ended_at = self.clock.now()
        dies = Finding(trouble, Severity.CRITICAL, "it died", key="end", fatal=True)
        self._tell(run, dies)
        self.clock.jump(12)

    def corrupt(self, number: int) -> None:
        """The newest checkpoint cannot be read, says the attempt."""
        self._tell(
            f"gpt-{number}", Finding("ckpt_corrupt", Severity.CRITICAL, "cut off", key="last.pt")
        )

    def _tell(self, run: str, finding: Finding) -> None:
        for change in self.context.incidents.update(
            run, [("crash", finding)], {}, self.clock.now()
        ):
            self.alerter.alert(self.watched, Change(change.kind, change.incident))

    @property
    def bodies(self) -> list[str]:
        """What was pushed, oldest first."""
        docs = sorted(
            (d for _, d in self.context.store.all("message")), key=lambda d: d["created_at"]
        )
        return [doc["body"] for doc in docs]


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Callable[[], Loop]]:
    made: list[Loop] = []

    def make() -> Loop:
        made.append(Loop(tmp_path, URL.replace("critical", "warning")))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_attempts_that_gain_nothing_are_told_twice_after_the_first(
    loop: Callable[[], Loop],
) -> None:
    d = loop()
    d.attempt(1, 10, 20)
    for number in range(2, ATTEMPTS):
        d.attempt(number)
    assert len(d.pushed) == 1 + 2
    assert "It is started again and again, and gains nothing." in d.bodies[-1]
    assert sum("again and again" in body for body in d.bodies) == 1
    assert "comes and goes" in d.context.kept_back()
    d.clock.jump(7200)
    d.alerter.remind()  # nothing of what was held back is told later as well
    assert len(d.pushed) == 1 + 2


def test_an_attempt_that_came_further_is_told(loop: Callable[[], Loop]) -> None:
    d = loop()
    for number in range(1, ATTEMPTS):
        d.attempt(number, 100 * number)
    assert len(d.pushed) == ATTEMPTS - 1


def test_after_a_loop_the_end_of_one_that_trained_is_told(loop: Callable[[], Loop]) -> None:
    d = loop()
    d.attempt(1, 10, 20)
    for number in range(2, ATTEMPTS):
        d.attempt(number, 20)  # dies at the same step each time
    before = len(d.pushed)
    d.attempt(ATTEMPTS, 30)
    assert len(d.pushed) == before + 1


def test_what_each_attempt_finds_again_is_one_trouble(loop: Callable[[], Loop]) -> None:
    d = loop()
    d.attempt(1, 10)
    d.corrupt(1)
    for number in range(2, ATTEMPTS):
        d.attempt(number)
        d.corrupt(number)
    told = [body for body in d.bodies if "cut off" in body]
    assert len(told) <= 3


def test_warnings_of_a_loop_hold_back_no_death(loop: Callable[[], Loop]) -> None:
    d = loop()
    d.attempt(1, 10)
    for number in range(2, ATTEMPTS):
        run = f"gpt-{number}"
        spec = RunSpec(name="gpt", id=run, resumed_from=f"gpt-{number - 1}")
        d.watched = d.context.runs[run] = WatchedRun(spec, d.context.box, d.clock)
        d._tell(run, Finding("gpu_slow", Severity.WARNING, "slow", key="0"))
    before = len(d.pushed)
    d.attempt(ATTEMPTS)
    assert len(d.pushed) == before + 1


def test_runs_beside_one_another_are_no_loop(loop: Callable[[], Loop]) -> None:
    d = loop()
    d.attempt(1, 10)
    for number in (3, 5, 7, 9):
        d.attempt(number)  # each goes on from a run that is not known
    assert len(d.pushed) == 5
    assert not any(d.context.loops.barren(f"gpt-{n}") for n in (1, 3, 5))


def test_a_ring_of_attempts_ends_the_search(loop: Callable[[], Loop]) -> None:
    d = loop()
    for run, before in (("a", "b"), ("b", "c"), ("c", "b")):
        spec = RunSpec(name=run, id=run, resumed_from=before)
        d.context.runs[run] = WatchedRun(spec, d.context.box, d.clock)
    assert d.context.loops.barren("a") in ("b", "c")


def test_a_night_of_attempts_is_looked_through_once(loop: Callable[[], Loop]) -> None:
    """Also by a daemon that was started after all of them."""
    d = loop()
    for number in range(1, 3000):
        before = f"r{number - 1}" if number > 1 else None
        spec = RunSpec(name="gpt", id=f"r{number}", resumed_from=before)
        d.context.runs[spec.id] = WatchedRun(spec, d.context.box, d.clock)
    assert d.context.loops.barren("r2999") == "r1"
