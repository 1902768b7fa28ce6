"""Follows a loss that rose above its noise: it comes back, stays up, or starts over (a reset).

"Progress" is how far the loss had come down since the beginning of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..accumulator import LoggedValue
from ..numbers import median
from .driven import Driven
from .likeness import FROM, HIGHER, LONGER, STILL_UP, TO, alike, further, higher, progress_of
from .series import BACK, Jump, LossSeries, Reset
from .slow_rise import Rise
from .spikes import OF_LAST, OUT
from .trajectory import BEGINNING
from .undone import FOR, WINDOW

HIGH = 0.1
"""A report that is up by this part of the height of a jump is still as high, whatever its size (our
choice): after an explosion the loss stays within a power of ten, after an outlier it is back at once,
though often a little above the old level for some reports."""
KEPT = 16
"""Jumps kept of a run; a further one replaces the last."""
SOON = 12
"""Reports after a slow rise within which a jump is the same trouble."""
OFTEN = 2
"""When this many similar jumps came back before, a further one is usual for this run."""
RESET = 0.6
"""Part of the progress that a jump must undo to be examined as a reset. After a restart that undoes
so much, ``STILL_UP`` spreads are enough: a median of eight reports has less noise than one."""
NOTED = 0.1
"""Part of the progress that the level must have lost for a slow rise to be noted (our choice)."""
GROWN = 0.15
"""Part of the progress that a slow rise must have undone, by the median of later reports, to be
confirmed."""


@dataclass(eq=False)
class Jumps:
    """All jumps and resets of a run, of all its series."""

    count: int = 0
    """Losses reported so far, of all files."""
    all: list[Jump] = field(default_factory=list)
    resets: list[Reset] = field(default_factory=list)
    SAVED: ClassVar[Any] = {"count": "count", "all": "all", "resets": "resets"}

    # -- how they begin -----------------------------------------------------------------------

    def open_jump(
        self,
        file: str,
        series: LossSeries,
        onset: LoggedValue,
        base: float,
        spread: float,
        *,
        gross: bool,
        record: bool = False,
        norms: tuple[float, float] | None = None,
    ) -> None:
        """A value is above the noise: begin a new jump, unless one is being followed.

        ``base`` and ``spread``: level and noise before it. ``record``: a single value far above all.
        ``norms``: (newest, usual) gradient norm. A slow rise that began at most :data:`SOON` reports ago becomes this jump.
        """
        jump = series.jump
        top = max(m.value for m in series.newest)
        if jump is not None and jump.state != "back":
            if gross and jump.rough and not jump.gross:
                self._drop(jump)
            elif not further(jump, base, top):
                jump.gross = jump.gross or gross
                if gross and jump.waits:
                    jump.waits, jump.decided = 0, series.newest[-1]
                return
            else:
                series.under = series.under or jump
        lost = (top - base) / progress_of(series, base)
        if not gross and self._goes_on(series, lost):
            return
        slow = series.slow
        if slow is not None and slow.reports <= SOON:
            series.jump, series.slow = slow, None
            slow.slow, slow.gross, slow.lost, slow.top = False, gross, lost, top
            slow.base, slow.spread, slow.norms, slow.reports = base, spread, norms, 0
            slow.planned = series.rates.started_over()
            slow.after.clear()
            if slow.waits:
                slow.decided = series.newest[-1]
                self._hush(slow)
        else:
            series.jump = self.begin(file, series, onset, base, spread)
            series.jump.gross, series.jump.lost, series.jump.top = gross, lost, top
            series.jump.norms = norms
            series.jump.record, series.jump.upon = record, series.under is not None
            self._hush(series.jump)
        marks = list(series.newest)
        series.anew = [m.value for m in marks[marks.index(onset) :]] if onset in marks else []

    def _drop(self, jump: Jump) -> None:
        """What follows is judged anew: this jump meant little, by the kind of its loss."""
        self._forget(jump)
        jump.state, jump.over_at = "back", self.count

    def _forget(self, jump: Jump) -> None:
        """Drop a jump that was never told."""
        if jump.waits and jump in self.all:
            self.all.remove(jump)

    def _goes_on(self, series: LossSeries, lost: float) -> bool:
        """True when this belongs to a jump that has only just come back and was not much smaller: that
        one is followed again. An excursion is over when the loss has been well for as long as it was
        not (runs declustering: Leadbetter 1991)."""
        for jump in reversed(self.all):
            if jump.metric != series.metric or jump.file != series.file:
                continue
            height = max(jump.lost, jump.undone)
            soon = jump.back is not None and self.count - jump.over_at <= max(SOON, jump.lasted)
            if jump.slow or jump.reset or not soon or lost > HIGHER * height:
                return False
            jump.state, jump.back = "open", None
            jump.near = jump.high = jump.reports = 0
            jump.after.clear()
            series.jump = jump
            series.anew = []
            return True
        return False

    def begin(
        self, file: str, series: LossSeries, onset: LoggedValue, base: float, spread: float
    ) -> Jump:
        """Keep a new jump, with what is known about the run at this report."""
        jump = Jump(
            series.metric,
            file,
            min(self.all[-1].number + 1, KEPT) if self.all else 1,
            onset,
            series.newest[-1],
            base,
            spread,
            lost=0.0,
            gross=False,
            rough=series.rough,
            planned=series.rates.started_over(),
            swept=series.rates.sweeps or series.begins_stage(),
            rated=series.rates.has_rate,
        )
        self.all.append(jump)
        if len(self.all) > KEPT:
            del self.all[KEPT - 1]
        return jump

    def rise(self, file: str, series: LossSeries, rise: Rise) -> None:
        """A slow rise was found: follow it, unless something else explains it, or it is too small."""
        level = series.undone.level
        lost = 0.0 if level is None else (level - rise.base) / progress_of(series, rise.base)
        if lost < NOTED or rise.since < WINDOW:
            return  # it is asked again with the next report, while the sum stays up
        series.drift.settle()
        if series.jump or series.slow or series.reset or series.resumed is not None:
            return
        if self._goes_on(series, 0.0):
            return
        if series.rates.rose or series.rates.started_over():
            return
        now = series.newest[-1]
        slow = series.slow = self.begin(file, series, series.rising or now, rise.base, rise.noise)
        slow.slow, slow.top = True, now.value
        slow.planned = series.rates.started_over(rise.since)
        slow.lost = (now.value - rise.base) / progress_of(series, rise.base)
        self._hush(slow)
        if lost < RESET:
            slow.waits = max(slow.waits, TO - 1)
        series.eval_limit = max(series.evals) if len(series.evals) == OF_LAST else None

    def lost_all(self, file: str, series: LossSeries, best: float | None) -> None:
        """The loss is where it began, and was at ``best``: no jump or slow rise needs a further look."""
        if best is None:
            return
        jump, height = series.jump, series.newest[-1].value - best
        if jump is not None and jump.state == "open":
            jump.undone = (height + best - jump.base) / progress_of(series, jump.base)
            jump.waits, jump.state = 0, "lasting"
            jump.spread = max(jump.spread, height / (2 * STILL_UP))  # back with half of the way
            return
        if series.slow is None:
            self.rise(file, series, Rise(best, series.guard.spread, FOR))
        slow = series.slow
        if slow is not None:
            slow.base = min(slow.base, best)
            slow.lost = (series.newest[-1].value - slow.base) / progress_of(series, slow.base)
            slow.undone, slow.state, slow.agreed = max(slow.undone, slow.lost), "lasting", True
            # The fall at the beginning is no measure: it is back when it has come half the way.
            slow.spread = min(slow.spread, height / STILL_UP)

    def driven(self, file: str, series: LossSeries, driven: Driven) -> None:
        """The learning rate climbs higher than ever, and the loss does not fall any more."""
        now = series.newest[-1]
        told = self.begin(file, series, now, driven.base, driven.noise)
        told.slow, told.top, told.driven = True, now.value, driven.times
        told.lost = (now.value - driven.base) / progress_of(series, driven.base)
        if driven.far:
            told.state, told.agreed, series.pushed = "lasting", True, told
        else:
            told.state, told.over_at = "back", self.count

    def driven_no_more(self, series: LossSeries, mark: LoggedValue) -> None:
        """The learning rate has stopped climbing: it is over when the loss is low again."""
        pushed = series.pushed
        if pushed is not None:
            pushed.reports += 1
            if series.driven.level <= pushed.base:
                pushed.state, pushed.back, pushed.over_at = "back", mark, self.count
                series.pushed = None

    def to_nowhere(self, series: LossSeries) -> None:
        """The loss is not finite now: drop a jump that has just begun; the two are one trouble."""
        jump = series.jump
        if jump is not None and jump.reports <= OF_LAST and jump in self.all:
            self.all.remove(jump)
            series.jump = None

    # -- what becomes of them -------------------------------------------------------------------

    def watch(self, series: LossSeries, mark: LoggedValue) -> None:
        """Follow the open jump, slow rise and reset of a series with one more value."""
        if series.jump is not None and mark is not series.jump.decided:
            self._watch(series, series.jump, mark)
        if series.slow is not None and mark is not series.slow.decided:
            self._watch_slow(series, series.slow, mark.value)
        reset = series.reset
        if reset is not None and mark is not reset.decided and reset.is_over(mark):
            series.reset = None

    def _watch(self, series: LossSeries, jump: Jump, mark: LoggedValue) -> None:
        if mark.value > jump.top:
            if jump.top > jump.base:
                jump.lost *= (mark.value - jump.base) / (jump.top - jump.base)
            jump.top = mark.value
        if len(series.anew) < BEGINNING:
            series.anew.append(mark.value)
            if len(series.anew) == BEGINNING and jump.lost >= RESET:
                self._begins_again(series, jump, mark)
        limit = self._count(jump, mark, STILL_UP)
        high = mark.value >= jump.base + HIGH * (jump.top - jump.base)
        jump.high = jump.high + 1 if high or series.guard.is_gross(mark.value) else 0
        if jump.back is not None:
            series.jump, series.under = series.under, None
            return
        if jump.reports >= FROM:
            jump.after.append(mark.value)
            if len(jump.after) > TO - FROM:
                self._look(series, jump, limit)

    def _look(self, series: LossSeries, jump: Jump, limit: float) -> None:
        """Decide whether a jump lasts, how much progress it undid, and whether it is usual."""
        level = median(jump.after)
        jump.after.clear()
        if jump.reports == TO and level > limit:
            jump.state = "lasting"
        jump.undone = (level - jump.base) / progress_of(series, jump.base)
        jump.usual = self._usual(jump)

    def _hush(self, jump: Jump) -> None:
        """A jump is told later if it came upon a lasting one, or if higher ones came back before: when it
        lasts longer than those did."""
        before = [one.lasted for one in self.all if higher(one, jump)]
        longest = int(max(FROM, LONGER * max(before))) if before else 0
        jump.waits = max(longest, FROM if jump.upon or jump.record else 0)

    def _usual(self, jump: Jump) -> bool:
        similar = [one.reports for one in self.all if alike(one, jump)]
        return len(similar) >= OFTEN and jump.reports <= LONGER * max(similar)

    def _count(self, jump: Jump, mark: LoggedValue, up: float) -> float:
        """Count a report of a jump; returns the value up to which the loss counts as back.

        ``up``: spreads above the old level.
        """
        jump.reports += 1
        limit = jump.base + up * jump.spread
        jump.near = jump.near + 1 if mark.value <= limit else 0
        if jump.waits:
            if not jump.slow and not jump.gross:
                self._hush(jump)  # it may have grown
            if jump.reports > jump.waits:
                jump.waits, jump.decided = 0, mark
        if jump.near >= BACK:
            if jump.record and jump.waits:
                jump.waits, jump.decided = 0, mark
            self._forget(jump)
            jump.state, jump.back, jump.over_at = "back", mark, self.count
            jump.lasted += jump.reports
        return limit

    def _watch_slow(self, series: LossSeries, jump: Jump, value: float) -> None:
        limit = self._count(jump, series.newest[-1], STILL_UP / 2)
        if jump.back is not None:
            series.slow = None
            return
        jump.top = max(jump.top, value)
        jump.after.append(value)
        if len(jump.after) < TO:
            return
        level = median(jump.after[FROM:])
        jump.after.clear()
        jump.lost = (level - jump.base) / progress_of(series, jump.base)
        jump.undone = max(jump.undone, jump.lost)
        jump.usual = self._usual(jump)
        if level > limit and jump.lost >= GROWN and series.guard.progress > OUT * jump.spread:
            jump.state, jump.agreed = "lasting", True

    def evaluated(self, series: LossSeries, value: float) -> None:
        """Take in an evaluation loss, which may confirm a slow rise."""
        slow = series.slow
        if slow is not None and series.eval_limit is not None and value > series.eval_limit:
            slow.agreed = True
            if slow.waits:
                slow.waits, slow.decided = 0, series.newest[-1]
        series.evals.append(value)

    # -- new beginnings ---------------------------------------------------------------------------

    def _begins_again(self, series: LossSeries, jump: Jump, mark: LoggedValue) -> None:
        """Make a jump a reset if the loss takes the same course as at the beginning of the run."""
        if series.rough or series.reset is not None or not series.path.begins_again(series.anew):
            return
        jump.reset = True
        if series.begins_stage(len(series.anew)):
            return  # a new stage of a curriculum, or a fold: it learns as at the start, by design
        level = median(series.anew)
        limit = jump.base + STILL_UP * jump.spread
        self._reset(series, jump.file, jump.onset, mark, (jump.base, level, limit), None)

    def resume(self, file: str, series: LossSeries, mark: LoggedValue) -> None:
        """Take in one of the first reports after a restart: with the last of them, compare the loss
        with that at the same step before, and report a reset if it is much higher."""
        marks = series.resumed
        if marks is None:
            return
        if len(marks) < BEGINNING:
            marks.append(mark)
        if len(marks) < BEGINNING:
            return
        series.resumed = None
        if series.expected is None or series.rough:
            return
        base, spread = series.expected
        level = median(m.value for m in marks)
        high = level - base
        gone = high >= RESET * progress_of(series, base)
        if high > (STILL_UP if gone else OUT) * spread:
            limit = base + STILL_UP * spread
            self._reset(series, file, marks[0], mark, (base, level, limit), marks[0].step)

    def loaded(self, file: str, series: LossSeries, mark: LoggedValue) -> None:
        """Take in one of the first reports after something was loaded, and report a reset if most of
        what was learnt is gone, though the steps went on."""
        seen = series.loaded
        if seen is None:
            return
        if mark.step is not None and seen.step is not None and mark.step < seen.step:
            series.loaded = None  # another job, or a restart: that is judged by its steps
            return
        seen.marks.append(mark)
        if len(seen.marks) < BEGINNING and mark.step is not None:
            return
        series.loaded = None
        if series.rough or series.reset is not None or mark.step is None:
            return
        level = median(m.value for m in seen.marks)
        high = level - seen.level
        if high > STILL_UP * seen.spread and high >= RESET * progress_of(series, seen.level):
            onset, limit = seen.marks[0], seen.level + STILL_UP * seen.spread
            self._reset(series, file, onset, mark, (seen.level, level, limit), onset.step)
            if series.jump is not None:
                series.jump.reset = True

    def _reset(
        self,
        series: LossSeries,
        file: str,
        onset: LoggedValue,
        decided: LoggedValue,
        levels: tuple[float, float, float],
        resumed_at: float | None,
    ) -> None:
        base, level, limit = levels
        lost = (level - base) / progress_of(series, base)
        reset = Reset(series.metric, file, onset, decided, base, level, lost, resumed_at, limit)
        series.reset = reset
        if len(self.resets) < KEPT:
            self.resets.append(reset)
