"""The arithmetic of ``middlewatch size`` beside real tensors of torch, on the CPU.

Weights, gradients and optimizer state are exact to the byte. Activations are the published formula,
with no constant of ours: where it is off, docs/sizing.md says by how much.
"""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.sizing import optimizers
from middlewatch.daemon.sizing.activations import activations, value_width
from middlewatch.daemon.sizing.model import Model as Sizes
from middlewatch.daemon.sizing.plan import PRECISIONS, Plan
from middlewatch.daemon.sizing.state import states, widths

from .twelve_models import TWELVE, Model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]
OFF = 0.25
"""How far the formula of the activations may be from what torch keeps for a block."""
MEASURED = {*PRECISIONS} - {"fp16"}
"""fp16 has the widths of bf16, and is slow on a CPU."""
OF_THE_PARAMETERS = ("sgd", "sgd-momentum", "adam", "adamw", "lion")
"""Optimizers whose state has the shapes of the parameters."""


def measured(m: Model) -> dict[str, Any]:
    """What :mod:`.measured` says of a model, in a process of its own."""
    program = Path(__file__).with_name("measured.py")
    done = subprocess.run(
        [sys.executable, str(program), json.dumps(m._asdict())],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def plan_of(m: Model, found: dict[str, Any], precision: str, **more: Any) -> Plan:
    count = sum(math.prod(shape) for shape in found["shapes"])
    sizes = Sizes(count, m.layers, m.hidden, m.heads, m.vocab)
    if not m.plain:
        inner = next(
            shape[1] for shape in found["shapes"] if len(shape) == 2 and shape[1] != m.hidden
        )
        sizes = replace(sizes, block="llama", kv_heads=m.kv_heads, inner=inner)
    return Plan(sizes, precision=precision, seq=m.seq, batch=m.batch, eager=not m.fused, **more)


def kept(plan: Plan) -> tuple[int, int]:
    """Bytes of the layers, and with what is outside."""
    lines = {line.what: line.bytes for line in activations(plan)}
    every = sum(lines.values())
    return every - lines["output layer and logits"], every


@pytest.mark.parametrize(
    "m",
    [
        *TWELVE[::4],
        *(pytest.param(m, marks=pytest.mark.long) for m in TWELVE if m not in TWELVE[::4]),
    ],
    ids=lambda m: m.name,
)
def test_a_model_as_torch_holds_it(m: Model) -> None:
    found = measured(m)
    assert set(found["steps"]) == set(found["activations"]) == MEASURED
    for precision, by_optimizer in found["steps"].items():
        assert len(by_optimizer) >= 6
        for name, real in by_optimizer.items():
            exact_states(m, plan_of(m, found, precision, optimizer=name), found["shapes"], real)
    for precision, real in found["activations"].items():
        plan = plan_of(m, found, precision)
        if precision != "amp":
            exact_checkpointing(plan, real["checkpointed"])
        if precision != "amp":
            blocks, every = kept(plan)
            assert blocks == pytest.approx(real["blocks"], rel=OFF), precision
            assert every == pytest.approx(real["all"], rel=OFF), precision
    if m.plain:
        known_matrices(m, plan_of(m, found, "fp32"), found["shapes"])


def exact_states(m: Model, plan: Plan, shapes: list[list[int]], real: dict[str, int]) -> None:
    lines = {line.what: line.bytes for line in states(plan)}
    assert lines["weights"] == real["weights"]
    assert lines["gradients"] == real["gradients"]
    assert lines.get("32-bit master weights", 0) == real["master"]
    name = plan.optimizer
    exact = sum(optimizers.bytes_of(name, shape, widths(plan).state) for shape in shapes)
    steps = len(shapes) * optimizers.STEP_BYTES.get(name, 0)
    maps = 2 * 256 * 4 if name == "adam8bit" else 0  # of all tensors together
    assert exact + steps + maps == real["state"]
    told = lines[f"optimizer state ({name})"]
    if name in OF_THE_PARAMETERS:
        assert told == exact
    elif name == "adafactor" and m.plain:
        assert told < exact < 4 * told  # a plan knows nothing of biases, norms and positions


def exact_checkpointing(plan: Plan, real: int) -> None:
    each = plan.tokens * plan.model.hidden * value_width(plan.precision)
    assert real == plan.model.layers * each


def known_matrices(m: Model, plan: Plan, shapes: list[list[int]]) -> None:
    told = [shape for shape, times in plan.model.shapes() for _ in range(times)]
    told += [(m.seq, m.hidden)]  # positions
    told += [] if m.tied else [(m.vocab, m.hidden)]
    assert sorted(tuple(s) for s in shapes if len(s) == 2) == sorted(told)
