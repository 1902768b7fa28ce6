"""The parts of a checkpoint in a short list, so that a missing part is noticed.

For a folder they are the names of its files with ``#`` for every number (``rng_state_#.pth×8``),
for a single file the groups of its floating-point tensors (``model×148``, ``optimizer×296``).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ..formats import contents, names, recognise, torch_zip
from ..formats import safetensors as tensors
from ..formats.bounded_file import BoundedFile, FileTooShort
from ..formats.extents import TensorAt

MOST = 32
"""Limit on the parts in the list; the others are counted together in its last entry."""
_LONGEST = 80
_NUMBER = re.compile(r"\d+")


def roster(path: str) -> list[str]:
    """``PATTERN×COUNT`` of every part, by name; empty where the parts are not known.

    Raises nothing for a damaged or unreadable file.
    """
    try:
        files = list(_files(path))
        if files:
            return of_files(files)
        with BoundedFile(path) as peek:
            return list(of_tensors(contents.contents(peek, path).tensors))
    except (OSError, FileTooShort, torch_zip.Malformed, tensors.TooLong, ValueError, MemoryError):
        return []


def of_files(files: Iterable[str]) -> list[str]:
    """The parts of a checkpoint that consists of these files."""
    return _told(Counter(map(_wiped, files)), "other files")


def _files(path: str) -> Iterator[str]:
    """Names of the files of a checkpoint that has several."""
    if os.path.isdir(path):
        for part in recognise.parts(path):
            if not names.is_leftover(part.base):
                yield part.name
    elif names.has_family(path):
        for part in recognise.family(path):
            yield part.base


def of_tensors(tensors: Iterable[TensorAt], elsewhere: Iterable[str] = ()) -> tuple[str, ...]:
    """Floating-point tensors by the first word of their names; one in several parts counts once. ``elsewhere``:
    names of tensors whose numbers are in other files."""
    counts = Counter(name.partition(".")[0].partition("/")[0] for name in elsewhere)
    wholes = set()
    for tensor in tensors:
        if tensor.of not in wholes:
            counts[tensor.name.partition(".")[0]] += 1
        if tensor.of:
            wholes.add(tensor.of)
    wiped: Counter[str] = Counter()
    for name, count in counts.items():
        wiped[_wiped(name)] += count
    return tuple(_told(wiped, "other tensors"))


def _wiped(name: str) -> str:
    return _NUMBER.sub("#", name)[:_LONGEST]


def _told(counts: Counter[str], others: str) -> list[str]:
    ordered = sorted(counts)
    if len(ordered) > MOST:
        rest = sum(counts[name] for name in ordered[MOST - 1 :])
        ordered = ordered[: MOST - 1]
        return [*(f"{name}×{counts[name]}" for name in ordered), f"{others}×{rest}"]
    return [f"{name}×{counts[name]}" for name in ordered]
