"""How many steps a command line plans: ``--max_steps 5000``, ``max_iters=600`` and kin."""

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
