from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.plan import expected_steps


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        ("python train.py --max_steps 5000", 5000),
        ("python train.py --max-steps=5_000 --save_steps 100", 5000),
        ("python train.py config.py max_iters=600000", 600000),
        ("python -m lit trainer.max_steps=1e4", 10000),
        ("python x.py ++trainer.max_steps=70", 70),
        ("torchrun x.py --train-iters 500 --eval-iters 10 --log-interval 5", 500),
        ("python x.py --num_train_steps 40 --warmup_steps 4", 40),
        ("python x.py --training_steps 9", 9),
        ("python x.py --max_steps -1 --total_steps 80", 80),
        ("python x.py --eval_steps 50 --gradient_accumulation_steps 8", None),
        ("python x.py --max_steps 0", None),
        ("python x.py --max_steps 9e999", None),
        ("python x.py --max_steps many", None),
        ("python x.py --max_steps", None),
        ("python x.py max_steps 70", None),
        ("python x.py --num_inference_steps 50", None),
        ("", None),
    ],
)
def test_what_a_command_plans(command: str, steps: float | None) -> None:
    assert expected_steps(shlex.split(command)) == steps


@given(st.lists(st.text(max_size=20) | st.sampled_from(["--max_steps", "max_iters=", "=", "1e5"])))
def test_any_command_has_a_plan_or_none(command: list[str]) -> None:
    steps = expected_steps(command)
    assert steps is None or 0 < steps < float("inf")
