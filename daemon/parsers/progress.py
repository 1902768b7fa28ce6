"""Turn reports into steps: which lines form one record, and which progress bar is the run's.

A report is one line. A step may need earlier lines too: the head of a record of several lines, the
progress bar that a log line interrupts, or keys that show reinforcement learning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import itemgetter

from middlewatch.sentinels.kit import Observation, Phase, Step
from middlewatch.sentinels.kit.codec import UNSAVED

from .json_object import JsonObject
from .log_clock import WITHIN, LogClock
from .numbers.disambiguate import MEASURES
from .numbers.fields import Values
from .numbers.metrics import LineReport
from .numbers.series import RowBuffer
from .text import decode, plain
from .turn import Turn

HEAD_LINES = 12
"""Limit on the further lines of a record after its head; OLMo-core and rsl-rl need fewer."""
BAR_LINES = 200
"""Lines after a redraw of a bar that may take their step from it, if they have none."""
NESTED_DRAWS = 2000
"""Redraws of other bars after which the main bar counts as abandoned."""
FILLED = 3
"""Rows of a table in turn that make a column one that has a number in every row (our choice)."""
EVALUATED = ("eval_loss", "accuracy")
"""Columns that have a number only in the rows with an evaluation."""
UPDATE_S = 1.0
UPDATE_PARTS = 500
"""Redraws of a bar are reported once a second or every 1/500 of the way, whichever comes
first. That is enough for every rule, and the 512 steps of a view then span minutes."""


@dataclass(eq=False)
class Progress:
    """Turns the reports of one log into steps, in order."""

    file: str = field(metadata=UNSAVED)
    learning: bool = False
    """It is reinforcement learning, whose ``loss`` is not the usual training loss."""
    _head: tuple[float | None, float | None] | None = None
    _head_left: int = 0
    _head_full: bool = False
    _head_weak: bool = False
    """The head may also be a line ``step: 100`` of a printed configuration."""
    _head_key: str = ""
    """The word by which its step is known: an indented line that counts by the same one is the next report."""
    _bar: tuple[float, float | None] | None = None
    _bar_left: int = 0
    _main_of: float | None = None
    _main_done: bool = False
    _nested: int = 0
    _evaluating: bool = False
    _shown: tuple[float, float, bool] | None = None
    """(time, step, all values finite) of the redraw that was reported last."""
    _measured: bool = False
    """The open record has had a measure (:data:`MEASURES`)."""
    _turn: Turn = field(default_factory=Turn)
    _total: float | None = None
    """Total steps that the program announced before it began."""
    _epochs: float | None = None
    """Total epochs that it announced, kept until the next report passes them on."""
    _series: RowBuffer = field(default_factory=RowBuffer)
    _filled: dict[str, int] = field(default_factory=dict)
    """Rows in turn in which a column of evaluations had a number, up to :data:`FILLED`; -1 for one that
    had none in a row before."""
    _object: JsonObject = field(default_factory=JsonObject)
    _time: LogClock = field(default_factory=LogClock, metadata=UNSAVED)

    @property
    def open(self) -> bool:
        """A record may continue, so :meth:`other_line` must get lines without a report."""
        return self._head is not None or self._series.open or self._object.open

    def other_line(self, text: str, now: float, rank: int | None) -> list[Step]:
        """Take a line without a report: a line of dashes or braces ends a record. Returns the report
        of a JSON object that it closes."""
        self._series.end()
        said = self._object_line(text.strip(), now, rank) if self._object.open else []
        self._head_left -= 1
        if self._head_left <= 0 or not any(c.isalnum() for c in text[:200]):
            self._head = None
        return said

    def _object_line(self, text: str, now: float, rank: int | None) -> list[Step]:
        """A line within a JSON object of which members are held back, or the one that ends it."""
        if text.endswith(("{", "[")) and not text.startswith("}"):
            # What the outer object counts holds for the inner one too.
            self._head, self._head_left = (self._object.step, self._object.epoch), HEAD_LINES
            self._head_full = False
            self._object.clear()
            return []
        return self._end_object(now, rank) if text.startswith("}") else []

    def _end_object(self, now: float, rank: int | None) -> list[Step]:
        """The reports of the open JSON object, which is over: one a line."""
        held, (step, epoch) = self._object, self._head or (None, None)
        step = step if held.step is None else held.step
        epoch = epoch if held.epoch is None else held.epoch
        told = held.tells(counted=step is not None or epoch is not None)
        lines = [(m.line, m.named, m.text) for m in held.members if told]
        if held.step is not None and (told or self._measured):
            lines.append((held.step_line, {}, ""))
        held.clear()
        if not lines:
            return []
        self._measured = True
        total = self._total if step is not None and step <= (self._total or 0.0) else None
        return [
            Step(now, step, named, epoch, total, rank, self.file, line, plain(text))
            for line, named, text in sorted(lines, key=itemgetter(0))
        ]

    def takes_plain(self, report: LineReport | None, values: Values) -> bool:
        """:meth:`plain_step` will do for this report."""
        return (
            report is not None
            and report.plain
            and values.step is not None
            and not self._series.open
            and not self._object.open
            and self._epochs is None
        )

    def plain_step(
        self, values: Values, now: float, line: int, rank: int | None, piece: bytes
    ) -> tuple[Step, ...]:
        """What :meth:`report` makes of the most usual report: a line with a step and measures. None or one step."""
        step, named = values.step, values.named
        if self.learning and "train_loss" in named:
            named["loss"] = named.pop("train_loss")
        added = sum(named.values())
        finite = added - added == 0.0
        if not finite and self._strange(step, named):
            return ()
        self._head, self._head_left = (step, values.epoch), HEAD_LINES
        self._head_full, self._head_weak, self._measured = True, False, True
        self._head_key = ""
        self._bar_left -= 1
        if step is not None:
            self._turn.steps.append(step)
        total = values.total
        if total is None and self._total is not None and step is not None:
            total = self._total if step <= self._total else None
        number = values.rank if values.rank is not None else rank
        said = Step(
            now,
            step,
            named,
            values.epoch,
            total,
            None if number is None else int(number),
            self.file,
            line,
            "" if finite else plain(decode(piece)),
            None,
            self._time.read(piece) if self._time.left else None,
        )
        return (said,)

    def report(
        self,
        report: LineReport,
        values: Values,
        now: float,
        line: int,
        ended: bool,
        rank: int | None,
        text: str,
    ) -> list[Observation]:
        """The observations that one report gives: at most a phase and a step, or a whole series."""
        if report.plan_only:
            return self._planned(report, values, now, line)
        if report.bare:
            return [
                Step(now, step, {name: value}, file=self.file, line=at)
                for at, step, name, value in self._series.add(
                    line, values.step, values.named.get("column 2")
                )
            ]
        if self._series.open:
            self._series.end()
        named = values.named
        epochs = named.pop("epochs", None)
        self.learning = self.learning or report.learning
        if self.learning and "train_loss" in named:
            named["loss"] = named.pop("train_loss")
        if report.member and epochs is None:
            self._object.add(values, named, line, text)
            return []
        if report.row:
            self._without_missing(named)
        said: list[Observation] = list(self._end_object(now, rank)) if self._object.open else []
        if report.bar:
            keep = self._bar_seen(report, values, named)
            if not self._evaluating and report.bar in ("evaluate", "plain") and not keep:
                self._evaluating = True
                said.append(Phase(now, "evaluate", plain(text), self.file, line))
            if keep:
                self._evaluating = False
            elif not report.measured:
                return said
            else:
                values = values._replace(step=None, total=None)
                named.pop("step_time_s", None)
        step, epoch = self._counted(report, values, named)
        worth = self._worth(report, step, epoch, named)
        self._measured = not named.keys().isdisjoint(MEASURES) or (self._measured and report.inner)
        if not worth or self._strange(step, named):
            return said
        if step is not None:
            self._turn.steps.append(step)
        total = values.total
        if total is None and self._total is not None and not report.bar:
            total = self._total if step is not None and step <= self._total else None
        if epochs is None and self._epochs is not None:
            epochs, self._epochs = self._epochs, None
        if ended or self._due(step, values.of, named, now):
            number = values.rank if values.rank is not None else rank
            said.append(
                Step(
                    now,
                    step,
                    named,
                    epoch,
                    total,
                    None if number is None else int(number),
                    self.file,
                    line,
                    "" if all(map(math.isfinite, named.values())) else plain(text),
                    epochs,
                    self._time.read(text[:WITHIN].encode("utf-8", "surrogateescape"))
                    if self._time.left
                    else None,
                )
            )
        return said

    def _strange(self, step: float | None, named: dict[str, float]) -> bool:
        """Whether it is a lone loss that is not finite, at a step at which the run cannot be."""
        if step is None or len(named) > 1 or math.isfinite(named.get("train_loss", 0.0)):
            return False
        return not self._turn.takes(step)

    def _without_missing(self, named: dict[str, float]) -> None:
        """Take out what a table shows as NaN because there was no evaluation for this row, as pandas does.

        A column in which the first rows have had a number is one that is always filled.
        """
        for name in [n for n in named if n in EVALUATED]:
            filled = self._filled.get(name, 0)
            if filled == FILLED or filled < 0:
                if filled < 0 and named[name] != named[name]:
                    del named[name]
            elif named[name] == named[name]:
                self._filled[name] = filled + 1
            else:
                self._filled[name] = -1
                del named[name]

    def _planned(
        self, report: LineReport, values: Values, now: float, line: int
    ) -> list[Observation]:
        """The planned length of the run, from a line that holds nothing else.

        When a trainer announces it before it begins, it is added to later steps. A setting may
        mean something else, so it is passed on as a step without a number.
        """
        epochs = values.named.get("epochs")
        total = values.total if values.total and values.total > 0 else None
        if not (report.member or report.setting):
            self._total = total or self._total
            self._epochs = epochs or self._epochs
            return []
        if epochs is not None and epochs <= 0:
            epochs = None
        if total is None and epochs is None:
            return []
        return [Step(now, None, {}, total=total, file=self.file, line=line, epochs=epochs)]

    def _bar_seen(self, report: LineReport, values: Values, named: dict[str, float]) -> bool:
        """Note a redraw of a bar; returns whether the bar counts training steps."""
        if report.bar == "evaluate":
            if "train_loss" in named:
                named["eval_loss"] = named.pop("train_loss")
            return False
        if report.bar == "other" and not self._relabelled(values):
            return False
        if report.bar in ("plain", "other") and not self._is_main(values):
            return False
        if values.step is not None:
            self._bar = (values.step, values.epoch)
            self._bar_left = BAR_LINES
        return True

    def _relabelled(self, values: Values) -> bool:
        """Whether it is the run's bar, which got its label only now: ``sample:  83%|…| 498/600``."""
        began = self._bar is not None and values.step is not None and values.step >= self._bar[0]
        return (
            began and not self._main_done and values.of is not None and values.of == self._main_of
        )

    def _is_main(self, values: Values) -> bool:
        """Of bars without a label, the first unfinished one is the run's; others run inside it."""
        if values.of is None or values.step is None:
            return False
        self._nested += 1
        if (
            self._main_of is None
            or self._main_done
            or self._main_of == values.of
            or self._nested > NESTED_DRAWS
        ):
            self._main_of = values.of
            self._main_done = values.step >= values.of
            self._nested = 0
            return True
        return False

    def _counted(
        self, report: LineReport, values: Values, named: dict[str, float]
    ) -> tuple[float | None, float | None]:
        """(step, epoch) of a report: its own, or those of its record or bar."""
        step, epoch = values.step, values.epoch
        head = self._head
        if report.bar:
            if epoch is None and head is not None and report.bar == "train":
                epoch = head[1]  # "Epoch 3/20" on the line above the bar
            return step, epoch
        self._head_left -= 1
        if head is not None and self._head_left <= 0:
            head = self._head = None
        if report.counted and (report.head or report.inner) and not report.row:
            old_step, old_epoch = head if head is not None and report.inner else (None, None)
            other = report.step_key and report.step_key != self._head_key
            if old_step is not None and step is not None and not report.member and other:
                # "Learning iteration 3/500" is the head of a record that has "Total timesteps" too
                named[report.step_key] = step
                step = old_step
            step = old_step if step is None else step
            epoch = old_epoch if epoch is None else epoch
            self._head, self._head_left, self._head_full = (step, epoch), HEAD_LINES, False
            self._head_key = report.step_key
            self._head_weak = (
                report.head
                and report.inner
                and not (report.cell or report.member or len(report.fields) > 1)
            )
        elif report.counted:
            self._head, self._head_left = (step, epoch), HEAD_LINES
            self._head_full, self._head_weak = bool(named), False
            self._head_key = report.step_key
        elif head is not None and (
            not self._head_full or report.inner or "train_loss" not in named
        ):
            # after a complete report only its details or its evaluation belong to its step
            step, epoch = head
        self._bar_left -= 1
        if step is None and self._bar is not None and self._bar_left > 0 and "train_loss" in named:
            step = self._bar[0]
            epoch = self._bar[1] if epoch is None else epoch
        return step, epoch

    def _worth(
        self, report: LineReport, step: float | None, epoch: float | None, named: dict[str, float]
    ) -> bool:
        if report.bar or not named.keys().isdisjoint(MEASURES) or (self.learning and named):
            return True
        if report.member and report.head and step is not None:
            return self._measured
        if report.head:
            return not report.inner or len(report.fields) > 1 or report.cell
        if self._head_weak and report.inner and not report.counted:
            return False
        return bool(named) and (step is not None or (report.inner and epoch is not None))

    def _due(
        self, step: float | None, of: float | None, named: dict[str, float], now: float
    ) -> bool:
        """Whether a redraw of a bar, which the next one replaces, is reported."""
        finite = all(map(math.isfinite, named.values()))
        now_at = (now, step or 0.0, finite)
        if self._shown is not None:
            at, last, was_finite = self._shown
            apart = abs(now_at[1] - last)
            if (
                apart < max(1.0, (of or 0.0) / UPDATE_PARTS)
                and now - at < UPDATE_S
                and finite == was_finite
            ):
                return False
        self._shown = now_at
        return True
