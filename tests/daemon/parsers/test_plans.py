"""The numbers of known lines: however they are read, they are the same."""

from __future__ import annotations

import random
import re

import pytest

from middlewatch.daemon.parsers.numbers.fields import Values, evaluate
from middlewatch.daemon.parsers.numbers.metrics import examine
from middlewatch.daemon.parsers.numbers.plans import PATTERN_AFTER
from middlewatch.daemon.parsers.shapes import shape_of

LINES = [
    "step:5/6200 train_loss:3.2150 train_time:1043ms step_avg:208.60ms",
    "iter 100: loss 2.1234, time 8.12ms, mfu 31.25%",
    " iteration 10/ 159576 | consumed samples: 800 | elapsed time per iteration (ms): 912.1 | learning rate: 3.000E-04 | lm loss: 6.135E+00 | loss scale: 4096.0 | grad norm: 1.9 |",
    "{'loss': 2.31, 'grad_norm': 0.93, 'learning_rate': 3.2e-05, 'epoch': 0.41}",
    '{"step": 12, "train_loss": 1.875, "tokens_per_second": 15023.5, "accuracy": 0.513}',
    " 42%|####      | 420/1000 [01:10<01:37,  5.95it/s, loss=1.2]",
    "[rank3]: step 17 loss 2.25 lr -1e-4",
    "step 17 loss nan lr 1e-4",
    "Epoch 3/20 step 1,250 loss 2.25 samples/s 1,250.5",
    "step:50 - train/loss:7.9845 - train/lr(5e-4):0.000774",
    "loss_0: 1.25 loss_1: 2.5 step: 3",
    "第12步 损失: 2.125 学习率: 0.0003",
    "epoch 2 | it/s 3.5 | loss 0.5 | acc 87.5%",
]


def others(line: str, count: int) -> list[str]:
    """Lines of the same shape with other numbers; digits that are part of a name stay."""
    chance = random.Random(line)
    number = re.compile(r"(?<![\w(])\d+(?:\.\d+)?(?![\w%]*\()")
    made = []
    for _ in range(count):
        other = number.sub(
            lambda m: "".join(c if c == "." else str(chance.randrange(1, 10)) for c in m.group()),
            line,
        )
        if shape_of(other.encode()) == shape_of(line.encode()):
            made.append(other)
    return made


def shown(values: Values | None) -> str:
    """Equal texts for equal values, with nan equal to nan and without the last digit."""
    if values is None:
        return "nothing"
    named = {name: f"{value:.12g}" for name, value in sorted(values.named.items())}
    return f"{values[:5]} {named}"


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read_the_same_at_once_and_by_the_grammar(line: str) -> None:
    report = examine(line)
    assert report is not None
    assert report.plan is not None
    read_at_once = 0
    for other in [line] * (PATTERN_AFTER + 1) + others(line, 200):
        fresh = examine(other)
        assert fresh is not None
        read = report.read(other.encode())
        if read is not None:
            read_at_once += 1
            assert shown(read) == shown(evaluate(other, fresh.fields)), other
    assert read_at_once > PATTERN_AFTER


def test_a_number_in_a_name_is_no_other_name() -> None:
    report = examine("loss_0: 1.25 loss_1: 2.5 step: 3")
    assert report is not None
    for _ in range(PATTERN_AFTER + 2):
        assert report.read(b"loss_0: 1.25 loss_1: 2.5 step: 3") is not None
    assert report.read(b"loss_7: 1.25 loss_1: 2.5 step: 3") is None


def test_what_a_log_calls_things_never_becomes_program() -> None:
    evil = "x'];import os;os.abort()#: 1.5 step: 3 loss: 2.5"
    report = examine(evil)
    assert report is not None
    for _ in range(PATTERN_AFTER + 2):
        values = report.read(evil.encode())
    assert values is None or values.named["train_loss"] == 2.5
