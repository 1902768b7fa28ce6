"""One loss of one file, and the unusual things that can happen to it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ..accumulator import LoggedValue
from ..observations import Step
from .climb import Climb
from .counters import EpochCounters, Whose
from .driven import DrivenLoss
from .epoch_mean import EpochMean
from .manners import Manner
from .rates import Rates
from .slow_rise import SlowRiseDetector
from .spikes import GROSS, OF_LAST, TINY, Alarm, SpikeDetector
from .trajectory import LossTrajectory
from .undone import Undone
from .zeros import Zeros

LAGS = 3
"""Consecutive reports of earlier steps that may be of another process that writes to the same log;
more of them are a restart."""
LEAK = 0.02
"""A loss falls quickly below this part of its level only if a label leaks into the input, or if
there is hardly anything to learn."""
EVERY = 10
"""A level is kept every so many reports."""
FALL = 5
"""Kept levels within which a sudden fall takes place."""
LEVELS = 11
ENOUGH_LEVELS = 8
STOOD = 0.7
"""Part of the oldest kept level that the loss must still have had when the sudden fall began. A
model that memorises its few samples has lost more than that over as many reports."""
BACK = 3
"""Consecutive reports near the old level after which the loss has come back."""
NEARLY = 0.9
"""Part of its announced total from which a step counter has ended normally when it begins again."""

State = Literal["open", "lasting", "back"]


STAGED = 3
"""Reports between the line that announces a new stage and the first one of it (our choice)."""


@dataclass(slots=True)
class Jump:
    """A loss that rose above its noise."""

    metric: str
    file: str
    number: int
    """1 for the first jump of the run."""
    onset: LoggedValue
    decided: LoggedValue
    base: float
    """Level before the jump."""
    spread: float
    """Noise before the jump."""
    lost: float
    """Height of the jump as a part of the progress before it: 1 is back at the beginning."""
    gross: bool
    """The detector's alarm was ``gross``: far above the first values of the series."""
    rough: bool = False
    """It is of adversarial or reinforcement learning, where losses jump now and then."""
    planned: bool = False
    """The learning rate schedule has started over, as it did before, which explains the jump."""
    swept: bool = False
    """It came in a range test of the learning rate, which ends with a loss that diverges, or where the log had just
    announced a new stage, or another weight of a loss: its level is new by design."""
    rated: bool = False
    """The log has the learning rate, so that ``planned`` is known to be right."""
    usual: bool = False
    """Similar jumps came back before, and this one has not lasted much longer yet."""
    undone: float = 0.0
    """Part of the progress that was undone by the newest median of the loss, not a single value."""
    slow: bool = False
    """It is a slow rise, found by the sum of many small deviations."""
    driven: float = 0.0
    """The learning rate, as a multiple of its highest before, that drives it; 0 for none."""
    climbed: float = 0.0
    """How many times the lowest level it has climbed to, block after block; 0 for a jump or a slow rise."""
    agreed: bool = False
    """A slow rise was confirmed: the evaluation loss rose too, or the rise has grown since."""
    reset: bool = False
    """The loss took the course of the beginning of the run: it is reported as a reset."""
    state: State = "open"
    top: float = 0.0
    """Largest value so far."""
    back: LoggedValue | None = None
    """The report with which it came back."""
    reports: int = 0
    """Number of reports since it was decided, while it is followed."""
    waits: int = 0
    """It is told once it lasts longer than so many reports: it is like an earlier one that came back, or
    it came upon a lasting one."""
    upon: bool = False
    """It came upon a lasting jump: it is told only if it lasts a little."""
    record: bool = False
    """It came as a single value: it is told when that is over, or lasts a little."""
    lasted: int = 0
    """Number of reports for which it was followed until it came back."""
    over_at: int = 0
    """Number of losses that the run had reported when it came back."""
    norms: tuple[float, float] | None = None
    """Gradient norm when it was decided, and the usual one before."""
    near: int = 0
    """Consecutive reports near the old level."""
    high: int = 0
    """Consecutive reports, up to the newest, that are out of all proportion themselves."""
    after: list[float] = field(default_factory=list)
    """Values after the jump, for the next median."""

    @property
    def spreads(self) -> float:
        """Its height in units of the noise before."""
        return (self.top - self.base) / max(self.spread, TINY)

    SAVED: ClassVar[Any] = (
        *("metric", "file", "number", "onset", "decided"),
        ("base", "spread", "lost", "top", "undone", "*after"),
        (
            "gross",
            "rough",
            "planned",
            "slow",
            "agreed",
            "reset",
            "rated",
            "usual",
            "upon",
            "record",
        ),
        *("state", "back", "reports", "over_at", "near", "high", "lasted", "waits", "driven"),
        "climbed",
    )


ANEW = 0.5
"""An epoch up to this part of the one before is of another start."""


@dataclass(slots=True)
class Loaded:
    """The log has said that weights were loaded, or that a training begins, and its steps go on."""

    level: float
    spread: float
    """Noise and level of the loss before."""
    step: float | None = None
    """Step of the last report before."""
    marks: list[LoggedValue] = field(default_factory=list)
    """The first reports after it."""


@dataclass(slots=True)
class Reset:
    """A loss that is back at a level that it had left long ago."""

    metric: str
    file: str
    onset: LoggedValue
    decided: LoggedValue
    base: float
    """Level that it had reached: at the resumed step, or before the jump."""
    level: float
    """Level of the first reports after the reset."""
    lost: float
    """Part of the progress that is undone: 1 is back at the beginning."""
    resumed_at: float | None
    """Step from which the run resumed; ``None`` when its step counter did not go back."""
    limit: float = 0.0
    """A value up to this one counts as back."""
    near: int = 0
    reports: int = 0
    back: LoggedValue | None = None

    def is_over(self, mark: LoggedValue) -> bool:
        """Take in the next report; True once the loss has been back for :data:`BACK` of them."""
        self.reports += 1
        self.near = self.near + 1 if mark.value <= self.limit else 0
        if self.near >= BACK:
            self.back = mark
        return self.back is not None

    SAVED: ClassVar[Any] = (
        *("metric", "file", "onset", "decided"),
        ("base", "level", "lost", "limit", "resumed_at"),
        *("near", "reports", "back"),
    )


@dataclass(slots=True)
class Leak:
    """A loss that fell to next to nothing, soon after the start or suddenly: a label may leak."""

    metric: str
    file: str
    mark: LoggedValue
    began: float
    """Level from which it fell."""
    count: int
    """Number of losses that the run had reported by then."""
    sudden: bool = False
    """It fell suddenly, in a run that had learnt something before."""
    SAVED: ClassVar[Any] = ("metric", "file", "mark", "began", "count", "sudden")


@dataclass(slots=True, eq=False)
class LossSeries:
    """One loss of one file."""

    file: str
    metric: str
    manner: Manner
    """``adversary`` (also for components of unknown meaning) or ``learner`` (reinforcement
    learning), whose losses jump in a healthy run; empty for an ordinary loss."""
    rough: bool = field(init=False)
    """True unless the loss is an ordinary one."""
    guard: SpikeDetector = field(default_factory=SpikeDetector)
    drift: SlowRiseDetector = field(default_factory=SlowRiseDetector)
    undone: Undone = field(default_factory=Undone)
    climb: Climb = field(default_factory=Climb)
    driven: DrivenLoss = field(default_factory=DrivenLoss)
    path: LossTrajectory = field(default_factory=LossTrajectory)
    newest: deque[LoggedValue] = field(default_factory=lambda: deque(maxlen=OF_LAST))
    jump: Jump | None = None
    """The jump that is followed."""
    under: Jump | None = None
    """The lasting jump upon which it came."""
    slow: Jump | None = None
    """The slow rise that is followed."""
    pushed: Jump | None = None
    """The climb of the learning rate that was told."""
    anew: list[float] = field(default_factory=list)
    """The first values of the jump, to be compared with the beginning of the run."""
    rising: LoggedValue | None = None
    """Where the newest slow rise began."""
    count: int = 0
    largest: float = 0.0
    nothing: float = 0.0
    """A loss up to this one is next to nothing."""
    rates: Rates = field(default_factory=Rates)
    levels: deque[float] = field(default_factory=lambda: deque(maxlen=LEVELS))
    """The newest levels, one every tenth report."""
    exploded: list[LoggedValue] = field(default_factory=list)
    leaked: bool = False
    zeros: Zeros | None = None
    step: float | None = None
    epoch: float | None = None
    total: float | None = None
    aside: int = 0
    """Reports without a step since the last one with a step."""
    counters: EpochCounters = field(default_factory=EpochCounters)
    means: EpochMean = field(default_factory=EpochMean)
    behind: list[LoggedValue] = field(default_factory=list)
    """Reports of earlier steps that may be of another process that writes to the same log."""
    resumed: list[LoggedValue] | None = None
    """The first reports after a restart, while they are collected."""
    expected: tuple[float, float] | None = None
    """Level and noise at the step from which the run resumed."""
    loaded: Loaded | None = None
    """The first reports after something was loaded, while they are collected."""
    staged: int = -1
    """How many reports there were when the log announced a new stage, task or fold; -1 for never."""
    reset: Reset | None = None
    """The reset that is followed."""
    evals: deque[float] = field(default_factory=lambda: deque(maxlen=OF_LAST))
    eval_limit: float | None = None
    """An evaluation loss above this one confirms a slow rise."""
    SAVED: ClassVar[Any] = (
        "file",
        {
            **{name: name for name in ("metric", "manner", "guard", "drift", "path", "rates")},
            "undone": "undone",
            "climb": "climb",
            "driven": "driven",
            "counters": "counters",
            **{name: name for name in ("levels", "newest", "anew", "rising", "resumed")},
            "numbers": ("count", "largest", "nothing", "leaked"),
            "place": ("step", "epoch", "total"),
            "evals": ("evals", "eval_limit"),
            "expected": "expected",
        },
    )
    """Without the jumps and resets, which are stored for the whole run: :class:`.jumps.Jumps`."""

    def begins_stage(self, reports: int = 0) -> bool:
        """Whether a new stage, or another weight of a loss, was announced just before the last ``reports``."""
        return self.staged >= 0 and 0 <= self.count - reports - self.staged <= STAGED

    def __post_init__(self) -> None:
        """Set ``rough``."""
        self.rough = bool(self.manner)

    def beyond(self, value: float) -> bool:
        """Whether a value is gross, compared with all before."""
        return abs(value) > GROSS * self.largest

    def listens_to(self, alarm: Alarm, *, beyond: bool) -> bool:
        """True for an alarm that means something for a loss of this kind.

        ``beyond``: the value is also gross compared with all values before. In reinforcement
        learning that is needed: losses grow with the rewards, so the first values are no measure.
        """
        if alarm.kind == "record":
            return self.manner == "adversary"
        if alarm.kind == "lone":
            return self.manner != "learner"
        if alarm.kind == "gross":
            return beyond or self.manner != "learner"
        return not self.rough

    def collapsed(self) -> float | None:
        """To be called every tenth report: the level from which the loss has fallen suddenly.

        ``None`` if it has not; also for a fast but steady descent, in which it fell before as well.
        """
        levels = self.levels
        levels.append(self.guard.level or 0.0)
        if len(levels) < ENOUGH_LEVELS:
            return None
        usual = levels[-1 - FALL]
        if 0.0 < levels[-1] < LEAK * usual and usual > STOOD * levels[0]:
            return usual
        return None

    def rewound(self, seen: Step, number: float, value: float) -> bool:
        """The step counter went back; returns True when the report is to be used.

        False while it may be of another process that writes to the same log and lags behind; more
        than :data:`LAGS` of these are a restart. A counter that begins again with every epoch is
        no restart.
        """
        if seen.epoch is not None and self.epoch is not None and seen.epoch > self.epoch:
            return True
        if self.total and self.step is not None and self.step >= NEARLY * self.total:
            return True
        if len(self.behind) < LAGS:
            self.behind.append(LoggedValue.of(seen, value))
            return False
        self.resumed, self.behind = self.behind, []
        began = self.resumed[0].step or 0.0
        self.expected = self.path.at(began)
        self.path.back_to(began)
        self.begins_anew()
        return True

    def whose(self, seen: Step) -> Whose:
        """Whether the report is of the start that is followed; ``anew`` when its epochs are counted from the
        beginning again: the next job of a queue, or a start without any save."""
        before, epoch = self.epoch, seen.epoch
        if epoch is None:
            return "ours"
        first = before is not None and epoch < before and epoch <= min(1.0, ANEW * before)
        if seen.number is None and epoch % 1.0 == 0.0:
            return self.counters.take(epoch, first=first)
        return "anew" if first else "ours"

    def zeros_from(self, mark: LoggedValue) -> Zeros:
        """A loss of zero at ``mark``, with the level before it."""
        level, start = self.guard.level, self.guard.start
        last = self.newest[-2].value if len(self.newest) > 1 else None
        if last is not None and last - last == 0.0:  # the level lags behind a fall
            level = last if level is None else min(level, last)
        began = self.largest if start is None else start
        return Zeros(self.metric, self.file, mark, mark, 1, level, began)

    def begins_anew(self) -> None:
        """What follows is of another start: its level is not that of before."""
        self.behind.clear()
        self.guard.restart()
        self.drift.restart()
        self.undone.restart()
        self.climb.restart()
        self.driven.restart()
        self.exploded.clear()
        self.levels.clear()
        self.reset = self.loaded = None
        for jump in (self.jump, self.slow, self.under, self.pushed):
            if jump is not None:
                jump.state = "back"
        self.jump = self.slow = self.under = self.pushed = None
