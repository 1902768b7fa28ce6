"""What is followed on after a restart of the daemon."""

from __future__ import annotations

from collections.abc import Mapping

from .jumps import Jumps
from .series import LossSeries


def follow_open(jumps: Jumps, series: Mapping[tuple[str, str], LossSeries]) -> None:
    """After a restart of the daemon: give open jumps and resets back to their series."""
    for jump in jumps.all:
        owner = series.get((jump.file, jump.metric))
        if owner is not None and jump.state != "back":
            if jump.driven:
                owner.pushed = jump
            elif jump.slow:
                owner.slow = jump
            else:
                owner.under = owner.under or (owner.jump if jump.upon else None)
                owner.jump = jump
    for reset in jumps.resets:
        owner = series.get((reset.file, reset.metric))
        if owner is not None and reset.back is None:
            owner.reset = reset
