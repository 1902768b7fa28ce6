"""All rows and all watchers."""

from __future__ import annotations

from collections.abc import Callable

from .faults import against_us, box, checkpoints, endings, gpus, hangs, losses, saves
from .lab import Fault
from .peers.all import peers
from .watchers import Middlewatch, Watcher

FAULTS: tuple[Fault, ...] = (
    *losses.FAULTS,
    *hangs.FAULTS,
    *endings.FAULTS,
    *box.FAULTS,
    *checkpoints.FAULTS,
    *saves.FAULTS,
    *gpus.FAULTS,
    *against_us.FAULTS,
)


def watchers() -> dict[str, Callable[[], Watcher]]:
    """Every watcher by name; made anew for each row."""
    return {"middlewatch": Middlewatch, **peers()}
