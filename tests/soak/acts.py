"""What training does for a while, and what its processes look like meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Doing = Literal["train", "evaluate", "save", "compile", "load", "sample", "rest"]
GIB = 1 << 30


class Load(NamedTuple):
    """What one rank and its GPU do: cores, MiB/s read and written, GPU load, part of its power."""

    cores: float
    workers: float
    reads: float
    writes: float
    gpu: float
    watts: float


LOADS: dict[Doing, Load] = {
    "train": Load(0.9, 0.5, 30.0, 0.01, 0.96, 0.85),
    "evaluate": Load(0.8, 0.4, 15.0, 0.0, 0.80, 0.60),
    "save": Load(0.25, 0.0, 0.1, 250.0, 0.0, 0.15),
    "compile": Load(1.0, 0.0, 1.0, 0.5, 0.0, 0.14),
    "load": Load(0.4, 0.2, 400.0, 0.0, 0.0, 0.14),
    "sample": Load(0.7, 0.0, 0.0, 0.0, 0.65, 0.55),
    "rest": Load(0.0, 0.0, 0.0, 0.0, 0.0, 0.12),
}
"""Orders of magnitude of a data-parallel run on one node. A save writes through one rank."""


@dataclass(frozen=True, slots=True)
class Act:
    """So many seconds of one thing; ``prints`` come out when it ends."""

    seconds: float
    doing: Doing = "train"
    prints: tuple[str, ...] = ()
    saves: int | None = None
    """Bytes of the checkpoint that is complete when this act ends."""
    step: float | None = None
    keep: int | None = None
    """Checkpoints that stay after this save; the oldest ones go."""
    ends: bool = False
    """The run is over with exit status 0; what comes next is another one."""
    restarts: bool = False
    """The launcher starts all ranks anew: other processes from here on."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The box a run has to itself."""

    ranks: int = 8
    workers: int = 2
    memory_bytes: int = 512 * GIB
    used_bytes: int = 180 * GIB
    disk_bytes: int = 4096 * GIB
    buffered_bytes: int = 0
    """Block size of a stdout that is not a terminal; 0 prints line by line."""
    daemon_restarts_s: float | None = None
    """The watch itself is started anew this often."""
    page_cache: bool = True
    """Everything read and written stays in the page cache, up to the limit."""
