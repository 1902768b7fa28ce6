"""The messages of the control socket: one JSON object per line, both ways.

Question: ``{"v": 1, "op": "status", …arguments}``. Answer: ``{"ok": true, "data": …}`` or
``{"ok": false, "error": "…", "hint": "…", "exit_code": 2}``. A subscription (``op``
``follow``) answers with many lines until the client closes the connection. Numbers that are not
finite are written as the strings ``"nan"``, ``"inf"`` and ``"-inf"``: every line is strict JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

VERSION = 1
MAX_LINE = 8 << 20
"""Longest line either side accepts, in bytes."""


def strict(value: Any) -> Any:
    """A copy of ``value`` in which floats that are not finite are strings, and sets are lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else _spell(value)
    if isinstance(value, Mapping):
        return {str(k): strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [strict(v) for v in value]
    return value


def _spell(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Strict JSON text. Lone surrogates (bytes that were not UTF-8) become ``?``."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except (TypeError, ValueError):  # a number that is not finite, a set
        text = json.dumps(strict(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def encode(message: Mapping[str, Any]) -> bytes:
    """One line for the socket."""
    return dumps(message).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """One line of the socket. Raises ValueError when it is not a JSON object."""
    try:
        value = json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value
