"""What the run's saves look like: sizes, counts and cadence, for the rules about space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .numbers import median
from .observations import CheckpointSeen
from .view import View

RECENT = 5
"""Saves that tell what the next one is like (the measured rule uses the last five)."""


@dataclass(frozen=True, slots=True)
class Saves:
    """The next save as the last ones let expect it."""

    bytes: int
    """Largest of the last five."""
    files: int
    every_s: float | None
    """Median time between saves; ``None`` before three of them."""
    newest_at: float
    kept: int
    """Checkpoints on disk now; a single one that is overwritten needs care with forecasts."""


def saves_on(view: View, mount: str) -> Saves | None:
    """The saves that lie on ``mount``; ``None`` before the first whole one."""
    return expect([c for c in view.checkpoints if lies_on(view, c.path, mount)])


def expect(checkpoints: Sequence[CheckpointSeen]) -> Saves | None:
    """What the next save needs, from those that are on disk."""
    whole = sorted(
        (c for c in checkpoints if c.state in ("ok", "pending", "unverifiable")),
        key=lambda c: c.saved_at,
    )
    if not whole:
        return None
    recent = whole[-RECENT:]
    gaps = [b.saved_at - a.saved_at for a, b in pairwise(whole) if b.saved_at > a.saved_at]
    return Saves(
        bytes=max(c.bytes for c in recent),
        files=max(c.files for c in recent),
        every_s=median(gaps) if len(gaps) >= 2 else None,
        newest_at=whole[-1].saved_at,
        kept=len(whole),
    )


def lies_on(view: View, path: str, mount: str) -> bool:
    """True when ``mount`` is the longest known mount point above ``path``."""
    best = ""
    for known in view.disks:
        inside = path == known or path.startswith(known.rstrip("/") + "/")
        if inside and len(known) > len(best):
            best = known
    return best == mount

