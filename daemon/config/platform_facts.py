"""Read ``platforms.toml``: what is known about the platforms that rent out boxes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

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
    return (*facts_of_all(), NOBODY)
