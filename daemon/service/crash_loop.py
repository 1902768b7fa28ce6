"""A command that is started again and again, and gains nothing, is one conversation.

Whatever starts it (a loop in a shell, a supervisor, a queue), each start is an attempt that goes on from
the one before (:attr:`.RunSpec.resumed_from`). What such attempts die of is told as of one run: a phone
that rings for each of them rings all night.
"""

from __future__ import annotations

from collections.abc import Mapping

from .watched_run import WatchedRun

LOOPS = (
    "It is started again and again, and gains nothing. What follows of it today is on the status page "
    "and in the digest; if an attempt trains further and then fails, that is pushed."
)
"""Said by the last push about it."""


def first_of(runs: Mapping[str, WatchedRun], run: str) -> str:
    """The id of the first attempt of this run that is known; its own if there was none before."""
    met = {run}
    while (watched := runs.get(run)) and (before := watched.spec.resumed_from) in runs:
        if before is None or before in met:
            break
        met.add(before)
        run = before
    return run


def barren(runs: Mapping[str, WatchedRun], run: str) -> bool:
    """Whether this is a later attempt that has come no further than those before it."""
    watched = runs.get(run)
    if watched is None or not watched.spec.resumed_from:
        return False
    reached, best, met = _reached(watched), None, {run}
    while (before := runs.get(watched.spec.resumed_from or "")) and before.spec.id not in met:
        met.add(before.spec.id)
        known = _reached(before)
        best = known if best is None or (known is not None and known > best) else best
        watched = before
    return reached is None or (best is not None and reached <= best)


def _reached(watched: WatchedRun) -> float | None:
    """The highest step that an attempt has reported, or the highest epoch of one that counts no steps."""
    history = watched.history
    steps = [number for _, number in history.step_times]
    epochs = (step.epoch for step in history.steps if step.epoch is not None)
    return max(steps, default=None) if steps else max(epochs, default=None)
