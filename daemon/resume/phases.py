"""Whether the next phase of a training may begin: a pure decision on the end of the one before.

A phase has ended well when its command finished, it made its steps, its last save passed its check, and
its test of success holds for its last reports. What is not known of these is not taken as a success.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from middlewatch.sentinels.kit.numbers import number

TOKENS = ("tokens", "tokens_seen", "consumed_tokens", "total_tokens", "num_tokens")
"""Names under which trainers report the tokens that they have seen so far."""
_TEST = re.compile(r"\s*([\w./-]+)\s*(<=|>=|<|>)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class PlannedPhase:
    """One phase: its command with its own arguments, and when it counts as done."""

    name: str
    command: tuple[str, ...]
    steps: float = 0.0
    tokens: float = 0.0
    success: str = ""


@dataclass(frozen=True, slots=True)
class PhasePlan:
    """The phases of a training in their order."""

    phases: tuple[PlannedPhase, ...]

    def place(self, name: str) -> int:
        """Which phase that is, counted from 0. Raises KeyError."""
        for place, one in enumerate(self.phases):
            if one.name == name:
                return place
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class LastSave:
    """The newest save of a phase. ``state``: ``ok``, ``pending``, ``corrupt``, …"""

    path: str
    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PhaseEnd:
    """What is known of a phase that has ended."""

    finished: bool
    why_not: str = ""
    """How it ended instead."""
    began_at_step: float = 0.0
    """The step that it went on from, if its counter goes on."""
    step: float | None = None
    every: float = 0.0
    """Steps between two reports: the last ones may not be reported."""
    values: Mapping[str, float] | None = None
    """The last value of each metric."""
    save: LastSave | None = None


@dataclass(frozen=True, slots=True)
class PhaseDone:
    """It has ended well; ``why``: what was checked, for a person."""

    why: str


@dataclass(frozen=True, slots=True)
class PhaseMissed:
    """It has not: the next one is not started."""

    why: str


@dataclass(frozen=True, slots=True)
class PhaseUnclear:
    """Its last save is still being checked."""


PhaseVerdict = PhaseDone | PhaseMissed | PhaseUnclear


def judge(phase: PlannedPhase, end: PhaseEnd) -> PhaseVerdict:
    """Whether a phase has done what it was for."""
    if not end.finished:
        return PhaseMissed(f"phase {phase.name} did not finish: {end.why_not}")
    if missed := _steps(phase, end) or _tokens(phase, end):
        return PhaseMissed(f"phase {phase.name} {missed}")
    save = end.save
    if save is None:
        return PhaseMissed(f"phase {phase.name} has left no save")
    if save.state == "pending":
        return PhaseUnclear()
    if save.state != "ok":
        return PhaseMissed(f"the last save of phase {phase.name} is {save.state}: {save.path}")
    held, words = passes(phase.success, end.values or {})
    if not held:
        return PhaseMissed(f"phase {phase.name} is done, but {words}")
    return PhaseDone(", ".join(filter(None, [_reached(end), words, f"{save.path} is whole"])))


def passes(test: str, values: Mapping[str, float]) -> tuple[bool, str]:
    """(whether ``test``, like ``eval_loss < 2.9``, holds for the last reports, in words). An empty test
    holds. Raises ValueError for one that cannot be read."""
    if not test.strip():
        return True, ""
    match = _TEST.fullmatch(test)
    if match is None:
        raise ValueError(f"cannot read the test {test!r}")
    name, sign, bound = match[1], match[2], float(match[3])
    value = values.get(name)
    if value is None:
        return False, f"{name} was never reported (wanted: {test.strip()})"
    held = {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
    }[sign]
    return held, f"{name} is {number(value)}" + ("" if held else f" (wanted: {test.strip()})")


def _steps(phase: PlannedPhase, end: PhaseEnd) -> str:
    if not phase.steps:
        return ""
    if end.step is None:
        return "was not seen to make a step"
    made = end.step - end.began_at_step
    if made + max(1.0, end.every) > phase.steps:
        return ""
    return f"ended after {number(made)} of its {number(phase.steps)} steps"


def _tokens(phase: PlannedPhase, end: PhaseEnd) -> str:
    """Tokens count where the trainer reports them; its own end is all that is known otherwise."""
    known = [value for name in TOKENS if (value := (end.values or {}).get(name)) is not None]
    if not phase.tokens or not known or known[0] >= phase.tokens:
        return ""
    return f"ended after {number(known[0])} of its {number(phase.tokens)} tokens"


def _reached(end: PhaseEnd) -> str:
    return "" if end.step is None else f"step {number(end.step)}"
