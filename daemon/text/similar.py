"""What a person meant who mistyped a name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(word: str, names: Iterable[str]) -> str:
    """``did you mean …?`` with the nearest names; empty when none is near."""
    near = get_close_matches(word, list(names), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else ""
