"""Whether the next phase of a training may begin: the decision alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.jobs import local, read
from middlewatch.daemon.jobs.artefact import Here
from middlewatch.daemon.resume.phases import (
    LastSave,
    PhaseDone,
    PhaseEnd,
    PhaseMissed,
    PhasePlan,
    PhaseUnclear,
    PlannedPhase,
    judge,
    passes,
)
from middlewatch.sentinels.kit import codec

BROAD = PlannedPhase("broad", ("python", "t.py"), steps=1000, success="eval_loss < 2.9")
WELL = PhaseEnd(
    finished=True,
    step=1000.0,
    every=10.0,
    values={"eval_loss": 2.5},
    save=LastSave("/out/step-1000", "ok"),
)


def test_a_phase_that_did_what_it_was_for_lets_the_next_begin() -> None:
    assert judge(BROAD, WELL) == PhaseDone("step 1000, eval_loss is 2.5, /out/step-1000 is whole")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"finished": False, "why_not": "loss is NaN"}, "did not finish: loss is NaN"),
        ({"step": 400.0}, "ended after 400 of its 1000 steps"),
        ({"step": None}, "was not seen to make a step"),
        ({"began_at_step": 500.0}, "ended after 500 of its 1000 steps"),
        ({"save": None}, "has left no save"),
        ({"save": LastSave("/out/x", "corrupt")}, "is corrupt: /out/x"),
        ({"values": {"eval_loss": 3.1}}, "eval_loss is 3.1 (wanted: eval_loss < 2.9)"),
        ({"values": {"eval_loss": float("nan")}}, "eval_loss is nan (wanted: eval_loss < 2.9)"),
        ({"values": {"train_loss": 1.0}}, "eval_loss was never reported"),
    ],
)
def test_what_keeps_the_next_phase_from_beginning(change: dict[str, Any], words: str) -> None:
    made = judge(BROAD, replace(WELL, **change))
    assert isinstance(made, PhaseMissed)
    assert words in made.why


def test_a_save_that_is_still_checked_is_waited_for() -> None:
    assert judge(BROAD, replace(WELL, save=LastSave("x", "pending"))) == PhaseUnclear()


def test_the_last_steps_need_not_be_reported() -> None:
    assert isinstance(judge(BROAD, replace(WELL, step=995.0)), PhaseDone)
    assert isinstance(judge(BROAD, replace(WELL, step=989.0)), PhaseMissed)
    counted_on = replace(WELL, began_at_step=4000.0, step=5000.0)
    assert isinstance(judge(BROAD, counted_on), PhaseDone)


def test_tokens_count_where_the_trainer_reports_them() -> None:
    phase = PlannedPhase("cool", (), tokens=1e9)
    assert isinstance(judge(phase, replace(WELL, values={"tokens": 2e9})), PhaseDone)
    assert isinstance(judge(phase, replace(WELL, values={"tokens": 2e8})), PhaseMissed)
    assert isinstance(judge(phase, WELL), PhaseDone)


@given(st.floats(-1e6, 1e6), st.sampled_from(["<", "<=", ">", ">="]), st.floats(-1e6, 1e6))
def test_a_test_of_success_is_plain_arithmetic(value: float, sign: str, bound: float) -> None:
    truth = {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}
    assert passes(f"a/b {sign} {bound!r}", {"a/b": value})[0] == truth[sign]


@pytest.mark.parametrize("test", ["eval_loss", "eval_loss < x", "a < b < c"])
def test_a_test_that_cannot_be_read_is_an_error(test: str) -> None:
    with pytest.raises(ValueError, match=r"could not|cannot"):
        passes(test, {})


def test_the_plan_outlives_its_file() -> None:
    plan = PhasePlan((BROAD, PlannedPhase("cool", ("x",), tokens=5e9)))
    assert codec.load(PhasePlan, json.loads(json.dumps(codec.dump(plan)))) == plan
    assert plan.place("cool") == 1
    with pytest.raises(KeyError):
        plan.place("no such phase")


def test_a_job_has_one_command_for_each_phase() -> None:
    job = read.parse(
        '[job]\ncommand = ["python", "t.py"]\nmax_time_s = "1h"\n'
        '[[phase]]\nname = "broad"\nsteps = 10\narguments = ["--lr", "3e-4"]\n'
        '[[phase]]\nname = "cool"\ntokens = 1e9\narguments = ["--lr", "3e-5"]\n',
        "/tmp/job.toml",
    )
    made = local.artefact(job, Here(name="t", environ=frozenset()))
    limit = ("timeout", "--signal=TERM", "--kill-after=90s", "3510s")
    assert made.commands == (
        (*limit, "python", "t.py", "--lr", "3e-4"),
        (*limit, "python", "t.py", "--lr", "3e-5"),
    )
