"""Which GPUs a run uses, and how busy they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from .observations import GpuSample
from .view import View

WORKS = 0.3
"""Utilisation (0 to 1) from which a GPU is at work."""


def used(view: View) -> Iterator[tuple[int, Sequence[GpuSample]]]:
    """(index, samples) of every GPU that the run is known to use.

    For evidence that the run works: a GPU that is busy with something else is none.
    """
    return ((index, samples) for index, samples in view.gpus.items() if samples)


def possible(view: View) -> Iterator[tuple[int, Sequence[GpuSample]]]:
    """The same, and where nothing shows which GPUs the run uses, all that no other run is known to
    use. For rules that report what is wrong with a GPU."""
    cards = view.gpus if view.gpus_known else {**view.stray_gpus, **view.gpus}
    return ((index, samples) for index, samples in cards.items() if samples)


def newest(samples: Sequence[GpuSample], count: int) -> list[GpuSample]:
    """The last ``count`` samples, newest first."""
    return list(islice(reversed(samples), max(1, count)))


def at_work(samples: Sequence[GpuSample]) -> bool:
    """True when all samples have a utilisation, and all but at most one reach :data:`WORKS`."""
    loads = [s.util_ratio for s in samples]
    known = [load for load in loads if load is not None]
    return len(known) == len(loads) > 0 and sum(load < WORKS for load in known) <= 1
