"""The first step for errors whose message says what to do, whoever wrote the program.

A row is a pattern on the message and what a good engineer does first; ``{name}`` is what the pattern found. The
messages are those of PyTorch, NumPy, Transformers, TensorFlow, JAX, scikit-learn, XGBoost and Python itself; what follows
from them is in their documentation, or plain. The first row that fits counts: exact ones stand before general ones.
"""

from __future__ import annotations

import re
from functools import cache

from ..config.secrets import mask


def rows() -> tuple[tuple[str, str], ...]:
    """(pattern, step) of all messages that are known, in the order in which they are tried."""
    from .known import arrays, data, installs, processes, saves, services, training

    rooms = (saves, processes, services, arrays, training, data, installs)
    return tuple(row for room in rooms for row in room.ROWS)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Read and compiled when the first message comes: a daemon whose runs are well needs none of them."""
    return tuple((re.compile(pattern), step) for pattern, step in rows())


_LOOKS = ("print", "compare", "count", "find", "open", "look", "line", "list", "see", "read")
"""First words of steps that change nothing."""


def is_safe(step: str) -> bool:
    """Whether a step of this table only looks."""
    return step.split(" ", 1)[0] in _LOOKS


def known_step(text: str) -> str:
    """The first step for this message; empty when none is known for it. What it quotes of it has no secrets."""
    text = mask(text)
    for pattern, step in _patterns():
        if found := pattern.search(text):
            return step.format(**found.groupdict())
    return ""
