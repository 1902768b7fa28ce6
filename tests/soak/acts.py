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
    blocked: float = 0.0
    """Part of the looks that find the workers in state D."""


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
    kept_for_ever: bool = False
    """This one is a milestone, which never goes."""
    ends: bool = False
    """The run is over with exit status 0; what comes next is another one."""
    restarts: bool = False
    """The launcher starts all ranks anew: other processes from here on."""
    load: Load | None = None
    """What it costs, where it is not the usual of its kind."""
    ranks: int | None = None
    """As many of them from the next restart on."""


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
    active_cache: bool = False
    """The page cache is used again and again: the kernel calls it active."""
    limited: bool = True
    """Its control group has a limit."""
    gpus: Literal["all", "mig", "none"] = "all"
    """What NVML tells: everything, no load and no power, or nothing at all."""
    nvml_fails: tuple[float, float] | None = None
    """Every so many hours it cannot be asked, for so many hours."""
    inodes: bool = True
    neighbours: tuple[float, float] | None = None
    """(bytes, hours): others fill so much of the disk and empty it again in that time."""
    clock_jumps: tuple[tuple[float, float], ...] = ()
    """(after hours, by seconds): somebody sets the clock of the box."""
    watch_sleeps: tuple[tuple[float, float], ...] = ()
    """(after hours, seconds): the watch is stopped meanwhile, and nothing else is."""
