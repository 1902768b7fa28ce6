"""Rules that a person wrote."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit import Finding, OpenIncident, RunFacts, Severity, Step, View
from middlewatch.sentinels.kit.own_rules import AWAY_S, PARTS, Held, OwnRule, OwnRules, Past, amount
from middlewatch.sentinels.own_rule import SENTINEL, Limits, recovered

BEGIN = 1_760_000_000.0


class Run:
    """A run with rules, told report by report."""

    def __init__(self, *rules: OwnRule) -> None:
        self.now = BEGIN
        self.number = 0.0
        self.own = OwnRules()
        self.own.follow(rules)

    def report(self, after_s: float = 0.0, *, rank: int | None = None, **values: float) -> Run:
        self.now += after_s
        self.number += 1
        self.own.add(
            Step(self.now, self.number, values, rank=rank, file="a.log", line=int(self.number))
        )
        return self

    def looks(self, seconds: float, state: str = "running") -> Run:
        """One look a second."""
        for _ in range(int(seconds)):
            self.now += 1.0
            self.own.look(self.now, state)
        return self

    @property
    def view(self) -> View:
        facts = RunFacts("run7", BEGIN, BEGIN)
        return View(self.now, facts, accumulators={OwnRules: self.own})

    @property
    def told(self) -> list[Finding]:
        return SENTINEL(self.view)

    def over(self, name: str) -> str:
        return recovered(self.view, Limits(), OpenIncident("own_rule", name, BEGIN, BEGIN))

    def restarted(self, *rules: OwnRule) -> Run:
        """The same run in a new daemon, with these rules."""
        after = Run()
        after.now, after.number = self.now, self.number
        after.own.restore(self.own.save())
        after.own.follow(rules)
        return after


HIGH = OwnRule("loss-high", "loss", above=9.0, for_s=600.0, severity="critical", message="too high")


def test_it_is_told_once_the_condition_has_held_for_its_time() -> None:
    run = Run(HIGH).report(train_loss=3.0)
    for _ in range(9):
        run.report(60, train_loss=9.5)
    assert run.own.quiet
    assert run.told == []
    run.report(60, train_loss=9.25).report(60, train_loss=9.25)
    (told,) = run.told
    assert not run.own.quiet
    assert (told.trouble, told.key, told.severity) == ("own_rule", "loss-high", Severity.CRITICAL)
    assert told.summary == "too high: loss is 9.25, above 9 for 10 min"
    assert (told.file, told.line, told.since) == ("a.log", 2, BEGIN + 60)


def test_one_better_report_begins_the_time_anew() -> None:
    run = Run(HIGH)
    for n in range(40):
        run.report(60, train_loss=3.0 if n % 9 == 8 else 9.5)
    assert run.told == []


def test_it_is_over_when_the_condition_has_not_held_for_as_long() -> None:
    run = Run(HIGH)
    for _ in range(11):
        run.report(60, train_loss=9.5)
    for _ in range(10):
        run.report(60, train_loss=3.0)
        assert len(run.told) == 1
        assert run.over("loss-high") == ""
    run.report(60, train_loss=3.5)
    assert run.told == []
    assert run.over("loss-high") == "loss is 3.5: loss-high has not held for 10 min"


def test_no_number_is_neither_above_nor_below() -> None:
    run = Run(HIGH, OwnRule("low", "loss", below=1.0))
    for _ in range(11):
        run.report(60, train_loss=math.inf)
    run.report(60, train_loss=math.nan)
    assert [one.key for one in run.told] == ["loss-high"]
    for _ in range(20):
        run.report(60, train_loss=math.nan)
    assert [one.key for one in run.told] == ["loss-high"]


def test_the_own_name_of_a_metric_and_other_ranks() -> None:
    run = Run(OwnRule("r", "reward", below=-5.0))
    run.report(1, reward=-4.0).report(1, rank=3, reward=-9.0).report(1, loss=-9.0)
    assert run.told == []
    assert run.report(1, rank=0, reward=-6.0).told[0].summary == "r: reward is -6, below -5"


@pytest.mark.parametrize(("by", "enough"), [(0.5, 2.6), ("20%", 2.45)])
def test_a_rise_over_its_own_past(by: Any, enough: float) -> None:
    rule = OwnRule("worse", "eval_loss", rises_by=by, within_s=3600.0)
    run = Run(rule)
    for _ in range(10):
        run.report(300, eval_loss=2.0)
    assert run.report(300, eval_loss=2.3).told == []
    (told,) = run.report(300, eval_loss=enough).told
    assert told.summary.startswith("worse: eval_loss is 2.")
    assert told.summary.endswith("above its lowest of 60 min (2)")
    for _ in range(13):  # it is usual now
        run.report(300, eval_loss=enough)
    assert run.told == []


def test_a_fall() -> None:
    run = Run(OwnRule("acc", "accuracy", falls_by=0.1, within_s=600.0))
    run.report(60, accuracy=0.8).report(60, accuracy=0.75)
    assert run.told == []
    assert len(run.report(60, accuracy=0.6).told) == 1


def test_no_report_for_a_time() -> None:
    rule = OwnRule("silent", "eval_loss", no_report_for_s=600.0)
    run = Run(rule).looks(1).report(eval_loss=2.0).looks(599)
    assert run.report(train_loss=1.0).told == []
    (told,) = run.looks(5).told
    assert told.summary == "silent: no eval_loss for 10 min"
    assert run.over("silent") == ""
    run.report(eval_loss=1.5)
    assert run.told == []
    assert run.over("silent") == "eval_loss is reported again: 1.5"


def test_a_metric_that_never_came_counts_from_the_start_of_the_watch() -> None:
    run = Run(OwnRule("silent", "eval_loss", no_report_for_s=600.0)).looks(599)
    assert run.told == []
    assert len(run.looks(5).told) == 1


def test_the_state_of_a_run() -> None:
    run = Run(OwnRule("stuck", state="stalled", for_s=60.0)).looks(100)
    run.looks(50, "stalled").looks(5).looks(50, "stalled")
    assert run.told == []
    (told,) = run.looks(15, "stalled").told
    assert told.summary == "stuck: the run is stalled for 60 s"
    assert len(run.looks(59).told) == 1
    assert run.looks(2).told == []
    assert run.over("stuck") == "the run is not stalled any more for 60 s"


def test_a_restart_goes_on_where_it_was() -> None:
    run = Run(HIGH)
    for _ in range(6):
        run.report(60, train_loss=9.5)
    run = run.restarted(HIGH)
    for _ in range(5):
        run.report(60, train_loss=9.5)
    assert len(run.told) == 1
    run = run.restarted(HIGH)
    assert len(run.told) == 1


def test_time_in_which_nobody_watched_proves_nothing() -> None:
    silent = OwnRule("silent", "loss", no_report_for_s=600.0)
    stuck = OwnRule("stuck", state="stalled", for_s=60.0)
    run = Run(silent, stuck).looks(1, "stalled").report(train_loss=1.0).looks(30, "stalled")
    run.now += 10 * AWAY_S
    run = run.restarted(silent, stuck).looks(40, "stalled")
    assert run.told == []
    assert [one.key for one in run.looks(30, "stalled").told] == ["stuck"]


def test_what_is_open_is_not_over_because_of_a_restart() -> None:
    silent = OwnRule("silent", "loss", no_report_for_s=600.0)
    run = Run(silent).looks(700)
    run.now += 10 * AWAY_S
    run = run.restarted(silent).looks(5)
    assert len(run.told) == 1
    assert run.over("silent") == ""


def test_another_condition_under_the_same_name_begins_anew() -> None:
    run = Run(HIGH)
    for _ in range(11):
        run.report(60, train_loss=9.5)
    run = run.restarted(OwnRule("loss-high", "loss", above=20.0, for_s=600.0))
    assert run.told == []
    assert run.report(60, train_loss=9.5).over("loss-high") == ""
    for _ in range(10):
        run.report(60, train_loss=9.5)
    assert "has not held for 10 min" in run.over("loss-high")
    assert (
        run.restarted().over("loss-high")
        == "the rule loss-high is not in the configuration any more"
    )


def test_a_clock_that_was_set_is_no_time_that_passed() -> None:
    run = Run(HIGH).report(train_loss=9.5)
    run.now += 7200
    run.own.mark_gap()
    assert run.report(60, train_loss=9.5).told == []


# ------------------------------------------------------------------------ the logic of durations


def by_definition(seen: Sequence[tuple[float, bool]], for_s: float) -> list[bool]:
    """Whether it is open after each look, by looking back over all of them."""
    found, is_open = [], False
    for place, (at, holds) in enumerate(seen):
        began = place
        while began and seen[began - 1][1] == holds:
            began -= 1
        if at - seen[began][0] >= for_s:
            is_open = holds
        found.append(is_open)
    return found


LOOKS = st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=60)


@given(LOOKS, st.integers(0, 1000))
def test_open_and_over_by_definition(looks: list[tuple[int, bool]], for_s: int) -> None:
    at, seen = BEGIN, []
    for wait, holds in looks:
        at += wait
        seen.append((at, holds))
    held, states = Held(), []
    for when, holds in seen:
        held.see(when, holds=holds, for_s=float(for_s))
        states.append(held.open)
    assert states == by_definition(seen, float(for_s))


@given(LOOKS, st.integers(1, 1000))
def test_two_changes_are_never_closer_than_the_time(
    looks: list[tuple[int, bool]], for_s: int
) -> None:
    at, changes, held, was = BEGIN, list[float](), Held(), False
    for wait, holds in looks:
        at += wait
        held.see(at, holds=holds, for_s=float(for_s))
        if held.open != was:
            was = held.open
            changes.append(at)
    assert all(b - a >= for_s for a, b in pairwise(changes))


@given(st.lists(st.tuples(st.integers(0, 900), st.floats(-1e6, 1e6)), min_size=1, max_size=300))
def test_the_past_is_bounded_and_within_its_time(reports: list[tuple[int, float]]) -> None:
    past, at, known = Past(), BEGIN, list[tuple[float, float]]()
    for wait, value in reports:
        at += wait
        past.add(at, value, 3600.0)
        known.append((at, value))
    assert len(past.parts) <= PARTS + 1
    part = 3600.0 / PARTS
    recent = [value for when, value in known if when >= at - 3600.0 - part]
    assert all(min(recent) - 1e-3 <= mean <= max(recent) + 1e-3 for mean in past.means())


@given(LOOKS, LOOKS, st.integers(0, 1000))
def test_what_is_saved_is_what_goes_on(
    before: list[tuple[int, bool]], after: list[tuple[int, bool]], for_s: int
) -> None:
    rule = OwnRule("r", "loss", above=1.0, for_s=float(for_s))
    straight, broken = Run(rule), Run(rule)
    for wait, holds in before:
        for run in (straight, broken):
            run.report(wait, train_loss=2.0 if holds else 0.0)
    broken = broken.restarted(rule)
    for wait, holds in after:
        for run in (straight, broken):
            run.report(wait, train_loss=2.0 if holds else 0.0)
        assert [f.summary for f in straight.told] == [f.summary for f in broken.told]


@pytest.mark.parametrize("by", ["20", "x%", 0, -1, "0%", "nan%", "inf%", True, None, float("inf")])
def test_a_change_that_is_none(by: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        amount(by, 1.0)
