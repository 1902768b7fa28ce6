from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.launch.planned import expected_steps, kept_saves


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


@pytest.mark.parametrize(
    ("command", "keep"),
    [
        ("python train.py --save_total_limit 3", 3),
        ("python train.py --save-total-limit=2 --save_steps 100", 2),
        ("python train.py --checkpoints_total_limit 5", 5),
        ("torchtitan --checkpoint.keep_latest_k 10", 10),
        ("python x.py trainer.max_ckpt_to_keep=4", 4),
        ("python x.py --max_to_keep 1 --save_total_limit 7", 1),
        ("python x.py --save_num_checkpoints_to_keep 2", 2),
        ("python x.py --save_total_limit 0", None),
        ("python x.py --save_total_limit -1", None),
        ("python x.py --save_total_limit None", None),
        ("python x.py --save_total_limit", None),
        ("python x.py save_total_limit 3", None),
        ("python x.py --save_top_k 3", None),
        ("python x.py --keep_last 3", None),
        ("", None),
    ],
)
def test_how_many_checkpoints_a_command_keeps(command: str, keep: int | None) -> None:
    assert kept_saves(shlex.split(command)) == keep
