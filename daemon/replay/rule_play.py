"""Plays a finished log through the rules of the person: when each would have been told, and when it was over.

The rules are judged by the same code as in the daemon (:mod:`~.own_rules` of the kit), with the times of the
log, or with steps that all take as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from middlewatch.sentinels.kit import Observation, Step
from middlewatch.sentinels.kit.own_rules import AWAY_S, OwnRule, OwnRules, RuleState, ceased, proof

Clock = Literal["log", "steps", ""]


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule began to hold for its time, or ceased to for as long."""

    rule: OwnRule
    kind: Literal["opened", "resolved"]
    at_s: float
    """Seconds since the first report."""
    step: float | None
    line: int
    words: str


class RulePlay:
    """One log and the rules; ``step_s``: seconds that a step takes, for a log without times."""

    def __init__(self, rules: Iterable[OwnRule], step_s: float = 0.0) -> None:
        self.rules: Sequence[OwnRule] = [rule for rule in rules if not rule.state]
        self.reports = self.untimed = 0
        """Reports with a metric of a rule; those of them to which no time can be given."""
        self.clock: Clock = ""
        self.last_s = 0.0
        """Seconds from the first report to the last."""
        self.seen: set[str] = set()
        """Metrics that the log has."""
        self.opened: dict[str, int] = {rule.name: 0 for rule in self.rules}
        self._own = OwnRules()
        self._own.follow(self.rules)
        self._step_s = step_s
        self._first: float | None = None
        self._was: float | None = None
        self._added = 0.0

    @property
    def open(self) -> dict[str, bool]:
        """Rule -> whether it holds at the end of the log."""
        return {rule.name: self._own.standings[rule.name].held.open for rule in self.rules}

    def add(self, seen: Iterable[Observation]) -> Iterator[RuleChange]:
        """Take the next observations of the log; yields what changed."""
        for one in seen:
            if isinstance(one, Step) and not one.rank:
                yield from self._report(one)

    def _report(self, step: Step) -> Iterator[RuleChange]:
        self.seen.update(step.values)
        at = self._time(step)
        if any(rule.value(step.values) is not None for rule in self.rules):
            self.reports += 1
            self.untimed += at is None
        if at is None:
            at = self.last_s
        yield from self._silence(at, step)
        self.last_s = at
        before = self._opens()
        self._own.add(step._replace(at=at))
        yield from self._changes(before, at, step)

    def _silence(self, at: float, step: Step) -> Iterator[RuleChange]:
        """What time alone shows between the report before and this one."""
        for rule in self.rules:
            standing = self._own.standings[rule.name]
            due = self._own.silent_since(standing) + rule.no_report_for_s
            if rule.silent and due <= at and not standing.held.open:
                before = self._opens()
                self._look(due)
                yield from self._changes(before, due, step)
        self._look(at)

    def _look(self, at: float) -> None:
        """As the daemon looks, which never goes away for long while it plays a log."""
        looked = self._own.looked_at
        while looked is not None and at - looked > AWAY_S:
            looked += AWAY_S
            self._own.look(looked, "")
        self._own.look(at if looked is None else max(at, looked), "")

    def _opens(self) -> set[str]:
        return {name for name, one in self._own.standings.items() if one.held.open}

    def _changes(self, before: set[str], at: float, step: Step) -> Iterator[RuleChange]:
        for rule in self.rules:
            standing = self._own.standings[rule.name]
            if standing.held.open == (rule.name in before):
                continue
            self.opened[rule.name] += standing.held.open
            yield self._change(rule, standing, at, step)

    def _change(self, rule: OwnRule, standing: RuleState, at: float, step: Step) -> RuleChange:
        if standing.held.open:
            words = f"{rule.message or rule.name}: {proof(rule, standing, at)}"
            if rule.silent:  # the newest report that there was
                return RuleChange(rule, "opened", at, standing.step, standing.line, words)
            return RuleChange(rule, "opened", at, step.number, step.line, words)
        return RuleChange(rule, "resolved", at, step.number, step.line, ceased(rule, standing))

    def _time(self, step: Step) -> float | None:
        """Seconds since the first report; ``None`` where nothing tells it."""
        if self._step_s:
            told, self.clock = None if step.number is None else step.number * self._step_s, "steps"
        else:
            told = step.clock
            self.clock = "log" if told is not None else self.clock
        if told is None:
            return None
        if self._was is not None and told < self._was:
            # Started again: the log goes on, whatever its clock or its steps say.
            self._added += self._was - told
        self._was = told
        told += self._added
        self._first = told if self._first is None else self._first
        return told - self._first
