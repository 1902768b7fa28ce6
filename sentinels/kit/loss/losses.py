"""The training loss over a whole run: jumps, slow rises, resets, zeros, reports without a loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from ..accumulator import Accumulator, LoggedValue
from ..codec import Keyed
from ..numbers import median
from ..observations import LogEvent, Observation, Phase, Step
from .climbing import climbed
from .exploding import explodes, goes_on, is_confirmed
from .finite import FORGOTTEN, is_component
from .gradients import Gradient, Gradients
from .jumps import KEPT, Jumps
from .manners import manner
from .missing_loss import Missing, ReportForms
from .reopened import follow_open
from .series import EVERY, LEAK, Jump, Leak, Loaded, LossSeries, Reset
from .spikes import OF_LAST
from .trajectory import BEGINNING
from .witnesses import YOUNG, Witnesses
from .zeros import AGREED, Zeros, all_right

SERIES = 8
"""Series (files, or components of a loss) that are followed at most."""
NOTHING = 1e-3
"""A loss below this part of the lowest of the newest losses is next to nothing: learning makes no loss fall
a thousandfold from one report to the next."""
LEAK_REPORTS = 50
"""If a loss falls to next to nothing within the first so many reports, a label leak is likely."""
LEARNT = 0.05
"""Part of its first level by which a loss must have come down before a sudden fall, for that to be
reported as a leak: a task that is solved at once stays at its first level until then."""
ASIDE = 3
"""Reports without a step in a row, after reports with one, from which the loss is told without steps now."""
LEARNT_BY = 12
"""Losses needed before a load that loses what was learnt can be told."""


@dataclass(slots=True)
class _Rank:
    """The rank whose loss is followed in a file."""

    file: str
    rank: int | None
    others: int = 0
    """Number of reports by other ranks since its last one."""
    SAVED: ClassVar[Any] = ("file", "rank")


@dataclass(eq=False)
class Losses(Accumulator):
    """Gives every loss to its detectors, and follows what happens after their alarms."""

    takes: ClassVar[tuple[type, ...]] = (Step, LogEvent, Phase)
    SAVED: ClassVar[Any] = {
        "series": "_series",
        "ranks": "_ranks",
        "jumps": "_jumps",
        "leaks": "leaks",
    }
    zeros: list[Zeros] = field(default_factory=list)
    leaks: list[Leak] = field(default_factory=list)
    _jumps: Jumps = field(default_factory=Jumps)
    _wordings: ReportForms = field(default_factory=ReportForms)
    _gradients: Gradients = field(default_factory=Gradients)
    _series: Annotated[dict[tuple[str, str], LossSeries], Keyed("file", "metric")] = field(
        default_factory=dict
    )
    _ranks: Annotated[dict[str, _Rank], Keyed("file")] = field(default_factory=dict)
    _witnesses: dict[str, Witnesses] = field(default_factory=dict)

    @property
    def quiet(self) -> bool:
        """True while no loss or gradient norm has been unusual."""
        return not (
            self._jumps.all
            or self.zeros
            or self._wordings.missing
            or self._gradients.large
            or self._jumps.resets
            or self.leaks
        )

    @property
    def count(self) -> int:
        """Losses reported so far, of all files."""
        return self._jumps.count

    @property
    def jumps(self) -> list[Jump]:
        """Jumps and slow rises, oldest first."""
        return self._jumps.all

    @property
    def resets(self) -> list[Reset]:
        """Resets (a loss that started over), oldest first."""
        return self._jumps.resets

    @property
    def missing(self) -> list[Missing]:
        """Streaks of reports without the loss that they used to have."""
        return self._wordings.missing

    @property
    def gradients(self) -> list[Gradient]:
        """Extremely large gradient norms."""
        return self._gradients.large

    @property
    def gradient_reports(self) -> int:
        """Number of gradient norms since the newest extreme one."""
        return self._gradients.reports

    def add(self, seen: Observation) -> None:
        """Take in the losses of one report; of several ranks in one file only one is followed."""
        if not isinstance(seen, Step):
            if isinstance(seen, LogEvent) and seen.trouble == "loss_missing":
                self._wordings.said(seen)
            elif isinstance(seen, Phase):
                if seen.name in ("load", "start"):
                    self._loads(seen.file)
                series = self._series.get((seen.file, "train_loss"))
                if series is not None and seen.name in ("start", "stage"):
                    series.staged = series.count
            return
        file, values = seen.file, seen.values
        value = values.get("train_loss")
        if value is None:
            self._without(seen, values)
            return
        if not self._followed(file, seen.rank):
            return
        series = self._series.get((file, "train_loss"))
        if series is None:
            if len(self._series) >= SERIES:
                return
            self._drop_components(file)
            series = LossSeries(file, "train_loss", manner(values))
            self._series[file, "train_loss"] = series
        if self._follow(seen, series, value):
            self._wordings.whole(seen, values)
            norm = values.get("grad_norm")
            if norm is not None and norm - norm == 0.0:
                self._gradients.add(seen, norm)
            if series.count <= YOUNG:
                self._ask(seen, series, value)
        told = values.get("eval_loss")
        if told is not None and told - told == 0.0:
            self._jumps.evaluated(series, told)

    def _loads(self, file: str) -> None:
        """Remember the level of a loss, to compare it with that after what was loaded."""
        series = self._series.get((file, "train_loss"))
        if series is None or series.jump is not None or series.count < LEARNT_BY:
            return
        newest = [mark.value for mark in series.newest if mark.value - mark.value == 0.0]
        if len(newest) == OF_LAST:
            young = max(newest) - min(newest)  # the level of a young series lags behind its fall
            spread = series.guard.spread if series.guard.known else young
            series.loaded = Loaded(median(newest), spread, step=series.newest[-1].step)

    def _without(self, seen: Step, values: Mapping[str, float]) -> None:
        """Take in a report without ``train_loss``: it has no loss, or several components."""
        file = seen.file
        norm = values.get("grad_norm")
        if norm is not None and norm - norm == 0.0 and self._followed(file, seen.rank):
            self._gradients.add(seen, norm)  # a record may have several lines
        series = self._series.get((file, "train_loss"))
        if norm is not None and (series is None or series.count <= YOUNG):
            self._ask(seen, series, None)
        if series is None:
            self._wordings.early(seen)
            self._components(seen)
            return
        told = values.get("eval_loss")
        if told is not None:
            if told - told == 0.0:
                self._jumps.evaluated(series, told)
        elif values and self._wordings.knows(file) and self._ranks[file].rank == seen.rank:
            self._wordings.without(seen)

    def _ask(self, seen: Step, series: LossSeries | None, loss: float | None) -> None:
        """Take in one of the first reports, whose loss and gradient norm may prove something together."""
        asked = self._witnesses.setdefault(seen.file, Witnesses())
        said = asked.take(seen, loss, seen.values.get("grad_norm"))
        if said is None or series is None or series.rough:
            return
        if said.what == "fell":
            series.zeros = series.zeros or series.zeros_from(said.loss)
            series.zeros.agreed = True
            series.nothing = max(series.nothing, NOTHING * said.before)
            return
        norms = (said.norm.value, said.usual)
        self._jumps.open_jump(
            seen.file, series, said.loss, said.before, said.before, gross=True, norms=norms
        )
        self._gradients.keep(seen.file, said.norm, said.usual)

    def _followed(self, file: str, rank: int | None) -> bool:
        """True for the rank whose loss is followed: the first, until it stops reporting."""
        known = self._ranks.get(file)
        if known is None:
            self._ranks[file] = _Rank(file, rank)
            return True
        if known.rank != rank and known.others < FORGOTTEN:
            known.others += 1
            return False
        known.rank, known.others = rank, 0
        return True

    # -- one series -----------------------------------------------------------------------

    def _follow(self, seen: Step, series: LossSeries, value: float) -> bool:
        """Take in one value; False if it is skipped, such as a second report of a step."""
        number = seen.number
        finite = value - value == 0.0
        if number is None and series.step is not None and finite:
            # A summary beside the reports with steps: perhaps a sum, not a mean.
            series.aside += 1
            if seen.epoch is not None or series.aside <= ASIDE:
                return False
        elif number is not None:
            series.aside = 0
        whose = series.whose(seen) if finite else "ours"
        if whose == "anew":
            series.begins_anew()
        elif whose == "other":
            return False
        elif number is not None and series.step is not None:
            if number == series.step and (
                seen.epoch is None or series.epoch is None or seen.epoch == series.epoch
            ):
                return False
            if number < series.step and not series.rewound(seen, number, value):
                return False
        of_epoch = seen.epoch is not None and series.epoch == seen.epoch - 1
        series.step, series.epoch, series.total = number, seen.epoch, seen.total
        series.behind.clear()
        if finite and series.means.leaves_out(seen.epoch, value) and not series.beyond(value):
            return True
        self._jumps.count += 1
        mark = LoggedValue.of(seen, value)
        series.newest.append(mark)
        rate = seen.values.get("lr")
        if rate is not None:
            series.rates.add(rate)
        if not finite:
            self._jumps.to_nowhere(series)
            return True
        nothing = -series.nothing <= value <= series.nothing
        if nothing or series.zeros is not None:
            self._zero(series, mark, nothing=nothing)
            if nothing and series.zeros is not None and all_right(seen):
                series.zeros.all_right = True
        if not nothing:  # else a mask or a bug: do not learn that level
            self._judge(seen.file, series, mark)
            if of_epoch and not series.rough:
                self._jumps.lost_all(seen.file, series, series.undone.push_epoch(value))
        return True

    def _judge(self, file: str, series: LossSeries, mark: LoggedValue) -> None:
        """Give one finite value to the detectors of its series, and act on their alarms."""
        value = mark.value
        alarm = series.guard.push(value, mark.step)
        size, beyond = abs(value), series.beyond(value)
        if series.exploded or explodes(size, series.largest, series.count):
            self._explode(file, series, mark)
        else:
            series.count += 1
            if size > series.largest:
                series.largest = size
            if not series.rough:
                series.nothing = NOTHING * max(series.guard.low, 0.0)
                self._learn(file, series, mark)
        if alarm is not None and series.listens_to(alarm, beyond=beyond):
            marks = series.newest
            self._jumps.open_jump(
                file,
                series,
                marks[max(-len(marks), -1 - alarm.since)],
                alarm.level,
                alarm.spread,
                gross=alarm.kind in ("gross", "lone"),
                record=alarm.kind == "record",
                norms=self._gradients.beside(file),
            )
        if series.jump or series.slow or series.reset:
            self._jumps.watch(series, mark)

    def _learn(self, file: str, series: LossSeries, mark: LoggedValue) -> None:
        """Look for a slow rise, a reset after a restart and a leak, and extend the trajectory. Not
        for adversarial or reinforcement learning."""
        guard = series.guard
        if guard.relearns:
            series.drift.restart()
            series.undone.restart()
            series.climb.restart()
        self._jumps.lost_all(file, series, series.undone.push(mark.value))
        rise = series.drift.push(mark.value)
        if rise is not None:
            self._jumps.rise(file, series, rise)
        climb = series.climb.push(mark)
        if climb is not None:
            climbed(self._jumps, file, series, climb)
        beyond = series.rates.beyond
        driven = series.driven.push(mark.value, beyond)
        if driven is not None:
            self._jumps.driven(file, series, driven)
        elif not beyond:
            self._jumps.driven_no_more(series, mark)
        if series.drift.calm:
            series.rising = None
        elif series.rising is None:
            series.rising = mark
        if series.resumed is not None:
            self._jumps.resume(file, series, mark)
        if series.loaded is not None:
            self._jumps.loaded(file, series, mark)
        path = series.path
        if series.count <= LEAK_REPORTS:
            if series.count <= BEGINNING:
                path.beginning.append(mark.value)
            elif not series.leaked and guard.fell_below(LEAK):
                self._leak(file, series, mark, guard.start or 0.0, sudden=False)
        if series.count % EVERY == 0 and guard.known and not series.leaked:
            usual = series.collapsed()
            if usual is not None:
                start = guard.start or usual
                self._leak(file, series, mark, usual, sudden=usual < (1.0 - LEARNT) * start)
        if path.due() and mark.step is not None and guard.known and series.jump is None:
            path.add(mark.step, guard.level or 0.0, guard.spread)

    def _leak(
        self, file: str, series: LossSeries, mark: LoggedValue, began: float, *, sudden: bool
    ) -> None:
        series.leaked = True
        if len(self.leaks) < KEPT:
            self.leaks.append(Leak(series.metric, file, mark, began, self.count, sudden))

    def _explode(self, file: str, series: LossSeries, mark: LoggedValue) -> None:
        """Count values that are orders of magnitude above all before; enough of them are a
        lasting jump."""
        seen = series.exploded
        if not goes_on(mark, series.largest):
            seen.clear()
            return
        seen.append(mark)
        if not is_confirmed(seen):
            return
        base = min(series.guard.level or series.largest, series.largest)
        self._jumps.open_jump(file, series, seen[0], base, series.largest, gross=True)
        if series.jump is not None and series.jump.state == "open":
            series.jump.state = "lasting"
        series.exploded = []
        series.largest = abs(mark.value)

    def _zero(self, series: LossSeries, mark: LoggedValue, *, nothing: bool) -> None:
        zeros = series.zeros
        if zeros is None:
            if nothing:
                series.zeros = series.zeros_from(mark)
        elif not nothing:
            zeros.over, series.zeros = True, None
        else:
            zeros.count += 1
            if zeros.count == (AGREED if zeros.agreed else OF_LAST):
                zeros.decided = mark
                if len(self.zeros) < KEPT:
                    self.zeros.append(zeros)

    # -- reports without one loss -----------------------------------------------------------

    def _components(self, seen: Step) -> None:
        """Follow the several losses of a program without a total loss, like those of adversarial
        training, whose jumps mean less."""
        for name, value in seen.values.items():
            if name == "eval_loss" or not is_component(name):
                continue
            series = self._series.get((seen.file, name))
            if series is None:
                if len(self._series) >= SERIES:
                    return
                series = LossSeries(seen.file, name, manner(seen.values) or "adversary")
                self._series[seen.file, name] = series
            if value and self._followed(seen.file, seen.rank):
                self._follow(seen, series, value)

    def _drop_components(self, file: str) -> None:
        for key in [k for k in self._series if k[0] == file]:
            del self._series[key]

    # -- keeping ----------------------------------------------------------------------------

    def restored(self) -> None:
        """Go on with the open jumps and resets."""
        follow_open(self._jumps, self._series)
