"""A JSON object that is printed over several lines: what it counts holds for all of its members.

``json.dumps(report, indent=2)`` and files like ``trainer_state.json`` order the members as they like: the
step may come after the loss. So they are held back until the brace that closes the object.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .numbers.disambiguate import MEASURES
from .numbers.fields import Values

LOSSES = frozenset({"train_loss", "eval_loss"})
MOST = 64
"""Members that are held back; an object with more is a configuration or data."""


class Member(NamedTuple):
    """One line of the object: its values, without what is counted."""

    named: dict[str, float]
    line: int
    text: str


@dataclass(eq=False)
class JsonObject:
    """The members of the object that is open."""

    members: list[Member] = field(default_factory=list)
    step: float | None = None
    epoch: float | None = None
    step_line: int = 0

    @property
    def open(self) -> bool:
        """Something is held back."""
        return bool(self.members) or self.step is not None or self.epoch is not None

    def add(self, values: Values, named: dict[str, float], line: int, text: str) -> None:
        """Take one member."""
        if self.step is None and values.step is not None:
            self.step, self.step_line = values.step, line
        self.epoch = values.epoch if self.epoch is None else self.epoch
        if named and len(self.members) < MOST:
            odd = any(value - value != 0.0 for value in named.values())
            self.members.append(Member(named, line, text if odd else ""))

    def tells(self, *, counted: bool) -> bool:
        """True for a report: it has a measure, and not only settings. ``counted``: a step or an epoch
        is known for it."""
        names = MEASURES if counted else LOSSES
        return any(not names.isdisjoint(member.named) for member in self.members)

    def clear(self) -> None:
        """Begin anew."""
        self.members, self.step, self.epoch, self.step_line = [], None, None, 0
