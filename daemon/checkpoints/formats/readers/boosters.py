"""Models of boosting libraries: XGBoost (JSON and UBJSON), LightGBM (text), CatBoost (flatbuffer)."""

from __future__ import annotations

import json
import re

from ..bounded_file import BoundedFile
from ..extents import Contents
from ..pickle_symbols import TooLong
from ..torch_zip import Malformed
from .forward import Forward

_PARSED = 16 << 20
"""Bytes of a JSON that is parsed; of a longer one the end is looked at."""
_NO_SUMS = ("no checksums in it, its numbers are not checked",)
_UBJ = {
    b"Z": 0,
    b"N": 0,
    b"T": 0,
    b"F": 0,
    b"i": 1,
    b"U": 1,
    b"I": 2,
    b"l": 4,
    b"L": 8,
    b"d": 4,
    b"D": 8,
    b"C": 1,
}
_INTEGERS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q"}
_MOST = 2_000_000
_SIZES = re.compile(rb"^tree_sizes=([\d ]*)\r?$", re.MULTILINE)


def xgboost_json(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    if peek.size > _PARSED:
        if not peek.read_at(peek.size - 64, 64).rstrip().endswith(b"}"):
            raise Malformed("the file is cut off: it does not end with a brace")
        return Contents(notes=("too long to be parsed: only its end was looked at",))
    try:
        found = json.loads(peek.read_at(0, peek.size))
    except (ValueError, RecursionError) as error:
        raise Malformed(f"it is cut off or damaged: {error!s:.100}") from None
    if not isinstance(found, dict) or "learner" not in found:
        raise Malformed("no model of XGBoost in it")
    return Contents(notes=_NO_SUMS)


def xgboost_ubj(peek: BoundedFile, path: str) -> Contents:
    """See the package. https://ubjson.org, with the typed lists that XGBoost uses."""
    data = Forward(peek)
    left: list[
        list[int | bool]
    ] = []  # of each open container: is it an object, items left (-1: unknown)
    made = 0
    kind = data.take(1)
    while True:
        made += 1
        if made > _MOST:
            raise TooLong(f"more than {_MOST} items are not followed")
        if kind in (b"{", b"["):
            opened = _open(data, object_=kind == b"{")
            if opened is not None:
                left.append(opened)
        elif kind == b"S":
            data.skip(_integer(data))
        elif kind in _UBJ:
            data.skip(_UBJ[kind])
        else:
            raise Malformed(f"no item can begin with {kind.hex()}, at byte {data.at - 1}")
        following = _following(data, left)
        if following is None:
            break
        kind = following
    if data.at != peek.size:
        raise Malformed(f"{peek.size - data.at} bytes behind its end")
    return Contents(notes=_NO_SUMS)


def _open(data: Forward, *, object_: bool) -> list[int | bool] | None:
    """Begin a list or an object; ``None`` for a list of one type, which is skipped whole."""
    mark = data.take(1)
    kind = b""
    if mark == b"$":
        kind, mark = data.take(1), data.take(1)
    if mark != b"#":
        data.at -= 1
        return [object_, -1]
    count = _integer(data)
    if kind and not object_ and kind in _UBJ:
        data.skip(_UBJ[kind] * count)
        return None
    if kind:
        raise TooLong(f"a list of the type {kind.hex()} is not followed")
    return [object_, count]


def _following(data: Forward, left: list[list[int | bool]]) -> bytes | None:
    """The type of the next item; ``None`` at the end of all."""
    while left:
        object_, count = left[-1]
        if count == 0:
            left.pop()
            continue
        mark = data.take(1)
        if count < 0 and mark == (b"}" if object_ else b"]"):
            left.pop()
            continue
        if count > 0:
            left[-1][1] = count - 1
        if not object_:
            return mark
        if mark not in _INTEGERS:
            raise Malformed(f"no name can begin with {mark.hex()}, at byte {data.at - 1}")
        data.skip(data.number(_INTEGERS[mark]))
        return data.take(1)
    return None


def _integer(data: Forward) -> int:
    kind = data.take(1)
    if kind not in _INTEGERS:
        raise Malformed(f"no length can begin with {kind.hex()}, at byte {data.at - 1}")
    count = data.number(_INTEGERS[kind])
    if count < 0:
        raise Malformed(f"a negative length at byte {data.at}")
    return count


def lightgbm(peek: BoundedFile, path: str) -> Contents:
    """See the package. Its head lists the bytes of every tree."""
    head = peek.read_up_to(0, 4 << 20)
    sizes = _SIZES.search(head)
    if sizes is not None:
        wanted = sum(int(n) for n in sizes[1].split()[:1_000_000])
        if peek.size < sizes.end() + wanted:
            raise Malformed(f"the file is cut off: its trees alone take {wanted} bytes")
    tail = peek.read_up_to(max(0, peek.size - (1 << 20)), 1 << 20)
    if (
        b"end of trees" not in tail
        and b"end of parameters" not in tail
        and b"pandas_categorical" not in tail
    ):
        raise Malformed("the file is cut off: the end of its trees is missing")
    if b"\nparameters:" in tail and b"\nend of parameters" not in tail:
        raise Malformed("the file is cut off: the end of its parameters is missing")
    return Contents(notes=_NO_SUMS)


def catboost(peek: BoundedFile, path: str) -> Contents:
    """See the package. ``CBM1``, four bytes of length, the model, then what it keeps beside it."""
    length = int.from_bytes(peek.read_at(4, 4), "little")
    if 8 + length > peek.size:
        raise Malformed(f"the file is cut off: {peek.size} of {8 + length} bytes")
    return Contents(notes=_NO_SUMS)
