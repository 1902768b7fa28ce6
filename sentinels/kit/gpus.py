"""Which GPUs a run uses, and how busy they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from .observations import GpuSample
from .view import View

WORKS = 0.3
"""Utilisation (0 to 1) from which a GPU is at work."""


def used(view: View) -> Iterator[tuple[int, Sequence[GpuSample]]]:
    """(index, samples) of every GPU that the run may use.

    A GPU is left out only if the driver lists its processes, none of them belongs to the run, and
    the run is found on another GPU. In a container the driver often lists pids of another pid
    namespace, or none: then all GPUs are returned.
    """
    ours = {p.pid for p in view.process_samples[-1].processes} if view.process_samples else set()
    if view.run.pid is not None:
        ours.add(view.run.pid)
    cards = [(index, samples) for index, samples in view.gpus.items() if samples]
    found = [pair for pair in cards if not ours.isdisjoint(pair[1][-1].pids or ())]
    yield from found or cards


def newest(samples: Sequence[GpuSample], count: int) -> list[GpuSample]:
    """The last ``count`` samples, newest first."""
    return list(islice(reversed(samples), max(1, count)))


def at_work(samples: Sequence[GpuSample]) -> bool:
    """True when all samples have a utilisation, and all but at most one reach :data:`WORKS`."""
    loads = [s.util_ratio for s in samples]
    known = [load for load in loads if load is not None]
    return len(known) == len(loads) > 0 and sum(load < WORKS for load in known) <= 1
