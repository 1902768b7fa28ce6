"""Sizes as a person types them."""

from __future__ import annotations

import re

from ..system.errors import UsageError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?(?:/s)?")


def size_of(text: str) -> int:
    """Bytes of a size like ``20MiB`` or ``5M``. Raises UsageError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"cannot read the size {text!r}", "write it like 20MiB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** " KMGT".index(found[2] or " "))
