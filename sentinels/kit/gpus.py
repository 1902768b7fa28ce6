"""Which GPUs a run uses, and how busy they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from .gpu_sample import GpuSample
from .view import View

WORKS = 0.3
"""Utilisation (0 to 1) from which a GPU is at work."""


RECENT = 60
"""Samples of a shared GPU that are looked at: a minute."""


def used(view: View) -> Iterator[tuple[int, Sequence[GpuSample]]]:
    """(index, samples) of every GPU that the run is known to use.

    For evidence that the run works: a GPU that is busy with something else is none. Of one that it
    shares, the samples are of its own part: utilisation by its processes, and no power, which is of
    all.
    """
    for index, samples in view.gpus.items():
        if samples:
            mine = _sharing(view, samples[-1])
            yield index, [_own(s, mine) for s in newest(samples, RECENT)[::-1]] if mine else samples


def _sharing(view: View, sample: GpuSample) -> frozenset[int]:
    """The processes of the run on a GPU that others use as well; empty when it has the GPU for
    itself, or when the driver's process ids are not those that we see (in a container)."""
    if len(sample.pids or ()) < 2 or not view.process_samples:
        return frozenset()
    mine = frozenset(p.pid for p in view.process_samples[-1].processes)
    there = frozenset(sample.pids or ())
    return mine & there if there - mine else frozenset()


def _own(sample: GpuSample, mine: frozenset[int]) -> GpuSample:
    shares = sample.shares
    part = None if shares is None else min(1.0, sum(s for pid, s in shares if pid in mine))
    return replace(
        sample,
        util_ratio=part,
        mem_busy_ratio=None,
        power_w=None,
        power_limit_w=None,
        power_usual_w=None,
    )


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
