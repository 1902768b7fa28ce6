"""Accumulators: what rules remember of a run, in bounded memory.

A sentinel is a pure function of its View. What it would have to add up over a whole run (a
noise level, a streak, what came after an error) is written down by an accumulator: the history
feeds it every observation once, in order, and the View shows it. Two rules may read the same
one. What an accumulator says depends on the observations alone, so a replayed log and a live one
give the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from . import codec
from .observations import Observation, Step


@dataclass(eq=False)
class Accumulator:
    """Base of all accumulators. A new one is empty."""

    stored_as: ClassVar[str] = ""
    """Its key in the store, where that is not the name of the class."""

    takes: ClassVar[tuple[type, ...]] = (Step,)
    """Observation types that it is fed."""
    SAVED: ClassVar[Any] = {}
    """What of it outlives a restart of the daemon, as :mod:`.codec` has it; nothing by default."""

    @classmethod
    def key(cls) -> str:
        """Its key in the store."""
        return cls.stored_as or cls.__name__

    @property
    def quiet(self) -> bool:
        """True while no rule that reads it can have anything to say: nobody needs to ask.

        A healthy step then costs no more than :meth:`add`.
        """
        return False

    def add(self, seen: Observation) -> None:
        """Write down one observation."""
        raise NotImplementedError

    def mark_gap(self) -> None:
        """The watch was stopped, or the clock was set: what comes next follows on nothing."""
        return

    def save(self) -> dict[str, Any]:
        """State as plain JSON values, for :meth:`restore` after a restart of the daemon."""
        saved: dict[str, Any] = codec.dump(self)
        return saved

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what :meth:`save` gave; what cannot be read changes nothing."""
        with suppress(codec.Unfit):
            codec.fill(self, saved)


@dataclass(frozen=True, slots=True)
class LoggedValue:
    """One value in a log: where it stands, and what it was."""

    at: float
    step: float | None
    line: int
    value: float
    text: str = ""
    SAVED: ClassVar[Any] = ("at", "step", "line", "value", "text")

    @classmethod
    def of(cls, seen: Step, value: float) -> LoggedValue:
        """The place of a report."""
        return cls(seen.at, seen.number, seen.line, value, seen.text)
