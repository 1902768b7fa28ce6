"""What a person meant who mistyped a name."""

from __future__ import annotations

from collections.abc import Iterable


def meant(word: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """``did you mean …?`` with the nearest names; empty when none is as near as ``cutoff`` (0 to 1)."""
    from difflib import get_close_matches  # imported here: only needed for a typing error

    small = {name.casefold(): name for name in names}
    near = get_close_matches(word.casefold(), list(small), n=2, cutoff=cutoff)
    return f"did you mean {' or '.join(small[name] for name in near)}?" if near else ""


def named(names: Iterable[str], most: int = 8) -> str:
    """``known: a, b and 3 more``: the newest ``most`` of names that come oldest first."""
    known = list(names)
    left = len(known) - most
    more = f" and {left} more" if left > 0 else ""
    return f"known: {', '.join(known[-most:])}{more}"
