"""One loss of one file, and the strange things that a loss can do."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .guard import OF_LAST, Guard
from .ledger import Mark
from .observations import Step

LAGS = 3
"""Reports of earlier steps that are another writer's; more of them are a restart."""
ROSE = 3.0
"""Times by which a learning rate rises within a few reports only where its schedule starts
anew: a warm-up takes more of them."""
NEARLY = 0.9
"""Part of its total at which a counter that begins anew has run through."""

State = Literal["open", "lasting", "back"]


@dataclass(slots=True)
class Jump:
    """A loss that left its noise."""

    metric: str
    file: str
    number: int
    """1 for the first of the run."""
    onset: Mark
    decided: Mark
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
    """The learning rate was set up again: its schedule starts anew."""
    state: State = "open"
    top: float = 0.0
    back: Mark | None = None
    reports: int = 0
    """Since it was decided, as long as it is followed."""
    over_at: int = 0
    """Losses that the run had reported when it came back."""


@dataclass(slots=True)
class Zeros:
    """Reports of a loss of nothing, in a row."""

    metric: str
    file: str
    first: Mark
    decided: Mark
    """The third of them."""
    count: int
    before: float | None
    """Level before it, ``None`` when it began so."""
    began: float | None
    """Level of the first reports of the run."""
    over: bool = False


@dataclass(slots=True)
class Missing:
    """Reports in a known wording that lack their loss, in a row."""

    file: str
    first: Mark
    last: Mark
    count: int
    skipped: bool
    """The reports themselves say that the step was skipped."""
    scaled: bool
    """The reports speak of a loss scale, as those of Megatron do: one of them is enough."""
    over: bool = False


@dataclass(slots=True)
class Gradient:
    """A gradient norm out of all proportion."""

    file: str
    mark: Mark
    usual: float
    """Median of those before it."""


class Series:
    """One loss of one file."""

    def __init__(self, metric: str, *, rough: bool) -> None:
        self.metric = metric
        self.rough = rough
        """Adversarial, reinforcement learning or unknown: it jumps while all is well."""
        self.guard = Guard()
        self.newest: deque[Mark] = deque(maxlen=OF_LAST)
        self.jump: Jump | None = None
        self.after: list[float] = []
        self.near = 0
        self.count = 0
        self.largest = 0.0
        self.nothing = 0.0
        """A loss not above it is next to nothing."""
        self.rates: deque[float] = deque(maxlen=OF_LAST + 1)
        """The newest learning rates."""
        self.exploded: list[Mark] = []
        self.zeros: Zeros | None = None
        self.step: float | None = None
        self.epoch: float | None = None
        self.total: float | None = None
        self.behind = 0

    def rate_rose(self) -> bool:
        """The learning rate has just been set up again."""
        rates = self.rates
        return len(rates) > 1 and rates[-1] > ROSE * min(rates) > 0.0

    def rewound(self, seen: Step, number: float) -> bool:
        """The step counter went back: False while it may be another writer that lags.

        A counter that begins anew with every epoch is none of a restart.
        """
        if seen.epoch is not None and self.epoch is not None and seen.epoch > self.epoch:
            return True
        if self.total and self.step is not None and self.step >= NEARLY * self.total:
            return True
        self.behind += 1
        if self.behind <= LAGS:
            return False
        self.guard.restart()
        self.exploded.clear()
        if self.jump is not None:
            self.jump.state = "back"
            self.jump = None
        return True


def is_rough(values: Mapping[str, float]) -> bool:
    """True for the report of an adversarial or a reinforcement learner."""
    for name in values:
        words = set(_WORDS.findall(name.lower()))
        if words & _ADVERSARIES or ("loss" in words and words & _SIDES):
            return True
    return False


_WORDS = re.compile(r"[a-z]+")
_ADVERSARIES = frozenset(
    {"discriminator", "generator", "adversarial", "critic", "reward", "rewards"}
)
_SIDES = frozenset({"g", "d", "gen", "disc", "dis", "adv", "gan", "policy", "value", "actor", "vf"})
