"""What has changed in a JSON value, as a JSON merge patch (RFC 7396)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The patch that makes ``after`` of ``before``; empty where nothing changed.

    A list is given whole. To a patch a key that is gone and one that is null are the same: in either case it
    has ``null``.
    """
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            inner = merge_patch(old, value)
            if inner:
                patch[key] = inner
        elif value != old or type(value) is not type(old):
            patch[key] = value
    return patch
