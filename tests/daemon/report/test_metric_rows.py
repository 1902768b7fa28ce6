"""The metrics of a run as rows, and all attempts as one history."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.judge.curve import CURVE_POINTS, TIME
from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.daemon.report.metric_rows import (
    MetricRow,
    kept,
    names,
    of_kept,
    of_steps,
    timed,
    within,
)
from middlewatch.daemon.report.run_history import chain_of, history
from middlewatch.sentinels.kit import RunFacts, Step

BEGAN = 1_000_000.0


def a_run(reports: int) -> RunHistory:
    known = RunHistory(RunFacts("gpt", BEGAN, BEGAN), BoxHistory())
    for step in range(1, reports + 1):
        known.add(Step(BEGAN + 2 * step, float(step), {"train_loss": 4 - step / 1e4, "lr": 1e-3}))
    return known


def test_a_long_run_is_kept_thinned_and_the_newest_reports_whole() -> None:
    rows = of_kept(json.loads(json.dumps(kept(a_run(5000)))))
    newest = [row for row in rows if "lr" in row.values]
    assert len(newest) == 512
    assert newest[-1] == MetricRow(5000.0, {"train_loss": 3.5, "lr": 1e-3}, None, BEGAN + 10_000)
    early = rows[: -len(newest)]
    assert CURVE_POINTS / 4 < len(early) <= CURVE_POINTS
    assert all(row.at is None for row in early)
    assert [row.step for row in rows] == sorted(row.step or 0 for row in rows)


def test_the_times_of_thinned_steps_are_those_of_the_pace_between_known_ones() -> None:
    answer = kept(a_run(5000))
    rows = [MetricRow(float(step)) for step in range(1, 5001)]
    timed(rows, [(step, at) for step, at in answer["times"]])
    wrong = [abs((row.at or 0) - BEGAN - 2 * (row.step or 0)) for row in rows if row.at]
    assert len(wrong) > 4900
    assert max(wrong) < 1e-3
    assert {row.about for row in rows} == {True, False}


def test_the_times_outlive_a_restart_and_a_clock_that_is_set() -> None:
    known = a_run(1000)
    again = RunHistory(known.facts, BoxHistory())
    again.restore(json.loads(json.dumps(known.save())))
    assert again.curves[TIME].points == known.curves[TIME].points
    again.keep_time(BEGAN, 0.0)
    again.keep_time(BEGAN + 3601, 1.0)
    assert again.curves[TIME].points[0][1] == known.curves[TIME].points[0][1] + 3600


def test_what_a_restart_made_again_has_no_time() -> None:
    rows = [MetricRow(float(step)) for step in (1, 2, 3, 4, 3, 4, 5)]
    timed(rows, [(float(step), BEGAN + step) for step in range(1, 6)])
    assert [row.at and row.at - BEGAN for row in rows] == [1, 2, None, None, 3, 4, 5]


def test_two_reports_of_one_step_are_one_row_unless_they_contradict() -> None:
    steps = [
        Step(0, 10.0, {"train_loss": 2.0}),
        Step(0, 10.0, {"eval_loss": 2.2}),
        Step(0, 10.0, {"train_loss": 9.0}, rank=1),
        Step(0, 10.0, {"eval_loss": 2.1}),
    ]
    assert [row.values for row in of_steps(steps)] == [
        {"train_loss": 2.0, "eval_loss": 2.2},
        {"eval_loss": 2.1},
    ]


@given(st.lists(st.none() | st.integers(0, 50)), st.none() | st.integers(0, 50))
def test_a_window_has_nothing_from_outside(steps: list[int | None], first: int | None) -> None:
    rows = [MetricRow(None if step is None else float(step), at=step) for step in steps]
    chosen = list(within(rows, None, first, 40))
    low = 0 if first is None else first
    assert [row.step for row in chosen] == [s for s in steps if s is not None and low <= s <= 40]
    assert len(list(within(rows, None, None, None))) == len(rows)
    assert all(row.at is not None and row.at >= 10 for row in within(rows, 10.0, None, None))


def test_the_losses_come_first() -> None:
    rows = [MetricRow(1.0, {"lr": 1.0, "eval_loss": 1.0, "a": 1.0, "train_loss": 1.0})]
    assert names(rows) == ["train_loss", "eval_loss", "a", "lr"]


# ------------------------------------------------------------------------------ all attempts


def attempt(run: str, before: str | None, step: float, **more: Any) -> dict[str, Any]:
    return {
        "run": run,
        "name": "gpt",
        "state": "failed",
        "resumed_from": before,
        "started_at": f"2026-11-27T0{run[-1]}:00:00.000+00:00",
        "ended_at": f"2026-11-27T0{run[-1]}:30:00.000+00:00",
        "exit": {"code": None, "signal": 15},
        "now": {"step": step, "values": {"train_loss": 2.0}},
        "curve": {"points": [[step - 100, 3.0], [step, 2.0]]},
        "cost": {"run_amount": 1.05, "currency": "$"},
    } | more


def incident(trouble: str, what: str, seconds: float, steps: int | None) -> dict[str, Any]:
    return {
        "id": "1",
        "class": trouble,
        "severity": "critical",
        "state": "resolved",
        "opened_at": "2026-11-27T01:30:00.000+00:00",
        "resolved_at": None,
        "summary": "x",
        "lost": {"what": what, "seconds": seconds, "steps": steps},
    }


def test_attempts_are_one_history_with_what_each_cause_lost() -> None:
    runs = [
        attempt("g-3", "g-2", 300),
        attempt("g-1", None, 100),
        attempt("other-1", None, 7),
        attempt("g-2", "g-1", 200),
    ]
    chain = chain_of(runs, "g-2")
    assert [one["run"] for one in chain] == ["g-1", "g-2", "g-3"]
    hang = incident("hang", "standstill", 600.0, None)
    told = history(
        chain,
        {
            "g-1": [incident("preempted", "work", 30.0, 12), incident("process_killed", "work", 30.0, 12)],
            "g-2": [hang, incident("preempted", "work", 60.0, 20)],
            "g-3": [],
        },
    )  # fmt: skip
    # The work since the last save is lost once, though two incidents tell of that end.
    assert told["lost"] == [
        {"class": "hang", "times": 1, "seconds": 600.0, "steps": None},
        {"class": "preempted", "times": 2, "seconds": 90.0, "steps": 32},
    ]
    assert told["cost"] == {"amount": 3.15, "currency": "$"}
    assert [one["ended_by"] for one in told["attempts"]] == ["preempted", "preempted", None]
    assert [(one["first_step"], one["last_step"]) for one in told["attempts"]] == [
        (0, 100),
        (100, 200),
        (200, 300),
    ]


@pytest.mark.parametrize("start", ["a-1", "a-2"])
def test_runs_that_go_on_from_each_other_in_a_ring_end(start: str) -> None:
    runs = [attempt("a-1", "a-2", 1), attempt("a-2", "a-1", 2)]
    assert len(chain_of(runs, start)) == 2
