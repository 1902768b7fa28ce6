"""All that a GPU has to hold, and what would make a plan fit it."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .activations import activations
from .plan import SHARDINGS, Plan
from .state import Line, buffers, states

KEPT_FREE = 0.10
"""Share of the card that is left for what is not counted: the CUDA context, fragmentation of the
allocator, workspaces of cuBLAS and cuDNN, buffers of NCCL, peaks of the loss and of an evaluation. The
usual advice is to aim at 85 to 90 % of a card."""
_RANK = 16
"""Rank of LoRA in a proposal: peft's examples have 8 to 64."""
_MOST_GPUS = 1024


@dataclass(frozen=True, slots=True)
class Need:
    """What one GPU has to hold."""

    lines: tuple[Line, ...]

    @property
    def counted(self) -> int:
        """Bytes of all lines."""
        return sum(line.bytes for line in self.lines)

    @property
    def card(self) -> int:
        """Bytes of the smallest card that holds it and keeps :data:`KEPT_FREE`."""
        return math.ceil(self.counted / (1 - KEPT_FREE))

    def of(self, group: str) -> int:
        """Bytes of one group."""
        return sum(line.bytes for line in self.lines if line.group == group)


def need(plan: Plan) -> Need:
    """What a GPU of this plan has to hold."""
    return Need((*states(plan), *buffers(plan), *activations(plan)))


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a plan."""

    what: str
    options: str
    plan: Plan
    card: int


def changes(plan: Plan, vram: int) -> list[Change]:
    """Single changes that make a plan need less, the harmless ones first. Of each kind it is the
    smallest one that makes it fit ``vram``, or the largest where none does."""
    now = need(plan).card
    found = []
    for what, options, other in _proposals(plan, vram):
        card = need(other).card
        if card < now:
            found.append(Change(what, options, other, card))
    return found


def together(plan: Plan) -> Change:
    """All changes on the same GPUs at once, with all parameters trained."""
    other = replace(
        plan,
        sharding="fsdp" if plan.gpus > 1 else plan.sharding,
        eager=False,
        checkpointing=True,
        batch=1,
        accumulate=plan.accumulate * plan.batch,
        optimizer="adam8bit" if plan.optimizer in ("adam", "adamw") else plan.optimizer,
    )
    options = (
        "" if other.gpus == 1 else f"--sharding {other.sharding} "
    ) + "--checkpointing --batch 1"
    options += "" if other.accumulate == 1 else f" --accumulate {other.accumulate}"
    options += f" --optimizer {other.optimizer}"
    return Change("several at once", options, other, need(other).card)


def _proposals(plan: Plan, vram: int) -> Iterator[tuple[str, str, Plan]]:
    def fits(other: Plan) -> bool:
        return need(other).card <= vram

    if plan.gpus > 1 and plan.sharding not in ("zero3", "fsdp"):
        later = SHARDINGS[SHARDINGS.index(plan.sharding) + 1 :]
        staged = [replace(plan, sharding=name) for name in later]
        best = next((p for p in staged if fits(p)), staged[-1])
        yield "shard more", f"--sharding {best.sharding}", best
    if plan.eager:
        yield "use fused attention", "(without --eager)", replace(plan, eager=False)
    if not plan.checkpointing:
        yield "checkpoint activations", "--checkpointing", replace(plan, checkpointing=True)
    if plan.batch > 1:
        sizes = range(1, plan.batch)
        index = bisect.bisect_left(sizes, True, key=lambda b: not fits(_smaller(plan, b)))
        best = _smaller(plan, sizes[max(0, index - 1)])
        more = f" --accumulate {best.accumulate}" if best.accumulate > 1 else ""
        yield "make the batch smaller", f"--batch {best.batch}{more}", best
    if plan.optimizer in ("adam", "adamw"):
        yield "use 8-bit Adam", "--optimizer adam8bit", replace(plan, optimizer="adam8bit")
    if not plan.rank and plan.model.hidden >= _RANK:
        yield "train adapters only", f"--lora-rank {_RANK}", replace(plan, rank=_RANK)
    sharding = plan.sharding if plan.sharding != "ddp" else "fsdp"
    gpus = plan.gpus * 2
    while gpus <= _MOST_GPUS and not fits(replace(plan, gpus=gpus, sharding=sharding)):
        gpus *= 2
    if gpus <= _MOST_GPUS:
        yield (
            "shard over more GPUs",
            f"--gpus {gpus} --sharding {sharding}",
            replace(plan, gpus=gpus, sharding=sharding),
        )


def _smaller(plan: Plan, batch: int) -> Plan:
    """The plan with another batch, and about as many tokens in a step."""
    steps = math.ceil(plan.batch * plan.accumulate / batch)
    return replace(plan, batch=batch, accumulate=steps)
