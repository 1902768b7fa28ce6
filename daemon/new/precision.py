"""The precision that a card trains in, by its compute capability."""

from __future__ import annotations

from typing import Literal

Precision = Literal["auto", "bf16", "fp16", "fp32"]
BF16_SINCE = 8
"""Major compute capability from which a card has instructions for bfloat16: 8.0, Ampere
(https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions)."""


def of_cards(capabilities: list[str]) -> Precision:
    """What all these cards can do. ``capabilities``: like ``["8.0"]``; one that is not known is "".

    bf16 where all of them have it, else fp16 (with a scaler of the loss); ``auto`` where there is no card
    or one of them is not known: the training asks the card that is there when it starts, and trains in
    fp32 on a CPU.
    """
    if not capabilities or not all(capabilities):
        return "auto"
    majors = [int(text.partition(".")[0]) for text in capabilities]
    return "bf16" if min(majors) >= BF16_SINCE else "fp16"
