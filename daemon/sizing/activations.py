"""Activations: what the forward pass keeps for the backward pass.

Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models, equation 1: a
layer keeps ``s·b·h·(34 + 5·a·s/h)`` bytes, for sequences of s tokens, b of them, a width of h
and a heads. These are values of 16 bits and masks of dropout of one byte:

| of | values | masks |
| --- | --- | --- |
| attention: its input, Q, K, V, the input of its projection | 5·sbh | 1·sbh |
| the two matrices: input, input and output of GELU | 9·sbh | 1·sbh |
| two LayerNorms: input | 2·sbh | |
| attention scores: softmax and its dropout | 2·as²b | 1·as²b |

So a layer keeps ``s·b·h·(16·w + 2) + a·s²·b·(2·w + 1)`` bytes, and with w = 2 that is the published
formula. A fused kernel (flash attention) computes the scores again: their term goes, which is what the
paper calls selective recomputation. Checkpointing each layer leaves its input, ``w·s·b·h``, and the
layer that is just being computed again (their table 2 has the inputs only).

A block of Llama, by count over the same kind of list, with g keys for each query and a width of f inside
SwiGLU: ``s·b·(h·(8 + w·(6 + 2·g)) + 4·w·f)`` bytes.

| of | bytes |
| --- | --- |
| two RMSNorms: input in 32 bits, and the result before its weight | 2·(4 + w)·sbh |
| inputs of the first matrices of attention and of SwiGLU | 2·w·sbh |
| Q, K and V after the rotation, the input of the projection | w·(2 + 2·g)·sbh |
| SwiGLU: gate, its SiLU, the other half, their product | 4·w·sbf |
| attention scores, if they are kept: softmax in 32 bits and as it is used | (4 + w)·as²b, with w = 4 only 4·as²b |

RMSNorm is counted in several steps in 32 bits, as Hugging Face's models have it; one fused kernel keeps 4·sbh
less for each of the two.

Outside the layers (section 4.3): the mask of the embedding's dropout, the input of the last LayerNorm
and of the output layer, and the logits in 32 bits, ``4·s·b·v``.

How far real blocks are from this is in docs/sizing.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from .model import Model
from .plan import Plan
from .state import Line


def value_width(precision: str) -> int:
    """Bytes of an activation."""
    return 4 if precision == "fp32" else 2


def activations(plan: Plan) -> Iterator[Line]:
    """What one batch keeps on one GPU."""
    m, width = plan.model, value_width(plan.precision)
    factor, scores = _of_block(m, width)
    tokens = f"{plan.seq:,}·{plan.batch:,}·{m.hidden:,}"
    each = plan.tokens * m.hidden
    matrix = f"{m.heads}·{plan.seq:,}²·{plan.batch:,}"
    if plan.checkpointing:
        kept = (m.layers - 1) * each * width
        yield _line("inputs of the other layers", f"{m.layers - 1} × {tokens} × {width} B", kept)
        yield _line("the layer computed again", f"{tokens} × {factor} B", each * factor)
        layers = 1
    else:
        told = f"{m.layers} × {tokens} × {factor} B"
        yield _line("layers", told, m.layers * each * factor)
        layers = m.layers
    if plan.eager:
        told = f"{layers} × {matrix} × {scores} B"
        kept = layers * m.heads * plan.seq * plan.tokens * scores
        yield _line("attention scores", told, kept)
    outside = (
        f"{plan.seq:,}·{plan.batch:,} × ({m.hidden:,} × {2 * width + 1} B + {m.vocab:,} × 4 B)"
    )
    kept = plan.tokens * (m.hidden * (2 * width + 1) + 4 * m.vocab)
    yield _line("output layer and logits", outside, kept)


def _of_block(m: Model, width: int) -> tuple[int, int]:
    """Bytes that a layer keeps for each token and unit of its width, and for each attention score."""
    if m.block == "gpt":
        return 16 * width + 2, 2 * width + 1
    inner = 4 * width * m.wide / m.hidden
    return round(8 + width * (6 + 2 * m.shared) + inner), 4 + (width if width < 4 else 0)


def _line(what: str, arithmetic: str, kept: int) -> Line:
    return Line("activations", what, arithmetic, kept)
