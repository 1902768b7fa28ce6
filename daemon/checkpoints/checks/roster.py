"""What a checkpoint is made of, in a few words: so that one that lacks a part is noticed.

Of a folder the names of its files with their numbers wiped (``rng_state_#.pth×8``), of a single
file the groups of its floating tensors (``model×148``, ``optimizer×296``).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator

from ..inside import archives, contents, formats, names, tensors
from ..inside.peek import Cut, Peek

MOST = 32
"""Parts that are told; what is beyond them is counted together."""
_LONGEST = 80
_NUMBER = re.compile(r"\d+")


def roster(path: str) -> list[str]:
    """``PATTERN×COUNT`` of every part, by name; empty where nothing can be told.

    Raises nothing for what it finds.
    """
    try:
        files = list(_files(path))
        if files:
            return _told(Counter(_wiped(name) for name in files), "other files")
        return _told(_groups(path), "other tensors")
    except (OSError, Cut, archives.Broken, tensors.TooLong, ValueError, MemoryError):
        return []


def _files(path: str) -> Iterator[str]:
    """Names of the files of a checkpoint that has several."""
    stem = names.index_stem(path)
    if os.path.isdir(path):
        for part in formats.parts(path):
            if not names.is_leftover(part.base):
                yield part.name
    elif stem is not None:
        folder, _, base = stem.rpartition("/")
        for part in formats.parts(folder or "/", deepest=0):
            if part.base.startswith(base) and names.shard(part.base) is not None:
                yield part.base


def _groups(path: str) -> Counter[str]:
    """Floating tensors by the first word of their names."""
    with Peek(path) as peek:
        found = contents.contents(peek, path).tensors
    return Counter(_wiped(tensor.name.partition(".")[0]) for tensor in found)


def _wiped(name: str) -> str:
    return _NUMBER.sub("#", name)[:_LONGEST]


def _told(counts: Counter[str], others: str) -> list[str]:
    ordered = sorted(counts)
    if len(ordered) > MOST:
        rest = sum(counts[name] for name in ordered[MOST - 1 :])
        ordered = ordered[: MOST - 1]
        return [*(f"{name}×{counts[name]}" for name in ordered), f"{others}×{rest}"]
    return [f"{name}×{counts[name]}" for name in ordered]
