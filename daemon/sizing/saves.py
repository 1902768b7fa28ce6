"""How large a checkpoint will be."""

from __future__ import annotations

from typing import NamedTuple

from . import optimizers
from .plan import Plan
from .state import widths


class Save(NamedTuple):
    """Bytes of one checkpoint, all its files together. Sharding divides it into more files only."""

    weights: int
    whole: int
    """With what the optimizer needs to go on: its state, and the weights in 32 bits where it has them.
    Gradients are not saved."""


def save_of(plan: Plan) -> Save:
    """The size of a checkpoint of this plan; with LoRA that of the adapters.

    Mixed precision with Adam is 2 + 12 = 14 bytes a parameter: BLOOM (176·10⁹ parameters) wrote
    2.3 TiB, 329 GiB of them weights. Where the weights themselves are in 32 bits it is 4 + 8 = 12.
    """
    width, trained = widths(plan), plan.trained
    weights = trained * width.weights
    each = optimizers.bytes_a_parameter(plan.optimizer, width.state)
    if each is None:
        state = optimizers.bytes_of_all(plan.optimizer, plan.trained_shapes(), width.state)
    else:
        state = round(trained * each)
    return Save(weights, weights + trained * width.master + state)


def disk(size: int, saves: int) -> int:
    """Bytes for ``saves`` checkpoints that are kept, and the one that is written before the oldest
    goes."""
    return size * (saves + 1)
