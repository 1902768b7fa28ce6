"""Safetensors: one file, or shards with an index.

A file consists of eight bytes with the length of the header, a JSON header, and the tensors back
to back. The library refuses a file with gaps or with bytes left over; so does this module. Format:
https://huggingface.co/docs/safetensors (100 MB is its own limit for a header).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

from .bounded_file import BoundedFile
from .dtypes import ITEM_BYTES, SAFETENSORS
from .pickle_symbols import TooLong as TooLong
from .torch_zip import Holed, Malformed

HEADER_LIMIT = 8 << 20
"""Bytes of the longest header that is parsed: 80,000 tensors at 103 bytes each (measured)."""
_LIBRARY_LIMIT = 100_000_000
_BITS = {
    **{name: 8 * ITEM_BYTES[kind] for name, kind in SAFETENSORS.items()},
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F4": 4,
}


class TensorEntry(NamedTuple):
    """One tensor of a header, without its shape, which was compared with its bytes."""

    dtype: str
    begin: int
    """Where its bytes begin, as an offset from the end of the header."""
    end: int


def looks_like(head: bytes) -> bool:
    """Whether the first nine bytes can be those of a safetensors file."""
    length = int.from_bytes(head[:8], "little")
    return len(head) >= 9 and 2 <= length <= _LIBRARY_LIMIT and head[8:9] == b"{"


def names(peek: BoundedFile) -> frozenset[str]:
    """Check one file and return the names of its tensors. Raises as :func:`header`."""
    return frozenset(header(peek)[0])


def header(peek: BoundedFile) -> tuple[dict[str, TensorEntry], int]:
    """Check one file: (its tensors by name, the file offset from which their offsets count).

    Raises Malformed, FileTooShort or TooLong.
    """
    if peek.size < 8:
        raise Malformed(f"{peek.size} bytes are too few for a header")
    length = int.from_bytes(peek.read_at(0, 8), "little")
    if length > _LIBRARY_LIMIT:
        raise Malformed(f"the header claims {length} bytes, more than the format allows")
    if 8 + length > peek.size:
        raise Malformed(
            f"the file is cut off inside its header ({peek.size} of {8 + length} bytes)"
        )
    if length > HEADER_LIMIT:
        raise TooLong(f"a header of {length} bytes is not read")
    found = parse_object(peek.read_at(8, length), "the header", _compact)
    found.pop("__metadata__", None)
    end = _contiguous(found)
    entries: dict[str, TensorEntry] = found
    missing = 8 + length + end - peek.size
    if missing > 0:
        raise Malformed(f"the file is cut off: {missing} bytes of tensors are missing")
    if missing < 0:
        raise Malformed(f"{-missing} bytes more than the header announces")
    lost = peek.lost_tail(8 + length + entry.begin for entry in entries.values())
    if lost:
        raise Malformed(f"the last {lost} bytes are zeroes: they never reached the disk")
    start, count = peek.lost_hole(8 + length + entry.begin for entry in entries.values())
    if count:
        raise Holed(start, count)
    return entries, 8 + length


def dtype_of(name: str) -> str | None:
    """The name of a type in torch; ``None`` where its elements do not fill whole bytes."""
    return SAFETENSORS.get(name)


def _contiguous(header: dict[str, Any]) -> int:
    """Where the last tensor ends. Raises Malformed unless they lie back to back from zero."""
    spans = sorted(_span(name, entry) for name, entry in header.items())
    at = 0
    for begin, end, name in spans:
        if begin != at:
            raise Malformed(f"{name} begins at {begin}, the one before ends at {at}")
        at = end
    return at


def _compact(pairs: list[tuple[str, Any]]) -> object:
    """For :func:`json.loads`: turns a valid object of the header into a :class:`TensorEntry`.

    34,000 of them take 5 MiB, as dicts 18 MiB (measured). An invalid object is left as it is, to be
    reported with its name.
    """
    entry = dict(pairs)
    if entry.keys() == {"dtype", "shape", "data_offsets"}:
        try:
            begin, end, _ = _span("", entry)
        except TooLong:  # an unknown type: reported later, with the name
            begin, end = entry["data_offsets"]
        except Malformed:
            return entry
        return TensorEntry(sys.intern(entry["dtype"]), begin, end)
    return entry


def _span(name: str, entry: object) -> tuple[int, int, str]:
    if isinstance(entry, TensorEntry):
        _known(name, entry.dtype)
        return entry.begin, entry.end, name
    if not isinstance(entry, dict):
        raise Malformed(f"the header of {name!r} is not an object")
    offsets, shape, dtype = entry.get("data_offsets"), entry.get("shape"), entry.get("dtype")
    if not (_are_sizes(offsets) and len(offsets) == 2 and offsets[0] <= offsets[1]):
        raise Malformed(f"{name} has no valid data_offsets")
    if not _are_sizes(shape) or not isinstance(dtype, str):
        raise Malformed(f"{name} has no valid shape or dtype")
    _known(name, dtype)
    bits: int | None = _BITS[dtype]
    for size in shape:
        bits = None if bits is None else min(bits * size, 1 << 80)
    if bits is not None and bits != 8 * (offsets[1] - offsets[0]):
        raise Malformed(
            f"{name}: {dtype} {shape} does not fill its {offsets[1] - offsets[0]} bytes"
        )
    return offsets[0], offsets[1], name


def _known(name: str, dtype: str) -> None:
    if dtype not in _BITS:
        raise TooLong(f"{name[:80]} is of a type that is not known here: {dtype[:20]!r}")


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def shard_map(peek: BoundedFile) -> dict[str, set[str]]:
    """Names of the tensors by file, from an index. Raises Malformed, FileTooShort or TooLong."""
    if peek.size > HEADER_LIMIT:
        raise TooLong(f"an index of {peek.size} bytes is not read")
    index = parse_object(peek.read_at(0, peek.size), "the index")
    wanted = index.get("weight_map")
    if not isinstance(wanted, dict) or not wanted:
        raise Malformed("the index has no weight_map")
    shards: dict[str, set[str]] = {}
    for tensor, file in wanted.items():
        if not isinstance(file, str) or file in ("", ".", "..") or "/" in file or "\0" in file:
            raise Malformed(f"the index names no plain file for {tensor}")
        shards.setdefault(file, set()).add(tensor)
    return shards


def parse_object(
    data: bytes, what: str, hook: Callable[[list[tuple[str, Any]]], object] | None = None
) -> dict[str, Any]:
    """A JSON object. Raises Malformed. ``hook``: ``object_pairs_hook`` of ``json.loads``."""
    try:
        value = json.loads(data, object_pairs_hook=hook)
    except (ValueError, RecursionError):
        zeroes = len(data) - len(data.rstrip(b"\0"))
        reason = f"{zeroes} zeroes at its end" if zeroes else f"{len(data)} bytes"
        raise Malformed(f"{what} is not valid JSON ({reason})") from None
    if not isinstance(value, dict):
        raise Malformed(f"{what} is not a JSON object")
    return value
