"""The arithmetic of ``middlewatch size`` beside real tensors of torch, on the CPU.

Weights, gradients and optimizer state are exact to the byte. Activations are the published formula,
with no constant of ours: where it is off, the docs say by how much.
"""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from functools import cache
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
"""How far the formula of the activations may be from what torch keeps for a plain block."""
MEASURED = tuple(name for name in PRECISIONS if name != "fp16")
"""fp16 has the widths of bf16, and is slow on a CPU."""


@cache
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


def plan_of(m: Model, **more: Any) -> Plan:
    count = sum(math.prod(shape) for shape in measured(m)["shapes"])
    sizes = Sizes(count, m.layers, m.hidden, m.heads, m.vocab)
    return Plan(sizes, seq=m.seq, batch=m.batch, eager=not m.fused, **more)


def kept(plan: Plan) -> dict[str, int]:
    return {line.what: line.bytes for line in activations(plan)}


@pytest.mark.parametrize("m", TWELVE, ids=lambda m: m.name)
def test_weights_gradients_and_state_are_exact(m: Model) -> None:
    found = measured(m)
    shapes = found["shapes"]
    assert set(found["steps"]) == set(MEASURED)
    for precision, by_optimizer in found["steps"].items():
        assert len(by_optimizer) >= 6
        for name, real in by_optimizer.items():
            plan = plan_of(m, precision=precision, optimizer=name)
            lines = {line.what: line.bytes for line in states(plan)}
            assert lines["weights"] == real["weights"]
            assert lines["gradients"] == real["gradients"]
            assert lines.get("32-bit master weights", 0) == real["master"]
            width = widths(plan).state
            exact = sum(optimizers.bytes_of(name, shape, width) for shape in shapes)
            exact += len(shapes) * optimizers.STEP_BYTES.get(name, 0)
            maps = 2 * 256 * 4 if name == "adam8bit" else 0  # of all tensors together
            assert exact + maps == real["state"]
            told = lines[f"optimizer state ({name})"]
            if name in ("sgd", "sgd-momentum", "adam", "adamw", "lion"):
                # All that a plan leaves out is the count of steps: there is no plan without it.
                assert told == exact - len(shapes) * optimizers.STEP_BYTES.get(name, 0)
            elif name == "adafactor" and m.plain and not m.tied:
                # The plan knows the matrices: vectors and the second table of words are left out.
                assert told < exact < 4 * told


@pytest.mark.parametrize("m", [m for m in TWELVE if m.plain], ids=lambda m: m.name)
def test_the_matrices_of_a_plain_model_are_known(m: Model) -> None:
    real = [tuple(s) for s in measured(m)["shapes"] if len(s) == 2 and s != [m.seq, m.hidden]]
    told = [shape for shape, times in plan_of(m).model.shapes() for _ in range(times)]
    again = [] if m.tied else [(m.vocab, m.hidden)]
    assert sorted(real) == sorted([*told, *again])


@pytest.mark.parametrize("m", [m for m in TWELVE if m.plain], ids=lambda m: m.name)
@pytest.mark.parametrize("precision", ["fp32", "bf16", "bf16-pure"])
def test_activations_of_a_plain_block(m: Model, precision: str) -> None:
    real = measured(m)["activations"][precision]
    lines = kept(plan_of(m, precision=precision))
    outside = lines.pop("output layer and logits")
    blocks = sum(lines.values())
    assert blocks == pytest.approx(real["blocks"], rel=OFF)
    assert blocks + outside == pytest.approx(real["all"], rel=OFF)


@pytest.mark.parametrize("m", TWELVE, ids=lambda m: m.name)
@pytest.mark.parametrize("precision", ["fp32", "bf16", "bf16-pure"])
def test_checkpointing_keeps_the_inputs(m: Model, precision: str) -> None:
    real = measured(m)["activations"][precision]["checkpointed"]
    each = m.seq * m.batch * m.hidden * value_width(precision)
    assert real == m.layers * each
    lines = kept(plan_of(m, precision=precision, checkpointing=True))
    assert lines["inputs of the other layers"] == real - each
