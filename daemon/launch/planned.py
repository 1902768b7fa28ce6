"""Read planned steps and kept checkpoints from a command line.

For example ``--max_steps 5000`` or ``save_total_limit=3``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_FLAG = re.compile(
    r"""^(?:--?|\+{1,2})?(?:[\w.]+[./])?
    (?:max|num|total|train|n)?[-_]?(?:train(?:ing)?[-_])?(?:steps|iters|iterations|updates)$""",
    re.VERBOSE | re.IGNORECASE,
)
_OTHER = re.compile(r"warm|eval|save|log|val|accum|decay|sampl|infer|every|interval", re.IGNORECASE)
_NUMBER = re.compile(r"\d[\d_]*(?:\.\d+)?(?:e\d+)?", re.IGNORECASE)
_KEEP = re.compile(
    r"""^(?:--?|\+{1,2})?(?:[\w.]+[./])?(?:
    save[-_]total[-_]limit | checkpoints?[-_]total[-_]limit | max[-_](?:ckpts?|checkpoints?)[-_]to[-_]keep
    | (?:save[-_])?num[-_]checkpoints[-_]to[-_]keep | keep[-_]last[-_]n[-_]checkpoints
    | keep[-_]latest[-_]k | max[-_]to[-_]keep | keep[-_]last[-_]epochs)$""",
    re.VERBOSE | re.IGNORECASE,
)
"""Names of "keep the last N" in transformers, diffusers, Composer, torchtitan, fairseq, Orbax
and TensorFlow. ``save_top_k`` is not one: it keeps the best beside others."""
_COUNT = re.compile(r"[1-9]\d{0,3}")


def kept_saves(command: Sequence[str]) -> int | None:
    """How many checkpoints the trainer keeps; ``None`` if the command does not say, or all."""
    words = list(command)
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if not _KEEP.match(flag):
            continue
        if not equals:
            if not flag.startswith("-") or place + 1 == len(words):
                continue
            value = words[place + 1]
        if _COUNT.fullmatch(value):
            return int(value)
    return None


def expected_steps(command: Sequence[str]) -> float | None:
    """The planned number of training steps, or ``None`` when the command does not say."""
    words = list(command)
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if not _FLAG.match(flag) or _OTHER.search(flag):
            continue
        if not equals:
            if not flag.startswith("-") or place + 1 == len(words):
                continue
            value = words[place + 1]
        planned = float(value.replace("_", "")) if _NUMBER.fullmatch(value) else 0.0
        if 0 < planned < math.inf:
            return planned
    return None
