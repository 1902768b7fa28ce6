"""Write ``checkpoints_index.json``: strict JSON, replaced in one step."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ..system.files import write_whole


def write_index(path: str, index: Mapping[str, Any]) -> None:
    """Replace the file ``path`` in one step, for its owner only. Raises OSError."""
    write_whole(path, index_text(index), private=True)


def index_text(index: Mapping[str, Any]) -> str:
    """The text of the file: one field a line, and one checkpoint a line.

    With ``indent`` json takes ten times as long, which 20,000 checkpoints make a second.
    """
    fields = []
    for key, value in index.items():
        if key == "checkpoints":
            rows = ",\n".join(f"  {_plain(entry)}" for entry in value)
            fields.append(f' "{key}": [\n{rows}\n ]' if rows else f' "{key}": []')
        else:
            fields.append(f" {_plain(key)}: {_plain(value)}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _plain(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:  # a NaN somewhere in it
        return json.dumps(strict(value), allow_nan=False)


def strict(value: Any) -> Any:
    """The same value with NaN and infinities as ``"nan"``, ``"inf"`` and ``"-inf"``."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(key): strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [strict(each) for each in value]
    return value
