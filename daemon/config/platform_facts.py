"""Read ``platforms.toml``: what is known about the platforms that rent out boxes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .platform_profiles import ids, like_of, profile

FACTS = Path(__file__).with_name("platforms.toml")
NOBODY = "none"
"""Value of ``[platform] name`` that switches the recognition of the platform off."""


def facts_of_all() -> dict[str, dict[str, Any]]:
    """Name -> facts, in the order of the file. Raises OSError, ValueError."""
    if sys.version_info >= (3, 11):
        import tomllib  # imported here: the parser costs memory only when it is needed
    else:
        import tomli as tomllib
    table = tomllib.loads(FACTS.read_text(encoding="utf-8"))
    return {key: fact for key, fact in table.items() if isinstance(fact, dict)}


def names() -> tuple[str, ...]:
    """Names that ``[platform] name`` may have. Raises OSError, ValueError."""
    return (*dict.fromkeys((*facts_of_all(), *ids())), NOBODY)


def facts_of(name: str) -> dict[str, Any] | None:
    """The facts of a platform that has no sign of its own and is known by its profile only.

    Where a profile is like that of another platform, its storage is that of the other one. Raises
    OSError, ValueError.
    """
    known = profile(name)
    if known is None:
        return None
    table = facts_of_all()
    like = table.get(like_of(name), {"role": "rental", "better": "", "spot": "", "place": []})
    return {**like, "name": known.name}
