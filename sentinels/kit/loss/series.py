"""One loss of one file, and the strange things that a loss can do."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ..accumulator import LoggedValue
from ..observations import Step
from .rates import Rates
from .slow_rise import SlowRiseDetector
from .spikes import OF_LAST, Alarm, SpikeDetector
from .trajectory import LossTrajectory

LAGS = 3
"""Reports of earlier steps that are another writer's; more of them are a restart."""
LEAK = 0.02
"""Part of its level under which a loss falls so fast only if a label leaks, or if there is
hardly anything to learn."""
EVERY = 10
"""Reports between two levels that are kept."""
FALL = 5
"""Levels within which a sudden fall has happened."""
LEVELS = 11
ENOUGH_LEVELS = 8
STOOD = 0.7
"""Part of the level of before that was left when a sudden fall began: what learns its few
samples by heart has lost more than that over as many reports."""
NEARLY = 0.9
"""Part of its total at which a counter that begins anew has run through."""

State = Literal["open", "lasting", "back"]
Manner = Literal["", "adversary", "learner"]


@dataclass(slots=True)
class Jump:
    """A loss that left its noise."""

    metric: str
    file: str
    number: int
    """1 for the first of the run."""
    onset: LoggedValue
    decided: LoggedValue
    base: float
    """Level before it."""
    spread: float
    """Noise before it."""
    lost: float
    """Height of the jump against the progress made before it: 1 is back at the beginning."""
    gross: bool
    rough: bool = False
    """Of an adversary or a learner, which does that now and then."""
    planned: bool = False
    """The learning rate has started over, as it did before: its schedule wants it so."""
    rated: bool = False
    """The log tells the learning rate: one that is not planned has no such excuse."""
    usual: bool = False
    """Jumps like it came back before, and this one has not taken much longer yet."""
    undone: float = 0.0
    """Part of the progress that was gone when it was last looked at: no single value, a level."""
    slow: bool = False
    """Known by the sum of many small deviations."""
    agreed: bool = False
    """Of a slow one: the evaluation loss rose as well, or a second look found it grown."""
    reset: bool = False
    """It took the course of the beginning of the run: told as a reset."""
    state: State = "open"
    top: float = 0.0
    back: LoggedValue | None = None
    reports: int = 0
    """Since it was decided, as long as it is followed."""
    over_at: int = 0
    """Losses that the run had reported when it came back."""
    norms: tuple[float, float] | None = None
    """Gradient norm when it was decided, and the usual one before."""
    near: int = 0
    """Reports in a row near the old level."""
    after: list[float] = field(default_factory=list)
    """Values by which a later look decides."""
    SAVED: ClassVar[Any] = (
        *("metric", "file", "number", "onset", "decided"),
        ("base", "spread", "lost", "top", "undone", "*after"),
        ("gross", "rough", "planned", "slow", "agreed", "reset", "rated", "usual"),
        *("state", "back", "reports", "over_at", "near"),
    )


@dataclass(slots=True)
class Reset:
    """A loss that stands where it had long been past."""

    metric: str
    file: str
    onset: LoggedValue
    decided: LoggedValue
    base: float
    """Level that it had reached: at the resumed step, or before it jumped."""
    level: float
    """Level of the first reports after it."""
    lost: float
    """Part of the progress that is gone: 1 is back at the beginning."""
    resumed_at: float | None
    """Step that the run went on from; ``None`` where its steps did not go back."""
    limit: float = 0.0
    """A value not above it is back."""
    near: int = 0
    reports: int = 0
    back: LoggedValue | None = None
    SAVED: ClassVar[Any] = (
        *("metric", "file", "onset", "decided"),
        ("base", "level", "lost", "limit", "resumed_at"),
        *("near", "reports", "back"),
    )


@dataclass(slots=True)
class Zeros:
    """Reports of a loss of nothing, in a row."""

    metric: str
    file: str
    first: LoggedValue
    decided: LoggedValue
    """The third of them."""
    count: int
    before: float | None
    """Level before it, ``None`` when it began so."""
    began: float | None
    """Level of the first reports of the run."""
    over: bool = False


@dataclass(slots=True)
class Leak:
    """A loss that fell to next to nothing, at its beginning or all of a sudden."""

    metric: str
    file: str
    mark: LoggedValue
    began: float
    """Level that it fell from."""
    count: int
    """Losses that the run had reported by then."""
    sudden: bool = False
    """In the midst of a run that had learnt something and stood where it was."""
    SAVED: ClassVar[Any] = ("metric", "file", "mark", "began", "count", "sudden")


@dataclass(slots=True, eq=False)
class LossSeries:
    """One loss of one file."""

    file: str
    metric: str
    manner: Manner
    """Adversarial, reinforcement learning or unknown: it jumps while all is well."""
    rough: bool = field(init=False)
    """It is one of these."""
    guard: SpikeDetector = field(default_factory=SpikeDetector)
    drift: SlowRiseDetector = field(default_factory=SlowRiseDetector)
    path: LossTrajectory = field(default_factory=LossTrajectory)
    newest: deque[LoggedValue] = field(default_factory=lambda: deque(maxlen=OF_LAST))
    jump: Jump | None = None
    """The one that is followed."""
    slow: Jump | None = None
    """The same of slow ones."""
    anew: list[float] = field(default_factory=list)
    """The first values of the jump: a reset begins as the run began."""
    rising: LoggedValue | None = None
    """Where the newest slow rise began."""
    count: int = 0
    largest: float = 0.0
    nothing: float = 0.0
    """A loss not above it is next to nothing."""
    rates: Rates = field(default_factory=Rates)
    levels: deque[float] = field(default_factory=lambda: deque(maxlen=LEVELS))
    """Its level at every tenth report."""
    exploded: list[LoggedValue] = field(default_factory=list)
    leaked: bool = False
    zeros: Zeros | None = None
    step: float | None = None
    epoch: float | None = None
    total: float | None = None
    behind: list[LoggedValue] = field(default_factory=list)
    """Reports of earlier steps that may be another writer's."""
    resumed: list[LoggedValue] | None = None
    """The first reports after a restart, while they are collected."""
    expected: tuple[float, float] | None = None
    """Level and noise at the step that it went on from."""
    reset: Reset | None = None
    """The one that is followed."""
    evals: deque[float] = field(default_factory=lambda: deque(maxlen=OF_LAST))
    eval_limit: float | None = None
    """An evaluation loss above it agrees with a slow rise."""
    SAVED: ClassVar[Any] = (
        "file",
        {
            **{name: name for name in ("metric", "manner", "guard", "drift", "path", "rates")},
            **{name: name for name in ("levels", "newest", "anew", "rising", "resumed")},
            "numbers": ("count", "largest", "nothing", "leaked"),
            "place": ("step", "epoch", "total"),
            "evals": ("evals", "eval_limit"),
            "expected": "expected",
        },
    )
    """Its jumps are kept with all of the run."""

    def __post_init__(self) -> None:
        """Know the roughness of its manner."""
        self.rough = bool(self.manner)

    def listens_to(self, alarm: Alarm, *, beyond: bool) -> bool:
        """True for an alarm that means something in a series of this manner.

        ``beyond``: the value is gross against everything before, too. The losses of a learner
        grow with its rewards, so its first values are no measure.
        """
        if alarm.kind == "gross":
            return beyond or self.manner != "learner"
        return not self.rough

    def collapsed(self) -> float | None:
        """The level that it fell from all of a sudden, looked at every tenth report.

        A fast but steady descent is none: it had been falling before.
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
        """The step counter went back: False while it may be another writer that lags.

        A counter that begins anew with every epoch is none of a restart.
        """
        if seen.epoch is not None and self.epoch is not None and seen.epoch > self.epoch:
            return True
        if self.total and self.step is not None and self.step >= NEARLY * self.total:
            return True
        if len(self.behind) < LAGS:
            self.behind.append(LoggedValue.of(seen, value))
            return False
        self.guard.restart()
        self.drift.restart()
        self.exploded.clear()
        self.levels.clear()
        self.resumed, self.behind = self.behind, []
        began = self.resumed[0].step or 0.0
        self.expected = self.path.at(began)
        self.path.back_to(began)
        self.reset = None
        for jump in (self.jump, self.slow):
            if jump is not None:
                jump.state = "back"
        self.jump = self.slow = None
        return True


def manner(values: Mapping[str, float]) -> Manner:
    """Of whom a report is: an adversary's, a reinforcement learner's, or nobody's special."""
    found: Manner = ""
    for name in values:
        words = set(_WORDS.findall(name.lower()))
        if words & _LEARNERS or ("loss" in words and words & _ACTORS):
            return "learner"
        if words & _ADVERSARIES or ("loss" in words and words & _SIDES):
            found = "adversary"
    return found


_WORDS = re.compile(r"[a-z]+")
_LEARNERS = frozenset({"reward", "rewards"})
_ACTORS = frozenset({"policy", "value", "actor", "vf"})
_ADVERSARIES = frozenset({"discriminator", "generator", "adversarial", "critic"})
_SIDES = frozenset({"g", "d", "gen", "disc", "dis", "adv", "gan"})
