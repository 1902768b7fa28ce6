"""The processes of a watched run, when its main one ended, and how far its logs were written then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from middlewatch.sentinels.kit import ProcessSample

from ..system import procfs
from .watched_run import WatchedRun


def ended_at_of(run: WatchedRun, now: float | None = None) -> float | None:
    """When the main process ended; ``None`` while it lives.

    With ``now``, an end that is not noted yet counts as well: the next job may be found before.
    """
    ended = run.ended_at if run.ended_at is not None else run.gone_at
    spec = run.spec
    if ended is None and now is not None and spec.pid is not None and spec.start_ticks is not None:
        return now if procfs.start_ticks(spec.pid) != spec.start_ticks else None
    return ended


def last_seen(run: WatchedRun) -> tuple[ProcessSample, ...]:
    """The newest sample of its processes."""
    samples = run.history.process_samples
    return samples[-1].processes if samples else ()


def processes_of(run: WatchedRun) -> Iterator[tuple[int, int]]:
    """(pid, start ticks) of all processes that are known of a run."""
    spec = run.spec
    if spec.pid is not None:
        yield spec.pid, spec.start_ticks or 0
    yield from ((rank.pid, rank.start_ticks) for rank in spec.ranks)
    yield from ((p.pid, p.start_ticks) for p in last_seen(run))


def places_of(run: WatchedRun) -> dict[str, Any]:
    """The positions in the logs of a run, without what their readers know of that run."""
    places = {}
    for path, tail in run.save()["tails"].items():
        reader = dict(tail.get("reader", {}))
        for part in ("progress", "tracebacks"):
            reader.pop(part, None)
        places[path] = {**tail, "reader": reader}
    return places
