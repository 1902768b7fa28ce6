"""Twelve small models, on which the arithmetic of ``middlewatch size`` is compared with real tensors.

They were written down before the formulas were, and no constant is fitted to them.
"""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """A decoder that predicts the next of ``vocab`` tokens."""

    name: str
    layers: int
    hidden: int
    heads: int
    vocab: int
    seq: int
    batch: int
    plain: bool = True
    """The block of GPT-2: LayerNorm, GELU, dropout, biases, as many keys as heads. Else that of Llama:
    RMSNorm, SwiGLU, no dropout, no biases."""
    fused: bool = False
    """Attention by ``scaled_dot_product_attention``, which keeps no matrix of seq x seq."""
    kv_heads: int = 0
    """Heads of keys and values, where they are fewer."""
    tied: bool = False
    """The output layer is the embedding."""


TWELVE = (
    Model("one-layer", 1, 64, 2, 256, 64, 2),
    Model("small", 2, 128, 4, 512, 64, 2),
    Model("deep", 8, 64, 4, 256, 32, 4),
    Model("wide", 2, 512, 8, 512, 64, 1),
    Model("long", 2, 64, 4, 256, 256, 1),
    Model("many-heads", 3, 128, 16, 300, 128, 2),
    Model("many-words", 2, 128, 2, 5000, 64, 2),
    Model("tied", 4, 192, 6, 1000, 96, 2, tied=True),
    Model("fused", 4, 128, 4, 512, 128, 2, fused=True),
    Model("fused-long", 2, 96, 3, 256, 256, 2, fused=True),
    Model("llama", 3, 192, 6, 640, 96, 2, plain=False, fused=True),
    Model("llama-grouped", 4, 128, 8, 640, 64, 3, plain=False, fused=True, kv_heads=2),
)
