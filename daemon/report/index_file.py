"""Write ``checkpoints_index.json``: strict JSON, replaced in one step."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ..system.files import write_whole


def write_index(path: str, index: Mapping[str, Any], *, private: bool = True) -> None:
    """Replace the file ``path`` in one step; ``private``: for its owner only. Raises OSError."""
    text = json.dumps(strict(index), indent=1, allow_nan=False)
    write_whole(path, text + "\n", private=private)


def strict(value: Any) -> Any:
    """The same value with NaN and infinities as ``"nan"``, ``"inf"`` and ``"-inf"``."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(key): strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [strict(each) for each in value]
    return value
