"""Which box executes which cell, if several boxes have the same file. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_FORM = re.compile(r"(\d{1,4})/(\d{1,4})")


@dataclass(frozen=True, slots=True)
class Shard:
    """Part ``number`` (from 1) of ``count``.

    A cell belongs to a shard by a hash of its name, not by its place in the file: so a line that is
    added, moved or taken out on one box moves no other cell to another box, where it would be executed
    twice or never. The price: the shards are only about equally large.
    """

    number: int = 1
    count: int = 1

    def has(self, name: str) -> bool:
        """Whether the cell of this name is executed here: of every name, by exactly one shard."""
        value = int.from_bytes(
            hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big"
        )
        return value % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def shard(text: str) -> Shard:
    """A shard of a text like ``2/3``. Raises ValueError."""
    match = _FORM.fullmatch(text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"{text!r} is no shard: 2/3 is the second of three boxes")
    return Shard(int(match[1]), int(match[2]))
