"""What a replay report shows of a run: phases, saves, restarts, curves. Gathered while its log is
read, in bounded memory.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from datetime import timedelta

from middlewatch.sentinels.kit import CheckpointSaved, LogEvent, Step
from middlewatch.sentinels.kit.observations import PhaseName

from ..judge.curve import Curve
from ..parsers.timestamps import kind_of, moment, stamps
from .one_log import Seen

HEAD = 256 << 10
"""Bytes from the start of the text, by which the kind of its time stamps is recognised."""
TAIL = 64 << 10
"""Last bytes that are searched for the last time stamp."""
SERIES = 12
"""Metrics of which a curve is kept, at most."""
SAVES = 512
"""Newest claims of saved checkpoints that are kept."""
RESTARTS = 32
"""Newest restarts that are kept."""


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """The line at which something happened."""

    order: int
    """A number that grows along the log, or along several logs in the order they are read."""
    file: str
    line: int
    step: float | None


@dataclass(frozen=True, slots=True)
class ClaimedSave:
    """The log claims that a checkpoint was saved."""

    at: StoryEvent
    path: str | None


@dataclass(frozen=True, slots=True)
class LogRestart:
    """The step counter went back."""

    at: StoryEvent
    before: float
    """The last step before it."""
    x: float
    """Place on the x axis of the curves."""


@dataclass(slots=True)
class PhaseSpan:
    """A phase that came once or many times."""

    first: StoryEvent
    last: StoryEvent
    times: int = 1


class Story:
    """Collects the story of one replay from its observations."""

    def __init__(self) -> None:
        self.first: StoryEvent | None = None
        """First report of training."""
        self.last: StoryEvent | None = None
        self.reports = 0
        self.left_out = 0
        """Reports that were only compared with those around them."""
        self.total: float | None = None
        self.epoch: float | None = None
        self.phases: dict[PhaseName, PhaseSpan] = {}
        self.saves: deque[ClaimedSave] = deque(maxlen=SAVES)
        self._saved_at = 0
        """Reports before the newest of them: a save to the same path after others is another one."""
        self.first_save: ClaimedSave | None = None
        self.save_count = 0
        self.restarts: deque[LogRestart] = deque(maxlen=RESTARTS)
        self.curves: dict[str, Curve] = {}
        self._newest: dict[str, tuple[float, float]] = {}
        self.wrapped = False
        """The step counter starts again in every epoch: x values of curves are no step numbers."""
        self._places = Curve()
        self._x = 0.0
        self._offset = 0.0
        self._number: float | None = None
        self._rank: int | None = None
        self._interrupted = False
        self._head = b""
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    # -------------------------------------------------------------------- the text

    def add_text(self, chunk: bytes) -> None:
        """Take text of the log, in which the first and the last time stamp are looked for."""
        if len(self._head) < HEAD:
            self._head += chunk[: HEAD - len(self._head)]
        chunk = chunk[-TAIL:]
        self._tail.append(chunk)
        self._tail_size += len(chunk)
        while self._tail and self._tail_size - len(self._tail[0]) >= TAIL:
            self._tail_size -= len(self._tail.popleft())

    @property
    def span(self) -> tuple[str, str, timedelta] | None:
        """(first time, last time, duration) by the log's time stamps; ``None`` without them."""
        kind = kind_of(self._head)
        if kind is None:
            return None
        first = next(stamps(self._head, kind)).digits
        ends = [stamp.digits for stamp in stamps(b"".join(self._tail), kind)]
        if not ends:
            return None
        begun, ended = moment(first, kind), moment(ends[-1], kind)
        if kind == "clock" and ended < begun:
            ended += timedelta(days=1)  # past midnight, once or more often: that is not known
        shape = {"clock": "%H:%M", "yearless": "%m-%d %H:%M"}.get(kind, "%Y-%m-%d %H:%M")
        if ended < begun:
            return None
        same_day = begun.date() == ended.date()
        return begun.strftime(shape), ended.strftime("%H:%M" if same_day else shape), ended - begun

    # -------------------------------------------------------------------- observations

    def add(self, one: Seen, order: int) -> None:
        """Take one observation; ``order`` grows as the log goes on."""
        if isinstance(one, Step):
            self._step(one, order)
        elif isinstance(one, LogEvent):
            self._interrupted |= one.severity != "info"
        elif isinstance(one, CheckpointSaved):
            self._save(one, order)
        else:
            self._interrupted |= one.name in ("start", "load")
            here = StoryEvent(order, one.file, one.line, self._number)
            known = self.phases.get(one.name)
            if known is None:
                self.phases[one.name] = PhaseSpan(here, here)
            else:
                known.last = here
                known.times += 1

    def _save(self, one: CheckpointSaved, order: int) -> None:
        step = one.step if one.step is not None else self._number
        save = ClaimedSave(StoryEvent(order, one.file, one.line, step), one.path)
        again = bool(self.saves) and one.path is not None and self.saves[-1].path == one.path
        if again and self._saved_at == self.reports:
            return  # the same save: "saving …" and "saved …", or other ranks
        self._saved_at = self.reports
        self.save_count += 1
        self.first_save = self.first_save or save
        self.saves.append(save)

    def _step(self, one: Step, order: int) -> None:
        rank = one.rank or 0
        if self._rank is None or rank < self._rank:
            self._rank = rank
        if rank != self._rank:
            return
        if self._number is None or not _evaluation(one):
            self._move(one, order)  # some evaluations count other units than steps
            here = StoryEvent(order, one.file, one.line, one.number)
            self.reports += 1
            if one.number is not None:
                self.first, self.last = self.first or here, here
                self._number = one.number
        if one.total:
            self.total = one.total
        if one.epoch is not None:
            self.epoch = one.epoch
        self._places.add(order, self._x)
        for name, value in one.values.items():
            if name not in self.curves:
                if len(self.curves) >= SERIES or not _drawable(name):
                    continue
                self.curves[name] = Curve()
            self.curves[name].add(self._x, value)
            self._newest[name] = (self._x, value)

    def points(self, name: str) -> list[tuple[float, float]]:
        """The (x, value) points of a metric, thinned out, with the newest one."""
        if name not in self.curves:
            return []
        points = self.curves[name].points
        newest = self._newest[name]
        return points if points and newest[0] <= points[-1][0] else [*points, newest]

    def _move(self, one: Step, order: int) -> None:
        """Find the place of a report on the x axis of the curves."""
        number = one.number
        if number is None:
            if self._number is None:
                self._x = self._x + 1 if one.epoch is None else max(self._x, one.epoch)
            return
        before = self._number
        if before is not None and number < before:
            if self._interrupted:
                here = StoryEvent(order, one.file, one.line, number)
                self.restarts.append(LogRestart(here, before, self._offset + number))
            else:
                self._offset += before
                self.wrapped = True
        if math.isfinite(number):
            self._x = self._offset + number
            self._interrupted = False

    def x_of(self, order: int) -> float | None:
        """The place on the x axis of the line with this ``order``; ``None`` without reports."""
        points = self._places.points
        if not points:
            return None
        place = bisect_left(points, (order, -math.inf))
        return points[min(place, len(points) - 1)][1]


def _evaluation(one: Step) -> bool:
    """True for a report of an evaluation that has no training loss."""
    return "train_loss" not in one.values and any(n.startswith(("eval", "val")) for n in one.values)


def _drawable(name: str) -> bool:
    return name in ("accuracy", "reward") or ("loss" in name and "scale" not in name)
