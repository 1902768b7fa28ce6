"""How long a run pauses, and for what: learned over the whole run, phase by phase."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from .ledger import Ledger
from .observations import Observation, Phase, Step

KINDS = ("compile", "load", "evaluate", "save", "first", "epoch", "other")
"""Phases that the log announced, the first step, the end of an epoch, and what was announced
by nothing."""
ANNOUNCED = frozenset(("compile", "load", "evaluate", "save"))
KNOWN = 8
"""Steps before a pause can be told from the usual interval."""
PAUSE = 4.0
"""Times the usual interval that an interval must take to be a pause."""


class Pauses(Ledger):
    """The longest and second longest pause of every kind, in seconds."""

    takes: ClassVar[tuple[type, ...]] = (Step, Phase)

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        """How often a pause of a kind was seen."""
        self.longest: dict[str, float] = {}
        self.recurring: dict[str, float] = {}
        """The second longest: a pause that came back took at least that."""
        self.epoch_steps = 0.0
        """Steps between the last two ends of an epoch; 0 while fewer were seen."""
        self._epoch_at: float | None = None
        self._last: tuple[float, float] | None = None
        self._epoch: float | None = None
        self._usual = 0.0
        self._steps = 0
        self._announced: set[str] = set()

    def add(self, seen: Observation) -> None:
        """Take a phase, or the pause that an advance of the step counter ends."""
        if isinstance(seen, Phase):
            if seen.name in ANNOUNCED and seen.at > 0.0:
                self._announced.add(seen.name)
            return
        if not isinstance(seen, Step) or seen.number is None or seen.at <= 0.0:
            return
        last, self._last = self._last, (seen.at, seen.number)
        epoch, self._epoch = self._epoch, seen.epoch if seen.epoch is not None else self._epoch
        if last is None:
            self._announced.clear()
            return
        if seen.number == last[1]:
            self._last = last
            return
        if seen.at <= last[0]:  # read at one instant: a backlog, or a block of a buffer
            self._announced.clear()
            return
        self._pause(seen.at - last[0], turned=_turned(epoch, self._epoch), number=seen.number)

    def _pause(self, seconds: float, *, turned: bool, number: float) -> None:
        self._steps += 1
        if turned:
            if self._epoch_at is not None and number > self._epoch_at:
                self.epoch_steps = number - self._epoch_at
            self._epoch_at = number
        kinds = self._announced or ({"epoch"} if turned else set())
        if self._steps == 1:
            kinds = kinds | {"first"}
        if kinds:
            for kind in kinds:
                self._note(kind, seconds)
            self._announced = set()
        elif self._steps > KNOWN and seconds > PAUSE * self._usual:
            self._note("other", seconds)
        else:
            # A running mean of the unremarkable ones is enough to tell a pause by.
            share = 1.0 / min(self._steps, 50)
            self._usual += share * (seconds - self._usual)

    def _note(self, kind: str, seconds: float) -> None:
        self.seen[kind] = self.seen.get(kind, 0) + 1
        longest = self.longest.get(kind, 0.0)
        if seconds > longest:
            longest, seconds = seconds, longest
        self.longest[kind] = longest
        self.recurring[kind] = max(self.recurring.get(kind, 0.0), seconds)

    def epoch_ends(self, step: float, by: float) -> bool:
        """True when the epoch is about to end: ``by`` steps after ``step`` or before."""
        if self._epoch_at is None or self.epoch_steps <= 0.0:
            return False
        return step + 1.5 * max(by, 1.0) >= self._epoch_at + self.epoch_steps

    def save(self) -> dict[str, Any]:
        """What would take hours to learn again."""
        return {
            "seen": self.seen,
            "longest": self.longest,
            "recurring": self.recurring,
            "epoch": [self._epoch, self._epoch_at],
            "epoch_steps": self.epoch_steps,
            "usual": [self._usual, self._steps],
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what :meth:`save` gave."""
        try:
            seen = {k: int(v) for k, v in saved["seen"].items() if k in KINDS}
            longest = {k: float(v) for k, v in saved["longest"].items() if k in KINDS}
            recurring = {k: float(v) for k, v in saved["recurring"].items() if k in KINDS}
            epoch, at = (None if v is None else float(v) for v in saved["epoch"])
            length = float(saved["epoch_steps"])
            usual, steps = float(saved["usual"][0]), int(saved["usual"][1])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            return
        self.seen, self.longest, self.recurring = seen, longest, recurring
        self._epoch, self._epoch_at, self.epoch_steps = epoch, at, length
        self._usual, self._steps = usual, steps


def _turned(before: float | None, now: float | None) -> bool:
    """An epoch ended between two reports (fractions count on within one)."""
    if before is None or now is None or not math.isfinite(before) or not math.isfinite(now):
        return False
    return math.floor(now) > math.floor(before)
