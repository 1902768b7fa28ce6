"""How long a silence has to last until it is judged: limits by the run's own steps and pauses.

No fixed number of seconds would do: the longest healthy silence in 79 real logs was 17 minutes,
while the median of the limits learned from the pace of each run is 73 seconds.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..numbers import number, pace, span
from ..observations import CheckpointSaved, Phase, Step
from ..view import View
from .announced_pause import pause_s
from .pauses import ANNOUNCED, Pauses
from .signs import ReportPauses, Signs

FEW_STEPS = 8
"""Intervals needed to know the pace."""
TWICE = 2
"""Times that a phase must have been seen for its length to be known."""
LINES_S = 60.0
"""Seconds over which usual lines must have come to be a rhythm: the lines of a program that starts
come within a few seconds."""
FEW_TIMES = 2.0
"""While few intervals are known, the longest of them counts this many times, like the slow ones of
:meth:`.Pace.limit_s`."""
AHEAD_S = 15.0
"""Seconds before a limit from which stacks are taken, so that three of them are there in time."""
SOCKET_LOOKS = 15
"""Newest process samples of which one has the bytes of sockets, if they can be read at all."""
LINES_TIMES = 3.0
"""Multiple of their longest distance from which lines that came regularly are missing; as for the
usual distance of steps."""


@dataclass(frozen=True, slots=True)
class SilenceLimits:
    """How long a run may be silent; fields as in ``[sentinels.hang]`` of the configuration."""

    floor_s: float = 60.0
    first_step_s: float = 1800.0
    few_steps_s: float = 300.0
    phase_times: float = 1.5
    rendezvous_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence, and the limit from which it is judged; in seconds."""

    silent_s: float
    limit_s: float
    since: str
    """What was seen last, for a person: ``step 400``, ``the start``."""
    step_s: float | None = None
    """Usual seconds between two reports of a step; ``None`` while not known."""
    longest_s: float = 0.0
    """The longest pause so far, of any kind, after which the run went on."""
    early_s: float | None = None
    """Seconds from which a run that does nothing, and by its stacks waits for a lock, for data or for
    other processes, is told before the limit; ``None`` when that is not before it. The limit is
    longer than the run's own rhythm before that is well known, and after an announcement."""
    look_s: float | None = None
    """Seconds from which its stacks are taken for that."""

    @property
    def unpaced(self) -> bool:
        """True for a run that has not shown a rhythm yet."""
        return self.step_s is None

    @property
    def open(self) -> bool:
        """True when the silence has reached its limit and must be judged."""
        return self.silent_s >= self.limit_s

    @property
    def worth_a_look(self) -> bool:
        """True when stacks may already help to judge it."""
        limit_s = self.limit_s if self.look_s is None else min(self.limit_s, self.look_s)
        return self.silent_s >= limit_s - AHEAD_S

    @property
    def limit_steps(self) -> float | None:
        """The limit as a number of reports; ``None`` while the pace is not known."""
        return self.limit_s / self.step_s if self.step_s else None


class _Course(NamedTuple):
    """What shows the progress of a run, and its pauses."""

    marks: Sequence[tuple[float, float]]
    pauses: Pauses | None
    told: str = "step"


def _course(view: View) -> _Course:
    """The series that shows the progress of this run: its steps; where it shows none, or no longer,
    its reports without a step; else lines of the same shapes."""
    signs = view.accumulator(Signs)
    steps = _Course(view.step_times, view.accumulator(Pauses))
    if signs is None:
        return steps
    last = view.step_times[-1][0] if view.step_times else -math.inf
    reports = _Course(signs.reports, view.accumulator(ReportPauses), "report")
    newest = signs.reports[-1][0] if signs.reports else -math.inf
    since = sum(at > last for at, _ in signs.reports) if newest > last else 0
    if since > FEW_STEPS or (len(view.step_times) < 3 <= since):
        return reports
    if len(view.step_times) < 3 and len(signs.reports) < 3 and _regular(signs.lines):
        return _Course(signs.lines, None, "line")
    return steps


def _regular(lines: Sequence[tuple[float, float]]) -> bool:
    """True for lines of the same shapes that came often enough, and for long enough, that the run
    has shown how it usually is: at its start a program prints many and then prepares for long."""
    return len(lines) > FEW_STEPS and lines[-1][0] - lines[-FEW_STEPS - 1][0] >= LINES_S


def last_sign(view: View) -> tuple[float | None, str]:
    """(epoch seconds, what it was) of the newest sign of progress in the log; ``None`` when there
    was none yet."""
    course, signs = _course(view), view.accumulator(Signs)
    newest = signs.reported_at if signs is not None else None
    if signs is not None and signs.reports and (course.told != "step" or not view.step_times):
        newest = max(signs.reports[-1][0], newest or 0.0)
    if course.told == "line":
        return max(course.marks[-1][0], newest or 0.0), "the last usual line"
    if view.step_times and (newest is None or view.step_times[-1][0] >= newest):
        return view.step_times[-1][0], f"step {number(view.step_times[-1][1])}"
    return newest, "the last report"


def shows_again(view: View, since: float) -> str:
    """The words for a run that reports no step and shows its usual progress again after ``since``
    (epoch seconds); empty when it does not."""
    course = _course(view)
    if course.told == "step":
        return ""
    for (before, _), (after, _) in itertools.pairwise(course.marks):
        if after > since:
            return f"it went on by itself after {span(after - before)}: a {course.told} came again"
    return ""


def case_of(view: View, patience: SilenceLimits, *, saves: bool = True) -> Silence:
    """How long a run has been silent, and how long it may be at its present step.

    ``saves``: bytes of a save are a sign of progress. They are none of a run in which every batch
    fails: it may save the same weights again and again.
    """
    beginning = max(view.run.started_at, view.run.watched_since)
    shown, since = last_sign(view)
    last = beginning if shown is None else _result_at(view, shown)
    since = since if shown is not None else "the start"
    saved = last
    if saves:
        done = (c.saved_at for c in reversed(view.checkpoints) if c.saved_at <= view.now)
        saved = next(done, last)
    # Nothing is known about the time in which the daemon did not watch.
    away = view.now - view.gap_s if view.gap_s else last
    unread = view.stalled_since("log_tail")  # steps that come since then are not seen
    silent = min(view.now, unread or view.now) - max(last, saved, away)
    if silent < patience.floor_s - AHEAD_S:
        return Silence(silent, patience.floor_s, since)  # no limit is shorter than this
    marks, pauses, told = _course(view)
    rhythm = pace(marks, pauses.usual_s if pauses else 0.0)
    if rhythm is None:
        look_s = min(patience.few_steps_s, patience.rendezvous_s)
        early = {"early_s": patience.few_steps_s, "look_s": look_s}
        return Silence(silent, patience.first_step_s, since, **early)
    if told == "line":
        longest = max(b[0] - a[0] for a, b in itertools.pairwise(marks))
        limit = max(patience.few_steps_s, LINES_TIMES * longest)
        return Silence(silent, limit, since, rhythm.typical_s, longest)
    if pauses is None:
        limit, longest = rhythm.limit_s(patience.floor_s), 0.0
    else:
        longest = max(pauses.longest.values(), default=0.0)
        unannounced = _unannounced(marks, pauses, patience)
        limit = max(rhythm.steady_limit_s(patience.floor_s), unannounced)
    usual = limit
    if rhythm.marks < FEW_STEPS:
        usual = max(limit, FEW_TIMES * max(b[0] - a[0] for a, b in itertools.pairwise(marks)))
        limit = max(usual, patience.few_steps_s)
    phases = announced_phases(view)
    rests = [p for p in phases if p.name == "pause"]
    if rests:
        # As long as the log said, and until the next sign has had its usual time.
        until = max(p.at + pause_s(p.text) for p in rests) - (view.now - silent)
        return Silence(
            silent,
            max(limit, until + usual),
            f"{since} (pause announced)",
            rhythm.typical_s,
            longest,
        )
    announced = [p.name for p in phases]
    if announced:
        limit = max(limit, *(_phase(view, pauses, patience, name) for name in set(announced)))
        since += f" ({announced[-1]} announced)"
    early_s = usual if usual < limit else None
    return Silence(silent, limit, since, rhythm.typical_s, longest, early_s, early_s)


def _result_at(view: View, shown: float) -> float:
    """When the newest result of an evaluation came after the sign ``shown``, else that: it repeats the
    step that it is about. Epoch seconds. Only what is newer is looked at, which is little in any tick."""
    newer = itertools.takewhile(lambda step: step.at > shown, reversed(view.steps))
    return next((step.at for step in newer if _evaluated(step)), shown)


def announced_phases(view: View) -> list[Phase]:
    """The announced phases since the last step or report that are not over yet.

    A save is over when it lies on disk or the log claims it in the past tense, an evaluation when
    its result is reported: what follows is not what was announced.
    """
    shown = last_sign(view)[0]
    found: list[Phase] = []
    for phase in view.phases_since_step():
        if phase.name not in ANNOUNCED or (shown is not None and phase.at < shown):
            continue
        if phase.name == "save" and (
            any(_after(claim, phase) for claim in view.claimed_saves)
            or any(c.saved_at > phase.at for c in view.checkpoints)
        ):
            continue
        if phase.name == "evaluate" and any(
            _after(step, phase) and _evaluated(step) for step in view.steps
        ):
            continue
        found.append(phase)
    return found


def _after(seen: CheckpointSaved | Step, phase: Phase) -> bool:
    return (
        seen.line > phase.line if seen.file == phase.file else seen.at > phase.at
    ) and seen.at >= phase.at


def _evaluated(step: Step) -> bool:
    return any(name.startswith(("eval_", "val_", "test_")) for name in step.values)


def _unannounced(
    marks: Sequence[tuple[float, float]], pauses: Pauses, patience: SilenceLimits
) -> float:
    """The limit by this run's unannounced pauses, and those at the end of an epoch; seconds."""
    step, by = marks[-1][1], marks[-1][1] - marks[-2][1]
    expected = max(pauses.expected_pause(step, by), pauses.evaluation_s(step, by))
    limit = min(patience.phase_times * expected, patience.first_step_s)
    if pauses.epoch_ends(step, by):
        limit = max(limit, patience.phase_times * pauses.longest.get("epoch", 0.0))
    return limit


def _phase(view: View, pauses: Pauses | None, patience: SilenceLimits, name: str) -> float:
    """Seconds that a phase of this name may take, by the earlier ones of this run."""
    seen, longest = 0, 0.0
    if pauses is not None:
        seen, longest = pauses.seen.get(name, 0), pauses.longest.get(name, 0.0)
    if seen < TWICE:
        seen, longest = _recent(view, name)
    if seen < TWICE:
        # Bytes show whether a save or an upload moves; where they do, time need not.
        moves = name in ("transfer", "save") and _sockets_known(view)
        return patience.few_steps_s if moves else patience.first_step_s
    return max(patience.few_steps_s, patience.phase_times * longest)


def _recent(view: View, name: str) -> tuple[int, float]:
    """(number, longest in seconds) of the phases of this name that are still in the buffers."""
    times = [at for at, _ in view.step_times]
    seen: dict[int, float] = {}
    for phase in view.phases:
        after = bisect.bisect_right(times, phase.at)
        if phase.name == name and 0 < after < len(times):
            seen[after] = times[after] - times[after - 1]
    return len(seen), max(seen.values(), default=0.0)


def _sockets_known(view: View) -> bool:
    looks = itertools.islice(reversed(view.process_samples), SOCKET_LOOKS)
    return any(p.socket_bytes is not None for look in looks for p in look.processes)
