"""The model: how many parameters, in how many layers of which width."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

ASPECT = 128
"""Width for each layer, where neither is known: GPT-3 (96 x 12288), Llama 7B (32 x 4096) and 13B
(40 x 5120) have 128, Llama 70B 102. Kaplan et al. 2020, Scaling Laws for Neural Language Models, find
that it matters little between 50 and 150."""
HEAD = 128
"""Width of a head, where their number is not known: that of these models."""
BLOCKS = ("gpt", "llama")
"""Of GPT-3: LayerNorm, GELU, dropout. Of Llama: RMSNorm, SwiGLU, rotary positions, no dropout."""
VOCAB = 50_257
"""Words, where they are not known: those of GPT-2. Newer models have 32,000 to 256,000."""


@dataclass(frozen=True, slots=True)
class Model:
    """A transformer."""

    params: int
    layers: int
    hidden: int
    heads: int
    vocab: int
    assumed: tuple[str, ...] = ()
    """Which of these nobody has given."""
    block: str = "gpt"
    """One of :data:`BLOCKS`."""
    kv_heads: int = 0
    """Heads of keys and values, where several heads of queries share one; 0: as many as heads."""
    inner: int = 0
    """Width inside SwiGLU; 0: 8/3 of the width, which makes its three matrices as large as the two of GPT."""

    @property
    def words(self) -> int:
        """Parameters of the embedding; 0 where the vocabulary is a guess."""
        return 0 if "vocab" in self.assumed else min(self.params, self.vocab * self.hidden)

    @property
    def shared(self) -> float:
        """Width of the keys, as a part of the width: 1 without heads that are shared."""
        return (self.kv_heads or self.heads) / self.heads

    @property
    def wide(self) -> int:
        """Width inside the perceptron."""
        if self.block == "llama":
            return self.inner or -(-8 * self.hidden // 3)
        return 4 * self.hidden

    @property
    def of_a_layer(self) -> int:
        """Parameters of one layer."""
        return -(-(self.params - self.words) // self.layers)

    @property
    def by_rule(self) -> int:
        """Parameters by the rule 12·L·h², and of the embedding: 4·h² of attention and 8·h² of the
        two matrices behind it (Kaplan et al. 2020, table 1)."""
        return 12 * self.layers * self.hidden**2 + self.words

    def shapes(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """The matrices of a plain transformer of these sizes, and how many of each it has."""
        h, wide = self.hidden, self.wide
        first = (h + 2 * round(h * self.shared), h)
        gate = ((wide, h),) if self.block == "llama" else ()
        for shape in (first, (h, h), *gate, (wide, h), (h, wide)):
            yield shape, self.layers
        yield (self.vocab, h), 1


def shaped(
    params: int,
    *,
    layers: int = 0,
    hidden: int = 0,
    heads: int = 0,
    vocab: int = 0,
    block: str = "gpt",
    kv_heads: int = 0,
    inner: int = 0,
) -> Model:
    """The model with what was not given (0) derived from its parameters by the rule 12·L·h²."""
    given = {"layers": layers, "hidden": hidden, "heads": heads, "vocab": vocab}
    if not layers and not hidden:
        # The width is not made to fit the whole number of layers: so both only grow with the parameters.
        depth = _depth(params, vocab)
        layers, hidden = max(1, round(depth)), max(1, int(ASPECT * depth))
    elif not layers:
        layers = max(1, round((params - vocab * hidden) / (12 * hidden**2)))
    elif not hidden:
        # 12·L·h² + v·h = params, solved for h.
        root = math.sqrt(vocab**2 + 48 * layers * params)
        hidden = max(1, int((root - vocab) / (24 * layers)))
    return Model(
        params,
        layers,
        hidden,
        heads or max(1, round(hidden / HEAD)),
        vocab or VOCAB,
        tuple(name for name, value in given.items() if not value),
        block,
        kv_heads,
        inner,
    )


def _depth(params: int, vocab: int) -> float:
    """Layers, not rounded, of a model that is :data:`ASPECT` times as wide as deep."""
    low, high = 0.0, math.pow(params / (12 * ASPECT**2), 1 / 3)
    for _ in range(60):
        middle = (low + high) / 2
        wide = ASPECT * middle
        if 12 * middle * wide**2 + vocab * wide < params:
            low = middle
        else:
            high = middle
    return high
