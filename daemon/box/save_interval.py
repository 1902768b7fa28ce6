"""How often to save: the cost of a save against the time that an interruption would lose.

Young's and Daly's intervals need two numbers: C, the seconds one save holds the run up, which is
measured, and M, the mean time between interruptions, which is configured or known of the platform.
Without M there is only a rule of thumb by the length of the job. Sources: J. W. Young,
"A first order approximation to the optimum checkpoint interval" (1974); J. T. Daly, "A higher
order estimate of the optimum checkpoint interval for restart dumps" (2006).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from middlewatch.sentinels.kit.numbers import median, number, span
from middlewatch.sentinels.kit.saves.pattern import expected
from middlewatch.sentinels.kit.saves.save_log import Save, SaveLog

from ..judge.history import RunHistory

if TYPE_CHECKING:
    from ..config.schema import Config
    from .platforms import Platform

HOUR_S = 3600.0
RULE: tuple[tuple[float, float], ...] = (
    (1 * HOUR_S, 600.0),
    (4 * HOUR_S, 1800.0),
    (24 * HOUR_S, 3600.0),
    (math.inf, 7200.0),
)
"""(job shorter than, time between saves), seconds: the usual advice where M is not known."""
RESOLUTION_S = 0.5
"""Seconds that a save costs at least: nothing finer can be measured, as steps come in reports and
files are looked at once a second. Our choice; without it a save that seems to cost nothing would be
advised all the time."""
SAVES = 5
"""Newest saves measured; their median counts."""
LEAST_MARKS = 8
"""Step reports needed to work out what a step usually takes."""
READ_LATE_S = 1.5
"""Seconds after which a report is read at the latest: once a second where inotify does not work."""
LOOK_S = 2.0
"""Seconds between two looks at a folder of checkpoints: a save is noticed at most so many seconds
after its first byte, on average half as many."""
A_PAUSE = 2.0
"""Steps that take more than so many times the usual contain a pause, and are left out."""
SAME_S = 0.01
"""Reports that are fewer seconds apart were read at once."""


def young(save_s: float, between_s: float) -> float:
    """Seconds between saves, first order: sqrt(2 C M). ``save_s``: C, ``between_s``: M."""
    return math.sqrt(2.0 * save_s * between_s)


def daly(save_s: float, between_s: float) -> float:
    """Seconds between saves, higher order; M itself where a save costs 2 M or more."""
    if save_s >= 2.0 * between_s:
        return between_s
    part = math.sqrt(save_s / (2.0 * between_s))
    return young(save_s, between_s) * (1.0 + part / 3.0 + part * part / 9.0) - save_s


def overhead(every_s: float, save_s: float, between_s: float) -> float:
    """Time for saves and time lost by interruptions, as a fraction of the run; may be above 1."""
    return save_s / every_s + every_s / (2.0 * between_s)


def whole_steps(every_s: float, step_s: float) -> int:
    """An interval in steps, rounded down; at least one."""
    return max(1, math.floor(every_s / step_s * (1 + 1e-12)))


def by_length(job_s: float) -> float:
    """Seconds between saves by the length of the job alone."""
    return next(every for longest, every in RULE if job_s < longest)


@dataclass(frozen=True, slots=True)
class SaveTiming:
    """What is known about a run's saves, in seconds; ``None``: not known."""

    every_s: float | None = None
    """Time between two saves at present."""
    save_s: float | None = None
    """Time for which one save holds the run up."""
    save_from: str | None = None
    """``steps``: the pause between two reports around it; ``files``: first byte to last."""
    step_s: float | None = None
    job_s: float | None = None
    """Length of the whole job, expected where its steps are known, else so far."""
    nodes: int = 1
    """Boxes of the run; it ends when one of them is lost."""


def advise(seen: SaveTiming, between_s: float | None, told_by: str | None) -> dict[str, Any]:
    """Everything about the cadence, JSON-ready; seconds, and ``None`` for what is not known.

    ``between_s``: mean time between interruptions of one box. ``told_by``: where that comes from.
    """
    group_s = between_s / seen.nodes if between_s else None
    first = higher = steps = advised = None
    if seen.save_s is not None and group_s:
        cost = max(seen.save_s, RESOLUTION_S)
        first, higher = young(cost, group_s), daly(cost, group_s)
        advised = higher
    rule = by_length(seen.job_s) if seen.job_s is not None else None
    if advised is not None and seen.step_s:
        steps = whole_steps(advised, seen.step_s)
        advised = steps * seen.step_s
    found: dict[str, Any] = {
        "every_s": seen.every_s,
        "save_s": seen.save_s,
        "save_from": seen.save_from,
        "step_s": seen.step_s,
        "job_s": seen.job_s,
        "nodes": seen.nodes,
        "interruption_hours": between_s / HOUR_S if between_s else None,
        "interruption_from": told_by if between_s else None,
        "young_s": first,
        "daly_s": higher,
        "advised_s": advised,
        "advised_steps": steps,
        "rule_of_thumb_s": rule,
        "lost_now_s": None if seen.every_s is None else seen.every_s / 2,
        "lost_advised_s": None if advised is None else advised / 2,
        "overhead_now": _overhead(seen.every_s, seen.save_s, group_s),
        "overhead_advised": _overhead(advised, seen.save_s, group_s),
    }
    return {**found, "text": text(found)}


def text(advice: dict[str, Any]) -> str:
    """The advice as one line for a person; empty where nothing is known."""
    every, advised = advice["every_s"], advice["advised_s"]
    now = f"saves every {span(every)}" if every else ""
    if advised is not None:
        steps = advice["advised_steps"]
        counted = f" ({number(steps)} steps)" if steps else ""
        nodes = f" of each of {advice['nodes']} boxes" if advice["nodes"] > 1 else ""
        hours = span(advice["interruption_hours"] * HOUR_S)
        sentence = (
            f"Young/Daly advises {span(advised)}{counted}: a save takes {_cost(advice['save_s'])}, "
            f"one interruption{nodes} every {hours} assumed ({advice['interruption_from']})"
        )
        if every:
            sentence += f"; one loses {span(every / 2)} on average now, {span(advised / 2)} then"
        return f"{now}; {sentence}" if now else sentence
    rule = advice["rule_of_thumb_s"]
    if not now or rule is None:
        return now
    return f"{now}; rule of thumb for a job of {span(advice['job_s'])}: every {span(rule)}"


def _cost(save_s: float) -> str:
    return "under a second" if save_s < 2 * RESOLUTION_S else span(save_s)


def _overhead(every: float | None, save: float | None, between: float | None) -> float | None:
    if not every or save is None or not between:
        return None
    return overhead(every, save, between)


def interruptions(config: Config, platforms: Sequence[Platform]) -> tuple[float | None, str | None]:
    """(mean seconds between interruptions of one box, where that comes from)."""
    if config.checkpoints.interruption_hours:
        return config.checkpoints.interruption_hours * HOUR_S, "as configured"
    for platform in platforms:
        if platform.ends_h:
            return platform.ends_h * HOUR_S, f"session limit of {platform.name}"
    return None, None


# ------------------------------------------------------------------------ measuring


def measure(history: RunHistory, now: float) -> SaveTiming:
    """Measure the newest saves and steps of a run."""
    marks = [*_apart(history.step_times)]
    step_s = _step_s(marks)
    log = history.accumulators.get(SaveLog)
    saves = log.saves if isinstance(log, SaveLog) else []
    own = [s for s in saves if s.at >= history.facts.started_at and not s.open][-SAVES:]
    saving = expected(history.view(now))
    cost, told_by = _save_s(own, marks, None if _bursts(history) else step_s)
    total = history.total or history.facts.expected_steps
    lasted = max(0.0, now - history.facts.started_at)
    return SaveTiming(
        every_s=saving.every_s if saving else None,
        save_s=cost,
        save_from=told_by,
        step_s=step_s,
        job_s=max(lasted, total * step_s) if total and step_s else lasted,
        nodes=_nodes(history),
    )


def _save_s(
    saves: Sequence[Save], marks: Sequence[tuple[float, float]], step_s: float | None
) -> tuple[float | None, str | None]:
    """(seconds, ``steps`` or ``files``): the shorter of the pause of the steps and the write.

    A pause may contain an evaluation as well; a write may go on in the background.
    """
    pauses = [p for s in saves if step_s and (p := _pause(s.at, marks, step_s)) is not None]
    writes = [_unseen(s.at - s.began) for s in saves if s.began is not None and s.at > s.began]
    found = [(median(pauses), "steps")] if pauses else []
    found += [(median(writes), "files")] if writes else []
    return min(found, default=(None, None))


def _unseen(seen_s: float) -> float:
    """Seconds of a write, estimated from the part ``seen_s`` after it was noticed.

    On average a write shorter than :data:`LOOK_S` is noticed when half of it is over, a longer one
    after half of :data:`LOOK_S`.
    """
    return seen_s + min(seen_s, LOOK_S / 2)


def _pause(at: float, marks: Sequence[tuple[float, float]], step_s: float) -> float | None:
    """Seconds beyond the usual between the two reports around ``at``.

    A report may be read later than it was written: then the pause is between the next two.
    """
    after = bisect_right(marks, at, key=lambda mark: mark[0])
    if not 0 < after < len(marks):
        return None
    found = [0.0]
    for (began, first), (ended, last) in pairwise(marks[after - 1 : after + 2]):
        if began <= at + READ_LATE_S and last > first:
            found.append(ended - began - step_s * (last - first))
    return max(found)


def _apart(marks: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The last one of all steps that were read at once, as those of a fast log are."""
    for before, mark in pairwise((*marks, (math.inf, 0.0))):
        if mark[0] - before[0] > SAME_S:
            yield before


def _step_s(marks: Sequence[tuple[float, float]]) -> float | None:
    """Seconds that a step usually takes: the mean over all reports without a pause.

    Not the median: a log that is read once a second gives 5 steps in one second and 10 in the next.
    """
    if len(marks) < LEAST_MARKS:
        return None
    apart = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(marks) if b[1] > a[1]]
    usual = median([seconds / steps for seconds, steps in apart])
    even = [(t, n) for t, n in apart if usual is not None and t <= A_PAUSE * usual * n]
    return sum(t for t, _ in even) / sum(n for _, n in even) or None if even else None


def _bursts(history: RunHistory) -> bool:
    """True when steps arrive in whole blocks of a buffer: their times say nothing then."""
    grown: Iterable[int] = (log.chunk_bytes for log in history.logs.values())
    return any(size and size % 4096 == 0 for size in grown)


def _nodes(history: RunHistory) -> int:
    """Boxes of the run: the number of its ranks divided by those that run on this box."""
    world = history.facts.world_size
    if not world or not history.process_samples:
        return 1
    here = {p.rank for p in history.process_samples[-1].processes if p.rank is not None}
    return max(1, math.ceil(world / len(here))) if here else 1
