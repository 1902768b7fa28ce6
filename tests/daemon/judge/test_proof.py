"""What shows that a program trains, whatever its metrics are called."""

from __future__ import annotations

import math

import pytest

from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.daemon.judge.proof import by_history, by_words
from middlewatch.sentinels.kit import RunFacts, Step


def told(
    name: str, values: list[float], *, grows: bool = True, other: bool = False, epochs: bool = False
) -> str:
    history = RunHistory(RunFacts("r", 0.0, 0.0), BoxHistory(), live=True)
    for n, value in enumerate(values, 1):
        number = float(n if grows else 1)
        place = (None, number) if epochs else (number, None)
        history.add(Step(float(n), place[0], {name: value}, place[1], line=n))
    return by_history(history, 0.0, called_other=other)


FALLING = [1.0 / n for n in range(1, 31)]


def test_a_measure_of_any_name_that_falls_is_learnt() -> None:
    assert told("si_l1", FALLING) == "si_l1 falls over its numbered steps"
    assert told("eval_loss", FALLING, epochs=True) == "eval_loss falls over its numbered steps"


@pytest.mark.parametrize(
    ("name", "values", "grows"),
    [
        ("si_l1", [1.0] * 30, True),
        ("si_l1", FALLING[:15], True),
        ("si_l1", FALLING, False),
        ("step_time_s", FALLING, True),
        ("requests_per_s", FALLING, True),
    ],
    ids=["flat", "few", "no steps", "a time", "a rate"],
)
def test_what_is_no_proof(name: str, values: list[float], *, grows: bool) -> None:
    assert told(name, values, grows=grows) == ""


def test_one_that_is_called_an_inference_trains_if_its_loss_falls() -> None:
    assert told("train_loss", FALLING, other=True) == "train_loss falls over its numbered steps"
    batches = [2.0 + 0.9 * math.sin(7 * n) for n in range(60)]
    assert told("train_loss", batches, other=True) == "", "the batches of a test"
    assert told("train_loss", [3.0] * 10 + [1.0] * 10 + [2.0] * 10, other=True) == ""


def test_who_goes_on_from_a_checkpoint_trains() -> None:
    line = "11-26 02:59:35 | I | resumed from codec.last.pt at step 100"
    assert by_words(["serving", line]) == line
    assert by_words(["resumed from standby", "resuming the download from byte 100"]) == ""
