"""Accumulators: what rules remember of a run, in bounded memory.

A sentinel is a pure function of its View. What has to be added up over a whole run (a noise level,
a streak, what followed an error) is kept by an accumulator: the history gives it every observation
once, in order, and the View has it. Several rules may read the same accumulator. Its state depends
on nothing but the observations, so that a replayed log and a live one lead to the same state.
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
    """Its key in the store, if that is not the name of the class."""

    takes: ClassVar[tuple[type, ...]] = (Step,)
    """Observation types that it is given."""
    SAVED: ClassVar[Any] = {}
    """The fields that are stored over a restart of the daemon (see :mod:`.codec`); by default
    none."""

    @classmethod
    def key(cls) -> str:
        """Its key in the store."""
        return cls.stored_as or cls.__name__

    @property
    def quiet(self) -> bool:
        """True while it gives no rule a reason to report anything.

        A rule is not called while all its accumulators are quiet, so that a healthy step costs no
        more than :meth:`add`.
        """
        return False

    def add(self, seen: Observation) -> None:
        """Take in one observation."""
        raise NotImplementedError

    def mark_gap(self) -> None:
        """The daemon was stopped for a time, or the clock was set: the time between the last
        observation and the next one means nothing."""
        return

    def save(self) -> dict[str, Any]:
        """The state as plain JSON values, for :meth:`restore` after a restart of the daemon."""
        saved: dict[str, Any] = codec.dump(self)
        return saved

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Load what :meth:`save` returned; when it cannot be read, nothing changes."""
        with suppress(codec.Unfit):
            codec.fill(self, saved)


@dataclass(frozen=True, slots=True)
class LoggedValue:
    """One value in a log, with its place there."""

    at: float
    step: float | None
    line: int
    value: float
    text: str = ""
    SAVED: ClassVar[Any] = ("at", "step", "line", "value", "text")

    @classmethod
    def of(cls, seen: Step, value: float) -> LoggedValue:
        """``value`` at the place of the report ``seen``."""
        return cls(seen.at, seen.number, seen.line, value, seen.text)
