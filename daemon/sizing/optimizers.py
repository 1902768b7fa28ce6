"""What each optimizer remembers, by the tensors that its implementation makes in its first step.

| optimizer | tensors | read in |
| --- | --- | --- |
| SGD | none | torch/optim/sgd.py: a buffer only with momentum |
| SGD with momentum | ``momentum_buffer`` | the same |
| Adam, AdamW | ``exp_avg``, ``exp_avg_sq``, ``step`` | torch/optim/adam.py (AdamW is built on it) |
| Adafactor | ``row_var`` and ``col_var`` of matrices, ``variance`` of vectors, ``step`` | torch/optim/_adafactor.py |
| Lion | ``exp_avg`` | Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2; torch has none |
| 8-bit Adam | two of one byte an element, and a maximum for each block | bitsandbytes, optim/optimizer.py; Dettmers et al. 2022 |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

OPTIMIZERS = ("adamw", "adam", "adam8bit", "adafactor", "lion", "sgd-momentum", "sgd")
_LIKE_THE_PARAMETER = {"sgd": 0, "sgd-momentum": 1, "adam": 2, "adamw": 2, "lion": 1}
"""Tensors of the parameter's own shape and type."""
STEP_BYTES = {"adam": 4, "adamw": 4, "adafactor": 4}
"""One float for each tensor: torch counts the steps of each. It lies in the memory of the host unless
the optimizer is fused or capturable, and is left out of a plan: there are few tensors."""
_BLOCK = 256
"""Elements that share a maximum in bitsandbytes (the paper and old versions: 2048)."""
_SMALL = 4096
"""bitsandbytes keeps the state of tensors with fewer elements in 32 bits (``min_8bit_size``)."""


def bytes_of(optimizer: str, shape: Sequence[int], width: int) -> int:
    """State of one tensor of parameters, each of whose state values has ``width`` bytes; without the
    count of its steps."""
    count = math.prod(shape)
    if optimizer == "adam8bit":
        if count < _SMALL:
            return 2 * 4 * count
        return 2 * (count + 4 * -(-count // _BLOCK))
    if optimizer == "adafactor":
        if len(shape) < 2:
            return width * count
        return width * (count // shape[-1] + count // shape[-2])
    return _LIKE_THE_PARAMETER[optimizer] * width * count


def bytes_a_parameter(optimizer: str, width: int) -> float | None:
    """State for a parameter of a large tensor; ``None`` where it depends on the shapes."""
    if optimizer == "adafactor":
        return None
    if optimizer == "adam8bit":
        return 2 * (1 + 4 / _BLOCK)
    return float(_LIKE_THE_PARAMETER[optimizer] * width)


def bytes_of_all(optimizer: str, shapes: Iterable[tuple[Sequence[int], int]], width: int) -> int:
    """State of tensors: (shape, how many of it)."""
    return sum(times * bytes_of(optimizer, shape, width) for shape, times in shapes)
