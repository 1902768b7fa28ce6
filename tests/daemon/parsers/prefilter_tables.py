"""Makes ``daemon/parsers/prefilter_table.py`` anew: run this after a pattern was changed."""

from __future__ import annotations

from pathlib import Path

from middlewatch.daemon.parsers import frameworks, phases, prefilter_table
from middlewatch.daemon.parsers.literals import derive
from middlewatch.daemon.parsers.prefilter import key_of
from middlewatch.daemon.parsers.signatures import SIGNATURES
from middlewatch.daemon.parsers.tracebacks import OPENINGS

TABLE = Path(prefilter_table.__file__)
HEAD = '''"""Atoms of every pattern, by :func:`.prefilter.key_of`. Made by a program; do not edit.

``python tests/daemon/parsers/prefilter_tables.py`` makes it anew from the patterns.
"""

from __future__ import annotations

# fmt: off
ATOMS: dict[int, tuple[str, ...]] = {
'''


def asked() -> list[tuple[str, tuple[str, ...]]]:
    """Every pattern whose atoms are looked for, with its ``narrow``."""
    return [
        *((row.pattern, row.narrow) for row in SIGNATURES),
        *((phase.pattern, phase.narrow) for phase in phases.PHASES),
        *((claim.pattern, claim.narrow) for claim in phases.SAVED),
        *((pattern, ()) for pattern in OPENINGS),
        *((pattern, ()) for _, pattern in frameworks.LINES),
    ]


def table() -> str:
    """The whole module."""
    rows = "".join(f"    {key_of(*ask)}: {derive(*ask)!r},\n" for ask in asked())
    return f"{HEAD}{rows}}}\n"


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
