"""The training loss over a whole run: jumps and what became of them, zeros, a loss that is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .finite import FORGOTTEN, is_component
from .guard import LEVEL, OF_LAST, Guard, Window
from .ledger import Ledger, Mark
from .numbers import median
from .observations import Observation, Step
from .series import Gradient, Jump, Missing, Series, Zeros, is_rough

FROM, TO = 10, 30
"""Reports after a jump between which the median decides whether it lasts: measured on real
curves, a spike that heals has healed by then."""
LITTLE = 0.1
"""Part of the level that progress must be, for a jump to be measured by it."""
STILL_UP = 2.0
"""Spreads above the old level that count as still up."""
BACK = 3
"""Reports in a row near the old level that count as come back."""
EXPLODED = 1e3
"""Times everything before, by which a loss explodes even while its noise is not known yet."""
EXPLODED_AT_ONCE = 1e5
"""The same where fewer than three values came before."""
EXPLODED_FOR = 3
"""Further reports that confirm it, none of them under a tenth of that."""
LARGE_GRADIENT = 100.0
"""Times the median of the newest gradient norms, and more than twice the largest so far: seen
once in 119,000 healthy reports. Smaller jumps lead nowhere in half of all cases."""
KEPT = 16
"""Jumps of a run that are kept apart; later ones count with the last."""
SERIES = 8
"""Files, or components of a loss, that are followed."""
NOTHING = 1e-3
"""Part of the lowest of the newest losses below which a loss is next to nothing: one that is
learnt does not fall a thousandfold from one report to the next."""
SAME_LINE = 2
"""Reports in one wording, with a loss, before a report in it without one is strange."""


class Losses(Ledger):
    """Feeds every loss to its :class:`Guard` and follows what becomes of its alarms."""

    takes = (Step,)

    def __init__(self) -> None:
        self.count = 0
        """Losses reported so far, of all files."""
        self.jumps: list[Jump] = []
        self.zeros: list[Zeros] = []
        self.missing: list[Missing] = []
        self.gradients: list[Gradient] = []
        self.reports = 0
        """Gradient norms since the newest of them."""
        self._series: dict[tuple[str, str], Series] = {}
        self._ranks: dict[str, tuple[int | None, int]] = {}
        """By file, the rank that is followed, and how many reports others made since its last."""
        self._forms: dict[str, dict[tuple[str, ...], int]] = {}
        """By file, wordings of reports with a loss (and how often), and 0 for those without."""
        self._gone: dict[str, Missing] = {}
        self._gradients: dict[str, tuple[Window, float]] = {}
        """By file, the newest norms and the largest of all."""

    @property
    def quiet(self) -> bool:
        """True while no loss ever did anything strange."""
        return not (self.jumps or self.zeros or self.missing or self.gradients)

    def add(self, seen: Observation) -> None:
        """Look at the losses of one report; of interleaved ranks one is followed."""
        if not isinstance(seen, Step):
            return
        file, values = seen.file, seen.values
        value = values.get("train_loss")
        if value is None:
            norm = values.get("grad_norm")
            if norm is not None and norm - norm == 0.0 and self._followed(file, seen.rank):
                self._gradient(seen, norm)  # a record of several lines
            if len(values) > 1 and file in self._forms:
                self._without(seen)
            elif (file, "train_loss") not in self._series:
                self._components(seen)
            return
        if not self._followed(file, seen.rank):
            return
        series = self._series.get((file, "train_loss"))
        if series is None:
            if len(self._series) >= SERIES:
                return
            self._drop_components(file)
            series = self._series[file, "train_loss"] = Series("train_loss", rough=is_rough(values))
        if self._follow(seen, series, value):
            self._with(seen, values)
            norm = values.get("grad_norm")
            if norm is not None and norm - norm == 0.0:
                self._gradient(seen, norm)

    def _followed(self, file: str, rank: int | None) -> bool:
        """True for the rank whose loss is followed: the first, until it falls silent."""
        known = self._ranks.get(file)
        if known is not None and known[0] != rank and known[1] < FORGOTTEN:
            self._ranks[file] = (known[0], known[1] + 1)
            return False
        if known is None or known[1] or known[0] != rank:
            self._ranks[file] = (rank, 0)
        return True

    # -- one series -----------------------------------------------------------------------

    def _follow(self, seen: Step, series: Series, value: float) -> bool:
        """Feed one value; False for a second report of the same step."""
        number = seen.number
        finite = value - value == 0.0
        if finite and number is None and series.step is not None and seen.epoch is not None:
            return False  # a summary of the epoch, a sum as often as a mean
        if number is not None and series.step is not None:
            if number == series.step and (
                seen.epoch is None or series.epoch is None or seen.epoch == series.epoch
            ):
                return False
            if number < series.step and not series.rewound(seen, number):
                return False
        series.step, series.epoch, series.total = number, seen.epoch, seen.total
        series.behind = 0
        self.count += 1
        mark = Mark.of(seen, value)
        series.newest.append(mark)
        rate = seen.values.get("lr")
        if rate is not None:
            series.rates.append(rate)
        if value - value != 0.0:
            self._jump_to_nowhere(series)
            return True
        nothing = -series.nothing <= value <= series.nothing
        if nothing or series.zeros is not None:
            self._zero(seen.file, series, mark, nothing=nothing)
        if nothing:
            return True  # a mask or a bug: no level to be learnt
        alarm = series.guard.push(value, number)
        size = abs(value)
        if series.exploded or (
            size > EXPLODED * series.largest > 0.0 and (series.count > 2 or _at_once(series, size))
        ):
            self._explode(seen.file, series, mark)
        else:
            series.count += 1
            if size > series.largest:
                series.largest = size
            if not series.rough:
                series.nothing = NOTHING * series.guard.low
        if alarm is not None and (alarm.kind == "gross" or not series.rough):
            marks = series.newest
            onset = marks[max(-len(marks), -1 - alarm.since)]
            self._jump(seen.file, series, onset, alarm.level, alarm.spread, alarm.kind == "gross")
        if series.jump is not None:
            self._watch(series, mark)
        return True

    def _explode(self, file: str, series: Series, mark: Mark) -> None:
        """Orders of magnitude above everything before, and staying there."""
        seen = series.exploded
        if abs(mark.value) <= EXPLODED / 10 * series.largest:
            seen.clear()
            return
        seen.append(mark)
        if len(seen) <= EXPLODED_FOR:
            return
        base = min(series.guard.level or series.largest, series.largest)
        self._jump(file, series, seen[0], base, series.largest, gross=True)
        if series.jump is not None and series.jump.state == "open":
            series.jump.state = "lasting"
        series.exploded = []
        series.largest = abs(mark.value)

    def _jump(
        self, file: str, series: Series, onset: Mark, base: float, spread: float, gross: bool
    ) -> None:
        jump = series.jump
        if jump is not None and jump.state != "back":
            jump.gross = jump.gross or gross
            return
        decided = series.newest[-1]
        start = series.guard.start
        progress = 0.0 if start is None else start - base
        if progress < LITTLE * abs(base):
            progress = abs(base)  # an excerpt: how far the run had come is not in it
        height = max(m.value for m in series.newest) - base
        series.after, series.near = [], 0
        series.jump = Jump(
            series.metric,
            file,
            min(self.jumps[-1].number + 1, KEPT) if self.jumps else 1,
            onset,
            decided,
            base,
            spread,
            height / progress if progress > 0 else 0.0,
            gross,
            rough=series.rough,
            planned=series.rate_rose(),
            top=max(m.value for m in series.newest),
        )
        self.jumps.append(series.jump)
        if len(self.jumps) > KEPT:
            del self.jumps[KEPT - 1]

    def _jump_to_nowhere(self, series: Series) -> None:
        """What has just begun to jump is no number any more: that is one trouble, not two."""
        jump = series.jump
        if jump is not None and jump.reports <= OF_LAST and jump in self.jumps:
            self.jumps.remove(jump)
            series.jump = None

    def _watch(self, series: Series, mark: Mark) -> None:
        """What becomes of a jump: it comes back, or its new level lasts."""
        jump = series.jump
        if jump is None or mark is jump.decided:
            return
        jump.reports += 1
        if mark.value > jump.top:
            if jump.top > jump.base:
                jump.lost *= (mark.value - jump.base) / (jump.top - jump.base)
            jump.top = mark.value
        limit = jump.base + STILL_UP * jump.spread
        series.near = series.near + 1 if mark.value <= limit else 0
        if series.near >= BACK:
            jump.state, jump.back, jump.over_at = "back", mark, self.count
            series.jump = None
            return
        if FROM <= jump.reports <= TO:
            series.after.append(mark.value)
        if jump.reports == TO and median(series.after) > limit:
            jump.state = "lasting"

    def _zero(self, file: str, series: Series, mark: Mark, *, nothing: bool) -> None:
        zeros = series.zeros
        if not nothing:
            if zeros is not None:
                zeros.over = True
            series.zeros = None
        elif zeros is None:
            level, start = series.guard.level, series.guard.start
            series.zeros = Zeros(
                series.metric, file, mark, mark, 1, level, level if start is None else start
            )
        else:
            zeros.count += 1
            if zeros.count == OF_LAST:
                zeros.decided = mark
                if len(self.zeros) < KEPT:
                    self.zeros.append(zeros)

    def _gradient(self, seen: Step, norm: float) -> None:
        """One gradient out of all proportion; what is a little larger means nothing."""
        usual, largest = self._gradients.get(seen.file) or (Window(LEVEL), 0.0)
        full = len(usual.ordered) == LEVEL
        if full and norm > LARGE_GRADIENT * usual.median > 0.0 and norm > 2 * largest:
            if len(self.gradients) < KEPT:
                self.gradients.append(Gradient(seen.file, Mark.of(seen, norm), usual.median))
            self.reports = 0
        else:
            usual.add(norm)
            self.reports += 1
        self._gradients[seen.file] = (usual, max(largest, norm))

    # -- reports without a loss -------------------------------------------------------------

    def _components(self, seen: Step) -> None:
        """Programs without one loss report several: they are followed, with less trust."""
        for name, value in seen.values.items():
            if name == "eval_loss" or not is_component(name):
                continue
            series = self._series.get((seen.file, name))
            if series is None:
                if len(self._series) >= SERIES:
                    return
                series = self._series[seen.file, name] = Series(name, rough=True)
            if value and self._followed(seen.file, seen.rank):
                self._follow(seen, series, value)

    def _drop_components(self, file: str) -> None:
        for key in [k for k in self._series if k[0] == file]:
            del self._series[key]

    def _with(self, seen: Step, values: Mapping[str, float]) -> None:
        """A report with its loss: remember its wording; what was missing is back."""
        forms = self._forms.get(seen.file)
        names = tuple(values)
        if forms is None:
            forms = self._forms[seen.file] = {}
        count = forms.get(names, 0)
        if count or len(forms) < KEPT:
            forms[names] = count + 1
        gone = self._gone.pop(seen.file, None)
        if gone is not None:
            gone.over = True

    def _without(self, seen: Step) -> None:
        """A report with a step and no loss: strange only if its wording used to have one."""
        if seen.number is None or self._ranks[seen.file][0] != seen.rank:
            return
        names = tuple(seen.values)
        forms = self._forms[seen.file]
        if forms.get(names) == 0:
            return  # such reports were there from the beginning
        if not any(n >= SAME_LINE and _lacks_loss(form, names) for form, n in forms.items()):
            if len(forms) < KEPT:
                forms[names] = 0
            return
        mark = Mark.of(seen, 0.0)
        skipped = any(v > 0 for n, v in seen.values.items() if "skipped" in n.lower())
        gone = self._gone.get(seen.file)
        if gone is None:
            scaled = "loss_scale" in seen.values
            gone = self._gone[seen.file] = Missing(seen.file, mark, mark, 1, skipped, scaled)
            if len(self.missing) < KEPT:
                self.missing.append(gone)
        else:
            gone.count += 1
            gone.last = mark
            gone.skipped = gone.skipped and skipped

    # -- keeping ----------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """The noise levels; a jump that is still open is told again by what follows."""
        return {
            "series": [
                [file, s.metric, s.rough, s.count, s.largest, s.guard.save()]
                for (file, _), s in self._series.items()
            ],
            "ranks": [[file, rank] for file, (rank, _) in self._ranks.items()],
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take the noise levels back."""
        try:
            for file, metric, rough, count, largest, guard in saved.get("series", ()):
                series = Series(str(metric), rough=bool(rough))
                series.count, series.largest = int(count), float(largest)
                series.guard = Guard.restore(guard)
                self._series[str(file), series.metric] = series
            for file, rank in saved.get("ranks", ()):
                self._ranks[str(file)] = (None if rank is None else int(rank), 0)
        except (TypeError, ValueError):
            self._series.clear()


def _at_once(series: Series, size: float) -> bool:
    return size > EXPLODED_AT_ONCE * series.largest


def _lacks_loss(form: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """True when ``names`` is a report of this form without its loss, cut at its end or not.

    The value after the place of the loss must be there: a line can be cut short.
    """
    at = form.index("train_loss")
    rest = form[:at] + form[at + 1 :]
    return len(names) > at and len(names) >= 2 and rest[: len(names)] == names
