"""How long a run pauses, for what, and at which steps; learned over the whole run.

A pause is *announced* when a log line says what the program does next (evaluate, save, …).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..accumulator import Accumulator
from ..numbers import pause_from
from ..observations import CheckpointSaved, Observation, Phase, Step
from .timetable import PauseSlot, Timetable, timetable

KINDS = (
    "compile",
    "load",
    "evaluate",
    "save",
    "transfer",
    "pause",
    "first",
    "epoch",
    "other",
    "minor",
)
"""Kinds of pauses: five announced phases, the time before the first advance of the step counter
(``first``), the end of an epoch, ``other`` for those that nothing announced, and ``minor`` for
short ones among these."""
ANNOUNCED = frozenset(("compile", "load", "evaluate", "save", "transfer", "pause"))
KNOWN = 8
"""Steps needed before a pause can be distinguished from the usual interval."""
PROMPT_S = 5.0
"""An announcement up to this many seconds after the last step came at the beginning of the pause,
even if steps are quicker."""
MINOR = 0.25
"""An unannounced pause is minor below this part of the longest recurring one."""
FAR = 1e15
"""Larger than any real step, and any real number of seconds."""
PLACES = 8
"""Newest unannounced pauses whose steps are kept."""


def _is_result(name: str) -> bool:
    return name.startswith(("eval_", "val_", "test_"))


@dataclass(eq=False)
class Pauses(Accumulator):
    """The longest and second longest pause of every kind, in seconds."""

    takes: ClassVar[tuple[type, ...]] = (Step, Phase, CheckpointSaved)
    SAVED: ClassVar[Any] = {
        "seen": "seen",
        "longest": "longest",
        "recurring": "recurring",
        "epoch": ("_epoch", "_epoch_at"),
        "epoch_steps": "epoch_steps",
        "usual": ("usual_s", "_steps", "_rate", "_by"),
        "places": "_places",
    }
    """The fields that would take hours to learn again."""
    seen: dict[str, int] = field(default_factory=dict)
    """Kind -> number of pauses seen."""
    longest: dict[str, float] = field(default_factory=dict)
    """Kind -> seconds of the longest pause."""
    recurring: dict[str, float] = field(default_factory=dict)
    """Kind -> seconds of the second longest pause: a pause as long as this came at least twice."""
    epoch_steps: float = 0.0
    """Steps between the last two ends of an epoch; 0 while fewer were seen."""
    usual_s: float = 0.0
    """Mean seconds between two reports, without pauses."""
    timetable: Timetable | None = None
    """At which steps unannounced pauses come; ``None`` if they may come at any step."""
    _places: list[PauseSlot] = field(default_factory=list)
    _epoch_at: float | None = None
    _last: tuple[float, float] | None = None
    _epoch: float | None = None
    _rate: float = 0.0
    """Mean seconds per step, for when the log changes to every 500th step."""
    _by: float = 0.0
    _steps: int = 0
    _row: int = 0
    """Number of consecutive pauses; if they are many, the run got slower."""
    _announced: set[str] = field(default_factory=set)
    _saved: bool = False
    """The log claimed a save since the last step: the pause was one for a save, which nothing need
    have announced."""
    _in_time: bool = False
    """True when the announcement came at the beginning of the pause, not only after it."""
    _evaluated: bool = False
    """A result of an evaluation came since the last step: the pause was one for it."""
    _evaluation: PauseSlot | None = None
    """The newest pause that ended with such a result."""
    _evaluates_every: float = 0.0
    """Steps between the last two of them; before the second, those before the first."""

    @property
    def quiet(self) -> bool:
        """Always True: pauses only set limits, and are never a reason to call a rule."""
        return True

    def add(self, seen: Observation) -> None:
        """Take in a phase, or the pause that a step ends."""
        if isinstance(seen, Phase):
            self._phase(seen)
            return
        if isinstance(seen, CheckpointSaved):
            self._saved = True
            return
        if not isinstance(seen, Step):
            return
        if "train_loss" not in seen.values and any(map(_is_result, seen.values)):
            self._evaluated = True
        if seen.number is None or not 0.0 < seen.at < math.inf:
            return
        if not abs(seen.number) < FAR:
            return
        last, self._last = self._last, (seen.at, seen.number)
        epoch = self._epoch
        if seen.epoch is not None and abs(seen.epoch) < FAR:
            self._epoch = seen.epoch
        if last is None:
            self._forget_phases()
            return
        if seen.number == last[1]:
            self._last = last
            return
        if seen.at <= last[0]:  # read at the same instant: a backlog, or a buffer
            self._forget_phases()
            return
        self._pause(last[1], seen.number, seen.at - last[0], turned=_turned(epoch, self._epoch))

    def mark_gap(self) -> None:
        """The time that was not watched is no pause of the run: ignore it at the next step."""
        self._last = None

    def _phase(self, seen: Phase) -> None:
        if seen.name not in ANNOUNCED or seen.at <= 0.0:
            return
        if not self._announced and self._last is not None:
            self._in_time = seen.at - self._last[0] <= max(PROMPT_S, pause_from(self.usual_s))
        self._announced.add(seen.name)

    def _forget_phases(self) -> None:
        self._announced, self._in_time, self._saved = set(), False, False
        self._evaluated = False

    def _pause(self, before: float, number: float, seconds: float, *, turned: bool) -> None:
        self._steps += 1
        if turned:
            if self._epoch_at is not None and number > self._epoch_at:
                self.epoch_steps = number - self._epoch_at
            self._epoch_at = number
        kinds = self._announced or ({"epoch"} if turned else set())
        if self._saved:
            kinds = kinds | {"save"}
        if self._evaluated and number > before:
            last = 0.0 if self._evaluation is None else self._evaluation.step
            self._evaluates_every = before - last
            self._evaluation = PauseSlot(before, seconds, number - before)
        if self._steps == 1:
            kinds = kinds | {"first"}
        for kind in kinds:
            self._note(kind, seconds)
        known = turned or self._in_time or self._steps <= KNOWN
        self._forget_phases()
        by = number - before if number > before else self._by
        expected = max(self.usual_s, self._rate * by)
        if not known and seconds > pause_from(expected) and self._row < KNOWN:
            self._row += 1
            self._unannounced(PauseSlot(before, seconds, by))
        elif not kinds:
            self._usual(seconds, by)

    def _usual(self, seconds: float, by: float) -> None:
        """Update the running means with an interval that is no pause."""
        share = 1.0 if self._row >= KNOWN else 1.0 / min(self._steps, 50)
        self._row = 0
        self.usual_s += share * (seconds - self.usual_s)
        if by > 0.0:
            self._by = by
            self._rate += share * (seconds / by - self._rate)

    def _unannounced(self, place: PauseSlot) -> None:
        self._note("other", place.seconds)
        short = MINOR * self.recurring["other"]
        self._places.append(place)
        for one in self._places:
            if one.seconds < short:
                self._note("minor", one.seconds)
        self._places = [p for p in self._places if p.seconds >= short][-PLACES:]
        self.timetable = timetable(self._places)

    def expected_pause(self, step: float, by: float) -> float:
        """Seconds that an unannounced pause at ``step`` may take; ``by``: steps between reports."""
        often = self.recurring.get("other", 0.0)
        if self.timetable is None or self.timetable.due(step, by):
            return often
        return max(self.timetable.stray_s, self.recurring.get("minor", 0.0))

    def evaluation_s(self, step: float, by: float) -> float:
        """Seconds of the last evaluation, if the next one is due at ``step`` or about one report
        later; ``by``: steps between two reports."""
        last, every = self._evaluation, self._evaluates_every
        if last is None or every <= 0.0 or step + 1.5 * max(by, 1.0) < last.step + every:
            return 0.0
        return last.seconds

    def _note(self, kind: str, seconds: float) -> None:
        self.seen[kind] = self.seen.get(kind, 0) + 1
        longest = self.longest.get(kind, 0.0)
        if seconds > longest:
            longest, seconds = seconds, longest
        self.longest[kind] = longest
        self.recurring[kind] = max(self.recurring.get(kind, 0.0), seconds)

    def epoch_ends(self, step: float, by: float) -> bool:
        """True when the end of the epoch is due at ``step``, or about one report later.

        ``by``: steps between two reports.
        """
        if self._epoch_at is None or self.epoch_steps <= 0.0:
            return False
        return step + 1.5 * max(by, 1.0) >= self._epoch_at + self.epoch_steps

    def restored(self) -> None:
        """Compute the timetable again. Raises ValueError for impossible numbers."""
        numbers = [self.epoch_steps, self.usual_s, self._rate, self._by]
        numbers += [self._epoch or 0.0, self._epoch_at or 0.0, *itertools.chain(*self._places)]
        if not all(abs(v) < FAR for v in (*numbers, *self.longest.values())):
            raise ValueError("no step, and no number of seconds, is as large")
        self.timetable = timetable(self._places)


def _turned(before: float | None, now: float | None) -> bool:
    """True when an epoch ended between two reports (an epoch may be given as a fraction)."""
    if before is None or now is None or not math.isfinite(before) or not math.isfinite(now):
        return False
    return math.floor(now) > math.floor(before)
