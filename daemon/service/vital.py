"""Whether a pass really saw everything: what a success ping of the heartbeat claims."""

from __future__ import annotations

from collections.abc import Iterable

from ..system.pump import Pumped
from .watched_run import WatchedRun

OF_RUN = frozenset({"processes", "log_tail", "checkpoint_dir"})
"""Sources without which an end, an error or a save of a run would go unseen."""
OF_BOX = frozenset({"nvml", "disk"})
"""The same of the box: a GPU that is lost, a disk that is full."""
FRESH_S = 30.0
"""Seconds within which a source has to have answered: the slowest of these is asked every two seconds,
and the rule `blind` waits as long before it tells."""
FRESH_TIMES = 3.0
"""The same as a multiple of its interval."""


def blind_spots(runs: Iterable[WatchedRun], sources: Iterable[Pumped], now: float) -> list[str]:
    """What was not really seen of the living runs by ``now``, in words; empty: all was.

    A source that this box does not have is no blind spot. The driver counts by its last answer, all
    others by their last look that did not fail: one that waits for an answer says itself when it is late.
    """
    living = {watched.spec.id: watched for watched in runs if watched.alive}
    if not living:
        return []
    found, seen = [], set()
    for one in sources:
        kind = one.source.name.partition(":")[0]
        if one.of in living and kind in OF_RUN:
            seen.add(one.of)
        elif one.of or kind not in OF_BOX:
            continue
        if trouble := _trouble(one, now):
            found.append(f"{one.name}: {trouble}")
    found += [f"{run}: nothing of it is read" for run in living if run not in seen]
    return found


def _trouble(one: Pumped, now: float) -> str:
    state = one.state
    if state.state == "unsupported":
        return ""
    if state.state in ("failed", "stalled"):
        return f"{state.state} ({state.detail})" if state.detail else state.state
    quiet = one.source.answers_later and one.source.name != "nvml"
    at = one.looked_at if quiet else one.true_at
    if at is None or (quiet and state.state == "starting"):
        return "has not answered yet"
    age_s = now - at
    if age_s > max(FRESH_S, FRESH_TIMES * one.source.every_s):
        return f"has not answered for {age_s:.0f} s"
    return ""
