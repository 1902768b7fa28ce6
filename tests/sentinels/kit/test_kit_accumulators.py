"""What holds for every accumulator, also for those that are not written yet."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.sentinels.kit import Accumulator, RunFacts, Step, accumulators, discover
from middlewatch.sentinels.kit.loss.finite import Finiteness
from middlewatch.sentinels.kit.loss.losses import Losses
from middlewatch.sentinels.kit.troubles import Troubles

from ..story import Story
from ..views import events, steps

SENTINELS = discover()
seen = st.lists(st.one_of(steps, events), max_size=60)


def report(number: float, **values: float) -> Step:
    return Step(number, number, values, file="a.log", line=int(number))


@given(seen=seen, live=st.booleans())
def test_a_rule_whose_ledgers_are_quiet_has_nothing_to_say(seen: list[Any], live: bool) -> None:
    history = RunHistory(RunFacts("run", 0.0, 0.0), BoxHistory(), live=live)
    for one in seen:
        history.add(one)
    view = history.view(1e9)
    for name, sentinel in SENTINELS.items():
        if sentinel.accumulators and view.all_quiet(sentinel.accumulators):
            assert sentinel(view) == [], name


@given(seen=seen)
def test_it_can_be_saved_at_any_time(seen: list[Any]) -> None:
    for kind in accumulators():
        accumulator = kind()
        for one in seen:
            if type(one) in kind.takes:
                accumulator.add(one)
        kind().restore(json.loads(json.dumps(accumulator.save(), allow_nan=False)))


@pytest.mark.parametrize("kind", accumulators())
@pytest.mark.parametrize(
    "saved",
    [{}, {"open": 1, "series": 2}, {"open": [[1]], "series": [["a", "b"]]}, {"series": [[0] * 6]}],
)
def test_it_takes_back_nothing_strange(kind: type[Accumulator], saved: dict[str, Any]) -> None:
    accumulator = kind()
    accumulator.restore(saved)
    assert accumulator.quiet


@pytest.mark.parametrize("kind", accumulators())
def test_a_healthy_run_is_quiet(kind: type[Accumulator]) -> None:
    accumulator = kind()
    for n in range(400):
        accumulator.add(report(n, train_loss=3 - n / 900, lr=3e-4, grad_norm=0.7, step_time_s=0.3))
    assert accumulator.quiet


def test_a_streak_is_remembered_over_a_restart_of_the_daemon(story: Story) -> None:
    before = Finiteness()
    for n in range(3):
        before.add(report(n, train_loss=float("nan")))
    after = Finiteness()
    after.restore(json.loads(json.dumps(before.save())))
    (streak,) = after.lasting("train_loss")
    assert (streak.count, streak.first.step) == (3, 0)


def test_a_noise_level_is_remembered_over_a_restart_of_the_daemon() -> None:
    before = Losses()
    for n in range(200):
        before.add(report(n, train_loss=2.0 + 0.01 * (n % 5)))
    after = Losses()
    after.restore(json.loads(json.dumps(before.save())))
    for n in range(200, 203):
        after.add(report(n, train_loss=6.0))
    assert len(after.jumps) == 1


def test_an_open_jump_is_remembered_over_a_restart_of_the_daemon() -> None:
    before = Losses()
    for n in range(200):
        before.add(report(n, train_loss=2.0 + 0.01 * (n % 5)))
    for n in range(200, 212):
        before.add(report(n, train_loss=6.0))
    after = Losses()
    after.restore(json.loads(json.dumps(before.save(), allow_nan=False)))
    (jump,) = after.jumps
    assert (jump.state, jump.reports, jump.onset.step) == ("open", 10, 200)
    for n in range(212, 233):
        after.add(report(n, train_loss=6.0))
    assert [j.state for j in after.jumps] == ["lasting"]


def test_failures_that_were_overcome_are_kept_apart(story: Story) -> None:
    for _ in range(9):
        story.says("cuda_oom").train(3)
    troubles = story.accumulators[Troubles]
    assert isinstance(troubles, Troubles)
    assert [t.went_on for t in troubles.known["cuda_oom"]] == [True] * 4


def test_lines_that_end_no_run_are_apart_from_those_that_do(story: Story) -> None:
    story.replayed().says("mce", severity="warning", fatal=False).says("mce").says("mce")
    found = [(f.line, f.fatal, f.details["count"]) for f in story.asks("crash")]
    assert found == [(1, False, 1), (2, True, 2)]
