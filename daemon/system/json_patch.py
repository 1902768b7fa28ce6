"""What has changed in a JSON value, as a JSON patch (RFC 6902) of ``add``, ``remove`` and ``replace``."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

Patch = list[dict[str, Any]]

_MOST_SHIFT = 32
"""Rows by which a window over something that grows (the end of a log, a curve) may have moved on: one a second for
half a minute. Our choice; one that moved further is given anew."""


def diff(before: Any, after: Any, path: str = "") -> Patch:
    """The patch that makes ``after`` of ``before``; empty where nothing changed.

    Lists are compared place by place, and one that lost rows in front and got others behind as such. ``path``: the
    JSON pointer of both.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        patch: Patch = []
        for key, value in before.items():
            if key not in after:
                patch.append({"op": "remove", "path": _below(path, key)})
            else:
                patch += diff(value, after[key], _below(path, key))
        for key, value in after.items():
            if key not in before:
                patch.append({"op": "add", "path": _below(path, key), "value": value})
        return patch
    if isinstance(before, list) and isinstance(after, list):
        return _of_lists(before, after, path)
    if before == after and type(before) is type(after):
        return []
    return [{"op": "replace", "path": path, "value": after}]


def _below(path: str, key: str) -> str:
    """The JSON pointer of a member (RFC 6901)."""
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


def _of_lists(before: list[Any], after: list[Any], path: str) -> Patch:
    gone = _shift(before, after)
    patch: Patch = [{"op": "remove", "path": f"{path}/0"}] * gone
    left = before[gone:]
    for place, (old, new) in enumerate(zip(left, after, strict=False)):
        patch += diff(old, new, f"{path}/{place}")
    patch += [{"op": "remove", "path": f"{path}/{len(after)}"}] * (len(left) - len(after))
    patch += [{"op": "add", "path": f"{path}/-", "value": v} for v in after[len(left) :]]
    return patch


def _shift(before: Sequence[Any], after: Sequence[Any]) -> int:
    """How many rows fell off the front: then all that is left stands at the front of ``after``. 0 if it is not so."""
    if not after or not before or _same(before[0], after[0]):
        return 0
    for gone in range(1, min(_MOST_SHIFT + 1, len(before))):
        left = itertools.islice(before, gone, None)
        if len(before) - gone <= len(after) and all(map(_same, left, after)):
            return gone
    return 0


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: ``1`` is not ``true``."""
    return bool(one == other) and not diff(one, other)


def applied(value: Any, patch: Sequence[Mapping[str, Any]]) -> Any:
    """``value`` with a patch of :func:`diff`. ``value`` stays as it was, and shares with the new one what did not
    change.

    Raises ValueError for a patch that is none of ours, or is not of this value.
    """
    root = [value]
    own: dict[int, Any] = {id(root): root}  # what was copied, and may be changed

    def owned(holder: Any, key: Any) -> Any:
        inner = holder[key]
        if id(inner) not in own:
            inner = holder[key] = copy.copy(inner)
            own[id(inner)] = inner
        return inner

    for change in patch:
        try:
            kind, path = change["op"], str(change["path"])
            new = change["value"] if kind in ("add", "replace") else None
            if not path:
                root[0] = new
                continue
            *way, last = (p.replace("~1", "/").replace("~0", "~") for p in path.split("/")[1:])
            holder = owned(root, 0)
            for word in way:
                holder = owned(holder, int(word) if isinstance(holder, list) else word)
            _change(holder, last, kind, new)
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"this patch does not fit: {change}") from error
    return root[0]


def _change(holder: Any, last: str, kind: str, new: Any) -> None:
    if isinstance(holder, list):
        if kind == "add":
            holder.insert(len(holder) if last == "-" else int(last), new)
        elif kind == "replace":
            holder[int(last)] = new
        else:
            del holder[int(last)]
    elif kind == "remove":
        del holder[last]
    else:
        holder[last] = new
