"""Lines that signatures must match, and lines they must not: ``tests/data/signatures/*.toml``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "data" / "signatures"


class Examples(NamedTuple):
    """Of one row: the wording, not copies of anybody's log."""

    hits: tuple[str, ...]
    """Lines that must match."""
    misses: tuple[str, ...]
    """Lines that look alike and must not."""


def examples() -> dict[str, Examples]:
    """All of them, by the row's id."""
    found: dict[str, Examples] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for row, lines in tomllib.loads(path.read_text(encoding="utf-8")).items():
            assert row not in found, f"{row} is in {path.name} and in another file"
            found[row] = Examples(tuple(lines["hits"]), tuple(lines["misses"]))
    return found


EXAMPLES = examples()
