"""Steps advance but no checkpoint came for much longer than this run's own cadence.

Decides: by the intervals between the saves of this run, and where saves come at even steps by
    those steps as well: a slower run, or one that evaluates for an hour, is not late. The time
    runs only while steps come: a run that stands still saves nothing, and that is another trouble.
Classes: checkpoint_stale
Sources: our choice: three times the median of at least two intervals, one and a half times the
    longest, and never under ten minutes: evaluation before a save doubles single intervals in
    public runs, and one that saves only what is best saves ever more rarely.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from .kit import CheckpointSeen, Evidence, Finding, Sentinel, Severity, Step, View
from .kit.numbers import span
from .kit.saves.damage import written
from .kit.saves.pattern import LOOKED_AT, expected


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.checkpoint_stale]`."""

    times: float = 3.0
    """Overdue after this many usual intervals."""
    floor_s: float = 600.0
    """Never overdue before this, however fast the saves came."""
    longest_times: float = 1.5
    """Never overdue before so many times the longest interval, nor so many times the steps
    between saves."""
    even_ratio: float = 0.1
    """Saves come at even steps when their intervals differ by less than this part."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak when the newest save is old, measured by the run's own cadence."""
    if not view.live or view.ending is not None or not view.step_times:
        return
    saves = expected(view)
    if saves is None or saves.every_s is None:
        return
    since = max(saves.newest_at, view.run.watched_since)
    if view.gap_s:
        since = max(since, view.now - view.gap_s)
    age = view.step_times[-1][0] - since
    limit = max(limits.floor_s, limits.times * saves.every_s)
    if age <= limit or age <= limits.longest_times * saves.longest_s:
        return
    if _steps_due(view, limits):
        return
    newest = max(view.checkpoints, key=lambda c: c.saved_at)
    yield Finding(
        trouble="checkpoint_stale",
        severity=Severity.WARNING,
        summary=f"no checkpoint for {span(age)} of training; this run saves every {span(saves.every_s)}",
        evidence=(Evidence("checkpoint", f"newest: {newest.path}", newest.saved_at),),
        details={"age_s": round(age), "every_s": round(saves.every_s), "path": newest.path},
    )


def _steps_due(view: View, limits: Limits) -> bool:
    """True where saves come at even steps and too few have passed since the newest."""
    whole = (c for c in reversed(view.checkpoints) if written(c))
    known = [c.step for c in whole if c.step is not None]
    if len(known) < 2:
        known = [c.step for c in reversed(view.claimed_saves) if c.step is not None]
    every = [a - b for a, b in pairwise(islice(known, LOOKED_AT)) if a > b]
    if not every or max(every) - min(every) > limits.even_ratio * max(every):
        return False
    return 0 <= view.step_times[-1][1] - known[0] <= limits.longest_times * max(every)


SENTINEL = Sentinel(check, Limits(), on=(Step, CheckpointSeen), every_tick=True)
