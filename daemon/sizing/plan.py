"""What a person means to train, and on what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .model import Model

PRECISIONS = ("bf16", "fp16", "amp", "fp32", "bf16-pure")
SHARDINGS = ("ddp", "zero1", "zero2", "zero3", "fsdp")
"""In this order the later ones never take more than the earlier."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A training on ``gpus`` GPUs that are all alike."""

    model: Model
    optimizer: str = "adamw"
    precision: str = "bf16"
    gpus: int = 1
    sharding: str = "ddp"
    seq: int = 2048
    batch: int = 1
    """Sequences that one GPU works on at once."""
    accumulate: int = 1
    """Batches of one GPU for one step of the optimizer. Their gradients are added up in place, so that
    it takes no more memory."""
    rank: int = 0
    """Of LoRA; 0: all parameters are trained."""
    checkpointing: bool = False
    eager: bool = False
    """Attention that keeps its matrix of seq x seq: no flash kernel."""
    wide_gradients: bool = False
    """Gradients of 32 bits beside weights of 16."""

    @property
    def trained(self) -> int:
        """Parameters that are trained.

        LoRA (Hu et al. 2021) gives a matrix of n x m two of n x r and r x m. With all matrices of the
        block, as QLoRA (Dettmers et al. 2023) has it, these are four of h x h and two of h x 4h:
        r·(4·2h + 2·5h) = 18·r·h for each layer.
        """
        if not self.rank:
            return self.model.params
        return 18 * self.rank * self.model.hidden * self.model.layers

    @property
    def frozen(self) -> int:
        """Parameters that are only there."""
        return self.model.params if self.rank else 0

    @property
    def tokens(self) -> int:
        """Tokens that one GPU works on at once."""
        return self.seq * self.batch

    @property
    def tokens_a_step(self) -> int:
        """Tokens of all GPUs for one step of the optimizer."""
        return self.tokens * self.accumulate * self.gpus

    def shares(self, stage: int) -> int:
        """Into how many parts something is divided that ZeRO shards from ``stage`` on."""
        reached = {"ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}[self.sharding]
        return self.gpus if reached >= stage else 1

    def trained_shapes(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Shapes of the matrices that are trained, and how many there are of each."""
        if not self.rank:
            yield from self.model.shapes()
            return
        h, times = self.model.hidden, self.model.layers
        for rows, columns, of_a_layer in ((h, h, 4), (4 * h, h, 1), (h, 4 * h, 1)):
            yield (self.rank, columns), of_a_layer * times
            yield (rows, self.rank), of_a_layer * times
