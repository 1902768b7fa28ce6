"""What becomes of a loss that left its noise: it comes back, it lasts, it begins again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..accumulator import LoggedValue
from ..numbers import median
from .series import Jump, LossSeries, Reset
from .slow_rise import Rise
from .spikes import OF_LAST, OUT
from .trajectory import BEGINNING

FROM, TO = 10, 30
"""Reports after a jump between which the median decides whether it lasts: measured on real
curves, a spike that heals has healed by then."""
LITTLE = 0.1
"""Part of the level that progress must be, for a jump to be measured by it."""
STILL_UP = 2.0
"""Spreads above the old level that count as still up."""
BACK = 3
"""Reports in a row near the old level that count as come back."""
KEPT = 16
"""Jumps of a run that are kept apart; later ones count with the last."""
SOON = 12
"""Reports within which a slow rise and a jump are one and the same."""
OFTEN = 2
"""Jumps like it that came back, after which another one is usual for this run."""
HIGHER = 1.5
LONGER = 2.0
"""Times as high, and as long, as those it may be."""
RESET = 0.6
"""Part of the progress that a jump must undo to be looked at as a new beginning. After a restart
``STILL_UP`` spreads are enough then: the median of eight reports is far calmer than one."""
GROWN = 0.15
"""Part of the progress that a slow rise must undo to be agreed to by a later look."""


@dataclass(eq=False)
class Jumps:
    """All jumps and resets of a run, whatever their series."""

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
        norms: tuple[float, float] | None = None,
    ) -> None:
        """A value is out of the noise: a new jump, or more of the one that is followed."""
        jump = series.jump
        if jump is not None and jump.state != "back":
            jump.gross = jump.gross or gross
            return
        top = max(m.value for m in series.newest)
        lost = (top - base) / _progress(series, base)
        slow = series.slow
        if slow is not None and slow.reports <= SOON:
            series.jump, series.slow = slow, None
            slow.slow, slow.gross, slow.lost, slow.top = False, gross, lost, top
            slow.base, slow.spread, slow.norms, slow.reports = base, spread, norms, 0
            slow.planned = series.rates.started_over()
            slow.after.clear()
        else:
            series.jump = self._new(file, series, onset, base, spread)
            series.jump.gross, series.jump.lost, series.jump.top = gross, lost, top
            series.jump.norms = norms
        marks = list(series.newest)
        series.anew = [m.value for m in marks[marks.index(onset) :]] if onset in marks else []

    def _new(
        self, file: str, series: LossSeries, onset: LoggedValue, base: float, spread: float
    ) -> Jump:
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
            rated=series.rates.has_rate,
        )
        self.all.append(jump)
        if len(self.all) > KEPT:
            del self.all[KEPT - 1]
        return jump

    def rise(self, file: str, series: LossSeries, rise: Rise) -> None:
        """A slow rise was seen: a note, unless something else explains it."""
        series.drift.settle()
        if series.jump or series.slow or series.reset or series.resumed is not None:
            return
        if series.rates.rose or series.rates.started_over():
            return
        now = series.newest[-1]
        slow = series.slow = self._new(file, series, series.rising or now, rise.base, rise.noise)
        slow.slow, slow.top = True, now.value
        slow.planned = series.rates.started_over(rise.since)
        slow.lost = (now.value - rise.base) / _progress(series, rise.base)
        series.eval_limit = max(series.evals) if len(series.evals) == OF_LAST else None

    def to_nowhere(self, series: LossSeries) -> None:
        """What has just begun to jump is no number any more: that is one trouble, not two."""
        jump = series.jump
        if jump is not None and jump.reports <= OF_LAST and jump in self.all:
            self.all.remove(jump)
            series.jump = None

    # -- what becomes of them -------------------------------------------------------------------

    def watch(self, series: LossSeries, mark: LoggedValue) -> None:
        """Follow what is open by one more value."""
        if series.jump is not None and mark is not series.jump.decided:
            self._watch(series, series.jump, mark)
        if series.slow is not None and mark is not series.slow.decided:
            self._watch_slow(series, series.slow, mark.value)
        if series.reset is not None and mark is not series.reset.decided:
            _watch_reset(series, series.reset, mark)

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
        if jump.back is not None:
            series.jump = None
            return
        if jump.reports >= FROM:
            jump.after.append(mark.value)
            if len(jump.after) > TO - FROM:
                self._look(series, jump, limit)

    def _look(self, series: LossSeries, jump: Jump, limit: float) -> None:
        """Does it last, how much is gone, and did others like it come back?"""
        level = median(jump.after)
        jump.after.clear()
        if jump.reports == TO and level > limit:
            jump.state = "lasting"
        jump.undone = (level - jump.base) / _progress(series, jump.base)
        jump.usual = self._usual(jump)

    def _usual(self, jump: Jump) -> bool:
        alike = [one.reports for one in self.all if _alike(one, jump)]
        return len(alike) >= OFTEN and jump.reports <= LONGER * max(alike)

    def _count(self, jump: Jump, mark: LoggedValue, up: float) -> float:
        """Count a report of a jump; the value up to which it is back."""
        jump.reports += 1
        limit = jump.base + up * jump.spread
        jump.near = jump.near + 1 if mark.value <= limit else 0
        if jump.near >= BACK:
            jump.state, jump.back, jump.over_at = "back", mark, self.count
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
        jump.lost = (level - jump.base) / _progress(series, jump.base)
        jump.undone = max(jump.undone, jump.lost)
        jump.usual = self._usual(jump)
        if level > limit and jump.lost >= GROWN and series.guard.progress > OUT * jump.spread:
            jump.state, jump.agreed = "lasting", True

    def evaluated(self, series: LossSeries, value: float) -> None:
        """An evaluation loss: it may agree with a slow rise."""
        slow = series.slow
        if slow is not None and series.eval_limit is not None and value > series.eval_limit:
            slow.agreed = True
        series.evals.append(value)

    # -- new beginnings ---------------------------------------------------------------------------

    def _begins_again(self, series: LossSeries, jump: Jump, mark: LoggedValue) -> None:
        """The loss takes the same course as at the beginning of the run."""
        if series.rough or series.reset is not None or not series.path.begins_again(series.anew):
            return
        jump.reset = True
        level = median(series.anew)
        limit = jump.base + STILL_UP * jump.spread
        self._reset(series, jump.file, jump.onset, mark, (jump.base, level, limit), None)

    def resume(self, file: str, series: LossSeries, mark: LoggedValue) -> None:
        """One of the first reports after a restart: is the loss where it was at that step?"""
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
        gone = high >= RESET * _progress(series, base)
        if high > (STILL_UP if gone else OUT) * spread:
            limit = base + STILL_UP * spread
            self._reset(series, file, marks[0], mark, (base, level, limit), marks[0].step)

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
        lost = (level - base) / _progress(series, base)
        reset = Reset(series.metric, file, onset, decided, base, level, lost, resumed_at, limit)
        series.reset = reset
        if len(self.resets) < KEPT:
            self.resets.append(reset)

    # -- keeping ------------------------------------------------------------------------------------

    def follow_open(self, series: Mapping[tuple[str, str], LossSeries]) -> None:
        """After a restart: go on following those that are open."""
        for jump in self.all:
            owner = series.get((jump.file, jump.metric))
            if owner is not None and jump.state != "back":
                if jump.slow:
                    owner.slow = jump
                else:
                    owner.jump = jump
        for reset in self.resets:
            owner = series.get((reset.file, reset.metric))
            if owner is not None and reset.back is None:
                owner.reset = reset


def _alike(before: Jump, jump: Jump) -> bool:
    """One that came back, of the same loss, and no smaller."""
    same = before.file == jump.file and before.metric == jump.metric
    height = max(before.lost, before.undone)
    return same and before.back is not None and HIGHER * height >= jump.lost


def _watch_reset(series: LossSeries, reset: Reset, mark: LoggedValue) -> None:
    reset.reports += 1
    reset.near = reset.near + 1 if mark.value <= reset.limit else 0
    if reset.near >= BACK:
        reset.back, series.reset = mark, None


def _progress(series: LossSeries, base: float) -> float:
    """How far the run had come; in an excerpt, that does not hold it, the level itself."""
    start = series.guard.start
    progress = 0.0 if start is None else start - base
    if progress < LITTLE * abs(base):
        progress = abs(base)
    return progress if progress > 0.0 else 1.0
