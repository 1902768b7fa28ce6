"""Five classes of model size: the usual boxes for them, and the plain arithmetic of their states.

The arithmetic is the cautious one: 18 bytes a parameter (AdamW in mixed precision with gradients in 32
bits), divided over cards that keep a tenth free, without activations. LoRA takes far less.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .need import KEPT_FREE

STATE_BYTES = 18


class SizeClass(NamedTuple):
    """A class of models, and which box is usual for training all their parameters."""

    name: str
    least: float
    most: float
    gpus: str
    card: str
    card_gb: int

    @property
    def state_gb(self) -> tuple[float, float]:
        """GB of states of its smallest and its largest model."""
        return self.least * STATE_BYTES / 1e9, self.most * STATE_BYTES / 1e9

    @property
    def least_gpus(self) -> tuple[int, int]:
        """Cards that hold these states, sharded."""
        low, high = (math.ceil(gb / (self.card_gb * (1 - KEPT_FREE))) for gb in self.state_gb)
        return low, high


CLASSES = (
    SizeClass("< 1B", 0.1e9, 1e9, "1", "A100 40 GB", 40),
    SizeClass("1-7B", 1e9, 7e9, "1-4", "A100 80 GB", 80),
    SizeClass("7-13B", 7e9, 13e9, "4-8", "A100 80 GB", 80),
    SizeClass("13-70B", 13e9, 70e9, "8 or more", "H100 80 GB", 80),
    SizeClass("> 70B", 70e9, 180e9, "16 or more", "H100 80 GB", 80),
)


def class_of(params: int) -> SizeClass:
    """The class of a model: a size on a border belongs to the smaller class, but 1B to the larger."""
    if params < CLASSES[0].most:
        return CLASSES[0]
    return next((one for one in CLASSES[1:] if params <= one.most), CLASSES[-1])
