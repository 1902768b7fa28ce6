"""The observation of which parts of the box a run uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartsUsed:
    """Which parts of the box the processes of a run use, from ``/proc`` only.

    ``None``: it could not be looked up, which says nothing.
    """

    at: float
    devices: frozenset[str] = frozenset()
    """File systems (``major:minor``) on which it has files open for writing."""
    folders: frozenset[str] = frozenset()
    """Paths that its command line names, apart from its program."""
    temporary: frozenset[str] = frozenset()
    """Its folders for temporary files, where its environment names one."""
    shm: bool = False
    """It holds shared memory."""
    gpu_minors: frozenset[int] | None = None
    """The device files ``/dev/nvidiaN`` that it has open, by N."""
    gpus_visible: tuple[str, ...] | None = None
    """The GPUs that its environment allows (``CUDA_VISIBLE_DEVICES``): indexes or UUIDs."""
