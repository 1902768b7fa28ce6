"""Steps advance, but no checkpoint came for much longer than the usual save interval, or none ever will.

Decides: A trainer that saves only improvements of a metric which is never reported says so every
    time; three such lines without a save between them are told, and so are three saves in a row
    that the log claims and that are not on disk. Else compares with the intervals between the saves of this run and, if saves come at regular
    step numbers, with the number of steps too: a slower run, or one that evaluates for an hour, is
    not late. Only time in which steps came counts: a run without steps saves nothing, and is
    another trouble. Three lines, because a validation may come only every few epochs (our choice).
Classes: checkpoint_stale
Sources: Our choice: three times the median of at least two intervals, 1.5 times the longest, and
    never less than ten minutes. An evaluation before a save doubles single intervals in public
    runs, and a trainer that saves only improvements saves more and more rarely.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from .kit import (
    CheckpointSeen,
    Evidence,
    Finding,
    LogEvent,
    Sentinel,
    Severity,
    View,
)
from .kit.forecast import clock
from .kit.numbers import number, short_path, span
from .kit.recovery import OpenIncident
from .kit.saves.damage import written
from .kit.saves.pattern import LOOKED_AT, expected


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.checkpoint_stale]`."""

    times: float = 3.0
    """A save is overdue after this many usual intervals."""
    floor_s: float = 600.0
    """A save is never overdue before this time, however short the intervals are."""
    longest_times: float = 1.5
    """A save is never overdue before this many times the longest interval, or this many times the
    number of steps between saves."""
    refusals: int = 3
    """Lines in a row that say that the monitored metric is missing, or validations after one, without
    a save between them."""
    claims: int = 3
    """Saves in a row that the log claims and that are not on disk."""
    found_s: float = 15.0
    """Time in which a claimed save is found on disk; searches come every few seconds."""
    even_ratio: float = 0.1
    """Saves come at regular steps if the numbers of steps between them differ by less than this
    part."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the newest save is old, compared with the run's own save interval."""
    if not view.live or view.ending is not None:
        return
    if view.stalled_since("checkpoint_dir") is not None:
        return  # a save would not be seen
    yield from _unmonitored(view, limits)
    yield from _claimed_only(view, limits)
    if not view.step_times:
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


def _unmonitored(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the trainer cannot decide what to save, because it does not have the metric."""
    saved = max((c.saved_at for c in view.checkpoints), default=view.run.watched_since)
    said = [e for e in view.events if e.trouble == "checkpoint_stale" and e.at > saved]
    if not said:
        return
    # Python shows a warning once; validations since then without a save say the same.
    looked = sum("eval_loss" in step.values and step.at > said[0].at for step in view.steps)
    if max(len(said), looked) < limits.refusals:
        return
    newest = said[-1]
    yield Finding(
        trouble="checkpoint_stale",
        key="monitor",
        severity=Severity.WARNING,
        summary=f"the trainer saves nothing, for it does not find the metric that decides what is best: "
        f"{newest.text.strip()[:160]}",
        evidence=(Evidence("log", newest.text, newest.at),),
        file=newest.file,
        line=newest.line,
        remedy="compare the name that the save callback monitors with the metrics in the log",
        details={"count": len(said)},
        since=said[0].at,
    )


def _claimed_only(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if the newest saves that the log claims are not where the earlier ones are."""
    newest = max((c for c in view.checkpoints if c.step), key=lambda c: c.step or 0, default=None)
    if newest is None or newest.step is None:
        return
    folder = _folder(newest.path)
    claims = [
        c
        for c in view.claimed_saves
        if c.step is not None
        and c.step > newest.step
        and c.at > newest.saved_at
        and c.path is not None
        and _folder(c.path) == folder
        and view.now - c.at >= limits.found_s
    ]
    if len(claims) < limits.claims:
        return
    last = claims[-1]
    yield Finding(
        trouble="checkpoint_stale",
        key="claims",
        severity=Severity.WARNING,
        summary=f"the log claims {len(claims)} saves up to step {number(last.step or 0)}, but the newest "
        f"on disk is of step {number(newest.step)}: {short_path(newest.path)}",
        evidence=(
            Evidence("log", f"saved, says line {last.line}: {last.path}", last.at),
            Evidence("checkpoint", f"newest: {newest.path}", newest.saved_at),
        ),
        file=last.file,
        line=last.line,
        remedy="see what deletes them: a clean-up that sorts names as text takes step_1000 for older "
        "than step_900",
        details={"claims": len(claims), "newest": newest.step, "path": newest.path},
        since=claims[0].at,
    )


def _folder(path: str) -> str:
    """Name of the folder that a file is in: a log names it from the working directory."""
    return path.rpartition("/")[0].rpartition("/")[2]


def _steps_due(view: View, limits: Limits) -> bool:
    """True if saves come at regular steps, and too few steps have passed since the newest one."""
    whole = (c for c in reversed(view.checkpoints) if written(c))
    known = [c.step for c in whole if c.step is not None]
    if len(known) < 2:
        known = [c.step for c in reversed(view.claimed_saves) if c.step is not None]
    every = [a - b for a, b in pairwise(islice(known, LOOKED_AT)) if a > b]
    if not every or max(every) - min(every) > limits.even_ratio * max(every):
        return False
    return 0 <= view.step_times[-1][1] - known[0] <= limits.longest_times * max(every)


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once there is a newer save."""
    newest = max(view.checkpoints, key=lambda c: c.saved_at, default=None)
    if newest is None or newest.saved_at <= case.opened_at or not written(newest):
        return ""
    return f"saved again: {short_path(newest.path)} at {clock(newest.saved_at, view.now)}"


SENTINEL = Sentinel(
    check, Limits(), on=(LogEvent, CheckpointSeen), every_tick=True, recovered=recovered
)
