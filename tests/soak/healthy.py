"""What a healthy run is: acts that never end, and the box they happen on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .acts import Act, Machine

Acts = Iterator[Act]


@dataclass(frozen=True)
class HealthyRun:
    """One kind of healthy training."""

    name: str
    looks_like: str
    """What a hasty watch would take it for."""
    acts: Callable[[random.Random], Acts]
    machine: Machine = field(default_factory=Machine)
    command: tuple[str, ...] = ("python", "train.py")
