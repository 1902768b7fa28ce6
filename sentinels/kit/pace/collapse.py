"""A gross loss of speed, seen within a minute: every report takes several times as long as before.

:mod:`.windows` needs minutes to say that a run makes four fifths of its speed. That each of the
newest reports is far beyond anything before needs no statistics, only a stretch that is longer than
those which this run had before. Whether the run does less work meanwhile is for the rule to ask.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ..accumulator import Accumulator
from ..numbers import median, quantile
from ..observations import Observation, Phase, ProcessesSeen, Step
from .throughput import RATES
from .windows import CONTEXT, STAGES

MARK_S = 2.0
"""Reports within so many seconds are one mark: a progress bar is drawn ten times a second, and what
is printed through a buffer comes in bursts."""
WARM_MARKS = 2
"""First marks left out: compiling, cold caches, a log that is read from its beginning."""
ENOUGH = 6
"""Marks needed before the speed is known, and ..."""
ENOUGH_S = 15.0
"""... seconds that they cover."""
SOON, SOON_S, SOON_TIMES = 4, 6.0, 5.0
"""The same for a run that is slow soon after its start, and how many times slower it must be then
(our choice: caches and first epochs make a factor of two or three)."""
STAGE_TIMES = 8.0
"""The same for a stage that has just begun, against the one before: it may be more work, but hardly so much more
while less is computed (our choice)."""
SORTED_EVERY = 64
"""Marks after which that quantile is computed again in any case: a run may become faster."""
RAISED = 2.0
"""Multiple of the upper quantile of the usual marks from which a mark is not taken for a usual one: the
first of a slow stretch is only partly slow, and a few of them would soon look usual."""
ABSORBED = 16
"""Raised marks in a row that are usual from then on, if together they are not slow enough."""
KEPT = 256
UPPER = 0.9
"""Quantile of the usual marks with which a slow one is compared: evaluations and saves that nobody
announced are among them."""
TIMES = 4.0
"""How many times as long as usual the marks of a slow stretch take (our choice: as of the slower rule)."""
SLOW_MARKS = 3
SHORTEST_S, LONGEST_S = 30.0, 300.0
AGE_PART = 0.05
"""How long a stretch of slow marks has to be: this part of the time for which the run is watched,
within these limits. A run of an hour may be held up for some minutes by a shared volume."""
USUAL_STRETCH = 2.0
"""... and so many times the longest stretch from which the run has come back by itself."""
CPU_EVERY_S = 4.0
LEADS = 0.5
"""Part of the CPU cores of the busiest process from which another one is a trainer as well, as ranks are."""
SMOOTHED = 0.1
"""Weight of a new look in the usual CPU cores of a process."""
SILENT_S = 300.0
"""Seconds of silence after which another rank or log is followed."""


class Mark(NamedTuple):
    """Some seconds of the run."""

    at: float
    """Epoch seconds."""
    seconds: float
    """Per token, sample, step or report."""


@dataclass(eq=False)
class Collapse(Accumulator):
    """The usual time of a report, and the newest marks while all of them are slow."""

    takes: ClassVar[tuple[type, ...]] = (Step, Phase, ProcessesSeen)
    slow: list[Mark] = field(default_factory=list)
    """Consecutive slow marks, the newest last: the first of them and the newest 63."""
    usual_s: float = 0.0
    """Median of the usual marks when the first slow one came."""
    step: float | None = None
    """Step at the first slow mark."""
    _sorted: float = 0.0
    """The upper quantile when it was last computed."""
    _since_sorted: int = 0
    _factor: float = TIMES
    """How many times slower the stretch must be."""
    _usual: deque[Mark] = field(default_factory=lambda: deque(maxlen=KEPT))
    _unit: str = ""
    _place: tuple[str, int | None] | None = None
    _context: dict[str, float] = field(default_factory=dict)
    _before: Step | None = None
    _reports: int = 0
    _left: int = WARM_MARKS
    _begun: float | None = None
    _stages: int = 0
    _new: int = 0
    """Usual marks that are wanted before the new stage is known."""
    _stretch_s: float = 0.0
    """The longest stretch of slow marks that is over."""
    _spent: tuple[float, dict[int, float]] | None = None
    _cores: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT))
    _each: dict[int, float] = field(default_factory=dict)
    """Usual CPU cores of each process."""
    _usual_look: tuple[float, dict[int, float]] | None = None
    """The look at the processes that was the newest at the newest usual mark."""

    @property
    def quiet(self) -> bool:
        """True while the newest marks are usual."""
        return len(self.slow) < SLOW_MARKS

    @property
    def times(self) -> float:
        """Factor by which the slow marks take longer than usual; 1 without any."""
        now = median(mark.seconds for mark in self.slow) if self.slow else 0.0
        return now / self.usual_s if now and self.usual_s else 1.0

    def lasting(self, now: float) -> bool:
        """True when the stretch is slow enough, longer than this run's pauses, and still goes on."""
        if len(self.slow) < SLOW_MARKS or self._begun is None or self.times < self._factor:
            return False
        first, last = self.slow[0], self.slow[-1]
        needed = min(LONGEST_S, max(SHORTEST_S, AGE_PART * (first.at - self._begun)))
        needed = max(needed, USUAL_STRETCH * self._stretch_s)
        lasted = last.at - (first.at - min(first.seconds, MARK_S))
        return lasted >= needed and now - last.at <= 3 * max(MARK_S, last.at - self.slow[-2].at)

    @property
    def unit(self) -> str:
        """What the marks are per, as a word."""
        return self._unit.split("_")[0].rstrip("s") or "report"

    def recovered_at(self, since: float) -> Mark | None:
        """The newest of three usual marks in a row after ``since``; ``None`` before."""
        newest = list(self._usual)[-3:]
        back = not self.slow and len(newest) == 3 and newest[0].at > since
        return newest[-1] if back else None

    def cores(self) -> tuple[float, float] | None:
        """(CPU cores used in the slow stretch, usually before); ``None`` while not known."""
        if not self.slow:
            return None
        # The first slow mark is as long as it is slow: nothing was computed in it either.
        since = self._usual[-1].at if self._usual else self.slow[0].at
        now = [cores for at, cores in self._cores if at > since]
        before = [cores for at, cores in self._cores if at <= since]
        return (median(now), median(before)) if len(now) > 2 and len(before) > 2 else None

    def trainers(self) -> tuple[float, float] | None:
        """:meth:`cores` of the processes that usually compute the most; ``None`` if they are gone.

        A trainer that waits for data computes less, also when the readers of it compute more.
        """
        if self._usual_look is None or self._spent is None or not self._each:
            return None
        most = max(self._each.values())
        (began, before), (at, now) = self._usual_look, self._spent
        lead = [pid for pid, cores in self._each.items() if cores >= LEADS * most]
        if at - began < SHORTEST_S / 2 or not all(pid in before and pid in now for pid in lead):
            return None
        used = sum(now[pid] - before[pid] for pid in lead) / (at - began)
        return used, sum(self._each[pid] for pid in lead)

    # -- what is seen -----------------------------------------------------------------------

    def add(self, seen: Observation) -> None:
        """Take in a report, an announced phase, or a sample of the processes."""
        if isinstance(seen, Step):
            self._step(seen)
        elif isinstance(seen, ProcessesSeen):
            self._look(seen)
        elif isinstance(seen, Phase) and self._place and seen.file == self._place[0]:
            self._before = None  # what was announced may take any time
            self._stages += seen.name == "stage"
            if seen.name == "start":
                self._forget()
            elif seen.name == "stage" and self._stages <= STAGES:
                self._over()
                self._new = ENOUGH  # a new stage may be other work

    def mark_gap(self) -> None:
        """What passed since the last report is not known."""
        self._before = self._spent = None
        self.slow.clear()

    def _step(self, seen: Step) -> None:
        before = self._before
        if self._place != (seen.file, seen.rank):
            if self._place is not None and before and seen.at - before.at < SILENT_S:
                return
            self._place = seen.file, seen.rank
            self._forget()
            before = None
        unit = next((name for name in RATES if seen.values.get(name, 0.0) > 0.0), "")
        unit = unit or ("" if seen.number is None else "step")
        other = any(self._context.get(n, v) != v for n, v in _context(seen))
        self._context.update(_context(seen))
        if unit != self._unit or other:
            self._unit = unit
            self._forget()
            before = None
        if before is None or "eval_loss" in seen.values:
            self._before, self._reports = (None if "eval_loss" in seen.values else seen), 0
            return
        self._reports += 1
        if seen.at - before.at < MARK_S:
            return
        each = self._seconds(before, seen)
        self._before, self._reports = seen, 0
        if each:
            self._take(Mark(seen.at, each), seen)

    def _seconds(self, before: Step, seen: Step) -> float:
        """Seconds per unit of work; 0 when it cannot be said."""
        if self._unit in RATES:
            return 1.0 / seen.values[self._unit]
        passed = seen.at - before.at
        if self._unit != "step":
            return passed / self._reports
        steps = (seen.number or 0.0) - (before.number or 0.0)
        return passed / steps if steps > 0 else 0.0

    def _take(self, mark: Mark, seen: Step) -> None:
        if self._left:
            self._left -= 1
            self._begun = mark.at
            return
        usual = self._usual
        times = self._needed()
        if times and mark.seconds >= RAISED * self._upper(mark):
            if not self.slow:
                self.usual_s, self.step = median(m.seconds for m in usual), seen.number
                self._factor = times
            if len(self.slow) >= 64:
                del self.slow[1]
            self.slow.append(mark)
            if len(self.slow) == ABSORBED and self.times < times:
                usual.extend(self.slow)
                self._over()
            return
        if self.slow:
            if self.times >= self._factor:
                self._stretch_s = max(self._stretch_s, mark.at - self.slow[0].at)
            self._over()
        self._learn()
        usual.append(mark)
        self._new = max(0, self._new - 1)

    def _upper(self, mark: Mark) -> float:
        """The upper quantile of the usual marks; for a mark that is not raised by an older value of it,
        that one does: most marks are no reason to sort all."""
        self._since_sorted += 1
        if mark.seconds >= RAISED * self._sorted or self._since_sorted >= SORTED_EVERY:
            self._sorted, self._since_sorted = quantile((m.seconds for m in self._usual), UPPER), 0
        return self._sorted

    def _over(self) -> None:
        """What the processes used in the stretch is not usual."""
        self.slow.clear()
        self._usual_look = self._spent

    def _learn(self) -> None:
        """Take in what each process has used since the usual mark before."""
        if self._usual_look and self._spent and self._spent[0] > self._usual_look[0]:
            each, used = self._each, _used(self._usual_look, self._spent)
            self._each = {
                p: each.get(p, c) + SMOOTHED * (c - each.get(p, c)) for p, c in used.items()
            }
        self._usual_look = self._spent

    def _needed(self) -> float:
        """How many times slower a slow mark is, by how well the usual ones are known; 0: not yet."""
        usual = self._usual
        covered = usual[-1].at - usual[0].at if usual else 0.0
        if self._new:
            return STAGE_TIMES if len(usual) >= ENOUGH and covered >= ENOUGH_S else 0.0
        if len(usual) >= ENOUGH and covered >= ENOUGH_S:
            return TIMES
        return SOON_TIMES if len(usual) >= SOON and covered >= SOON_S else 0.0

    def _forget(self) -> None:
        self.slow.clear()
        self._usual.clear()
        self._left, self._begun, self._stretch_s = WARM_MARKS, None, 0.0
        self._sorted = 0.0
        self._before, self._reports = None, 0
        self._each, self._usual_look = {}, None

    def _look(self, seen: ProcessesSeen) -> None:
        """CPU time that the processes have used since the look before."""
        if self._spent is not None and seen.at - self._spent[0] < CPU_EVERY_S:
            return
        now = {p.pid: p.cpu_s for p in seen.processes}
        if self._spent is not None:
            used = _used(self._spent, (seen.at, now))
            self._cores.append((seen.at, sum(used.values())))
        self._spent = seen.at, now


def _used(
    before: tuple[float, dict[int, float]], after: tuple[float, dict[int, float]]
) -> dict[int, float]:
    """CPU cores that each process used between two looks."""
    passed, cpu = after[0] - before[0], before[1]
    return {pid: max(0.0, s - cpu[pid]) / passed for pid, s in after[1].items() if pid in cpu}


def _context(seen: Step) -> Iterable[tuple[str, float]]:
    """The values in a report that determine the work of a step."""
    names = CONTEXT & seen.values.keys()
    return [(name, seen.values[name]) for name in names]
