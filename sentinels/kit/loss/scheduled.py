"""What a program turns up while it trains, which raises its loss by design: the weight of a term, the difficulty of
a curriculum, the noise of a diffusion.

Such a value stands in the reports beside the loss. It is set, not measured: it only goes one way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from ..observations import Step

CHANGED = 0.1
"""Part by which it must have changed at least since the climb began (our choice)."""
REPORTS = 8
"""Reports that must have it."""
_SET = re.compile(
    r"(?i)(?:^|[^a-z])(?:beta|lambda|lam|alpha|coef\w*|coeff\w*|weight|w_\w+|\w+_w|anneal\w*|curricul\w*|difficult\w*|stage|level|noise\w*|sigma|"
    r"mask\w*|ratio|(?:seq\w*|max|context|clip)?[_ ]?len(?:gth)?|resol\w*|horizon|tau|temperature|eps(?:ilon)?|strength|frac(?:tion)?|prob\w*)(?:$|[^a-z])"
)
_MEASURED = re.compile(r"(?i)loss|acc|norm|decay|time|grad|score|reward")


def scheduled(steps: Iterable[Step], file: str, line: int) -> str:
    """The name of a value that has only risen, or only fallen, in the reports of a file from this line on; empty for none."""
    series: dict[str, list[float]] = {}
    for step in steps:
        if step.file == file and step.line >= line:
            for name, value in step.values.items():
                if _SET.search(name) and not _MEASURED.search(name) and math.isfinite(value):
                    series.setdefault(name, []).append(value)
    return next((name for name, values in series.items() if _one_way(values)), "")


def _one_way(values: list[float]) -> bool:
    changed = abs(values[-1] - values[0])
    ordered = sorted(values)
    return (
        len(values) >= REPORTS
        and changed > CHANGED * max(abs(values[0]), abs(values[-1]))
        and (values in (ordered, ordered[::-1]))
    )
