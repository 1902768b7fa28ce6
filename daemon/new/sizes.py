"""How large the model of a new project is, and how it is trained: three recipes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """A model of the shape of GPT-2 and its training.

    ``context``: symbols of a window. ``batch``: windows of one step of the optimizer, of all GPUs
    together; ``at_once``: how many of them one GPU computes at the same time. ``warmup``, ``steps``,
    ``save_every``, ``log_every``: steps of the optimizer.
    """

    layers: int
    heads: int
    width: int
    context: int
    batch: int
    at_once: int
    lr: float
    warmup: int
    steps: int
    save_every: int
    log_every: int
    beta2: float
    eval_batches: int

    @property
    def min_lr(self) -> float:
        """A tenth of the highest: Hoffmann et al. 2022 (Chinchilla), https://arxiv.org/abs/2203.15556."""
        return float(f"{self.lr / 10:.3g}")

    def params(self, symbols: int) -> int:
        """Parameters with a vocabulary of ``symbols``: 12·L·h² of the layers, and both embeddings."""
        blocks = 12 * self.layers * self.width**2
        return blocks + (symbols + self.context) * self.width

    def of_steps(self, steps: int) -> Size:
        """The same for another number of steps: a short training warms up and saves within it."""
        if steps >= self.steps:
            return dataclasses.replace(self, steps=steps)
        return dataclasses.replace(
            self,
            steps=steps,
            warmup=min(self.warmup, max(1, steps // 10)),
            save_every=min(self.save_every, max(1, steps // 4)),
            log_every=1 if steps <= 200 else self.log_every,
        )


SIZES: Mapping[str, Size] = {
    # Our choice: two minutes on two cores, and its loss falls visibly.
    "tiny": Size(2, 2, 64, 64, 16, 16, 3e-3, 20, 200, 50, 1, 0.99, 10),
    # nanoGPT, config/train_shakespeare_char.py.
    "small": Size(6, 6, 384, 256, 64, 64, 1e-3, 100, 5000, 250, 10, 0.99, 50),
    # GPT-2 of 124M parameters: nanoGPT, config/train_gpt2.py.
    "base": Size(12, 12, 768, 1024, 480, 12, 6e-4, 2000, 600_000, 1000, 10, 0.95, 50),
}
"""Name on the command line -> what is trained."""
