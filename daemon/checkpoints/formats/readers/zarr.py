"""The description of one zarr array: ``.zarray`` of version 2, ``zarr.json`` of version 3."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from ..bounded_file import BoundedFile
from ..dtypes import ITEM_BYTES, of_numpy
from ..torch_zip import Malformed

_LONGEST = 1 << 20


class Layout(NamedTuple):
    """What a chunk takes on the disk."""

    chunk_bytes: int | None
    """``None`` where chunks are compressed, or of a type that is not known."""


def layout(peek: BoundedFile) -> Layout:
    """Raises Malformed where it is no whole description."""
    if peek.size > _LONGEST:
        raise Malformed(f"a description of {peek.size} bytes")
    try:
        told = json.loads(peek.read_at(0, peek.size))
    except (ValueError, RecursionError):
        raise Malformed("no whole JSON: damaged or cut off") from None
    if not isinstance(told, dict) or "zarr_format" not in told:
        raise Malformed("no description of an array")
    try:
        return Layout(_three(told) if told["zarr_format"] == 3 else _two(told))
    except (KeyError, TypeError, ValueError):
        return Layout(None)


def _two(told: dict[str, Any]) -> int | None:
    dtype = of_numpy(str(told["dtype"]))
    if told.get("compressor") or told.get("filters") or dtype is None:
        return None
    return int(math.prod(told["chunks"]) * ITEM_BYTES[dtype])


def _three(told: dict[str, Any]) -> int | None:
    items = ITEM_BYTES.get(str(told.get("data_type")))
    codecs = [c["name"] for c in told.get("codecs", ())]
    if told.get("node_type") != "array" or items is None or codecs != ["bytes"]:
        return None
    return int(math.prod(told["chunk_grid"]["configuration"]["chunk_shape"]) * items)
