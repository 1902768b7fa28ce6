"""Weights, gradients and optimizer state: what lies on each GPU during the whole training.

Mixed precision has 2 bytes of weights, 2 of gradients and, with Adam, 12 that only the optimizer uses
(weights in 32 bits and two moments): 16 bytes a parameter. ZeRO divides by the number of GPUs: stage 1
the 12, stage 2 the gradients too, stage 3 all. Rajbhandari et al. 2020, ZeRO: Memory Optimizations
Toward Training Trillion Parameter Models, section 3.1 and figure 1. FSDP is stage 3 with the weights and gradients that
are sharded in 32 bits and layers gathered in 16 (``MixedPrecision``): 16 bytes as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from . import optimizers
from .plan import Plan


class Line(NamedTuple):
    """A part of the memory and how it was computed."""

    group: str
    """``states``, ``buffers`` or ``activations``."""
    what: str
    arithmetic: str
    bytes: int


class Widths(NamedTuple):
    """Bytes a parameter; of the optimizer, bytes a value."""

    weights: int
    gradients: int
    master: int
    """Weights in 32 bits that only the optimizer uses."""
    state: int
    copies: int
    """Weights in 16 bits that autocast makes in each step and autograd keeps for the way back."""
    computed: int
    """Weights as the layers use them: what stage 3 gathers."""
    frozen: int
    """Weights that LoRA leaves alone."""


def widths(plan: Plan) -> Widths:
    """The widths of a precision.

    ``bf16`` and ``fp16`` are those of the ZeRO paper, with gradients in 32 bits where wanted (Megatron
    and DeepSpeed do so with bf16: 18 bytes). ``amp`` is ``torch.autocast``: everything in 32 bits, and
    copies of the weights in 16 (Hugging Face, Model training anatomy: 6 + 8 + 4 = 18 bytes).
    ``bf16-pure`` is ``model.bfloat16()``, whose state torch makes with the type of the parameter.
    """
    wide = Widths(4, 4, 0, 4, 0, 4, 4)
    if plan.precision == "fp32":
        return wide
    if plan.precision == "amp":
        return wide._replace(copies=2)
    if plan.precision == "bf16-pure":
        return Widths(2, 2, 0, 2, 0, 2, 2)
    if plan.sharding == "fsdp":
        return wide._replace(computed=2, frozen=2)
    return Widths(2, 4 if plan.wide_gradients else 2, 4, 4, 0, 2, 2)


def states(plan: Plan) -> Iterator[Line]:
    """What stays for the whole training."""
    width, trained = widths(plan), plan.trained
    if plan.frozen:
        yield _line("states", "frozen weights", plan.frozen, width.frozen, plan.shares(3))
    name = "weights of the adapters" if plan.frozen else "weights"
    yield _line("states", name, trained, width.weights, plan.shares(3))
    if width.copies:
        count = trained + plan.frozen
        yield _line("states", "16-bit copies by autocast", count, width.copies)
    yield _line("states", "gradients", trained, width.gradients, plan.shares(2))
    if width.master:
        yield _line("states", "32-bit master weights", trained, width.master, plan.shares(1))
    yield _optimizer(plan, width.state)


def _optimizer(plan: Plan, width: int) -> Line:
    each = optimizers.bytes_a_parameter(plan.optimizer, width)
    name, over = f"optimizer state ({plan.optimizer})", plan.shares(1)
    if each is not None:
        return _line("states", name, plan.trained, each, over)
    whole = optimizers.bytes_of_all(plan.optimizer, plan.trained_shapes(), width)
    told = f"rows and columns of all matrices × {width} B{_over(over)}"
    return Line("states", name, told, -(-whole // over))


def buffers(plan: Plan) -> Iterator[Line]:
    """What the GPUs need to speak with each other.

    DDP of torch copies all gradients into buckets unless ``gradient_as_bucket_view=True`` (its
    documentation: saves as much as all gradients). Stage 2 has the gradients of a layer whole before
    they are divided. Stage 3 gathers the weights of the layer at work and, ahead of time, of the next
    one (``backward_prefetch``, ``stage3_prefetch_bucket_size``), and the root unit of FSDP holds the
    embedding. DeepSpeed's own buckets are counted in elements, by default 5·10⁸, and are left out.
    """
    if plan.gpus == 1:
        return
    width, trained = widths(plan), plan.trained
    if plan.sharding in ("ddp", "zero1"):
        yield _line("buffers", "buckets of DDP", trained, width.gradients)
        return
    if plan.shares(3) > 1:
        whole = plan.model.params
        # What is gathered is what other GPUs have: never more than their part of the model.
        most = whole - -(-whole // plan.gpus)
        count = min(2 * plan.model.of_a_layer + plan.model.words, most)
        yield _line("buffers", "gathered weights, 2 layers", count, width.computed)
    of_a_layer = -(-trained // plan.model.layers)
    each = min(width.computed, width.gradients)
    yield _line("buffers", "whole gradients, 1 layer", of_a_layer, each)


def _line(group: str, what: str, count: int, width: float, over: int = 1) -> Line:
    told = f"{count:,} × {width:g} B{_over(over)}"
    return Line(group, what, told, math.ceil(count * width / over))


def _over(over: int) -> str:
    return f" ÷ {over} GPUs" if over > 1 else ""
