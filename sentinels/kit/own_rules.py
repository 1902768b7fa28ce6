"""Rules that a person wrote: a condition on a metric of the log, or on the state of the run, for a time.

A condition on the value of a metric is looked at with each report that has it, and at no other time, so
that a living run and its log give the same answer. Silence and the state of the run are looked at once a
second (:func:`look`). What is kept of a rule is a few numbers, whatever the run reports.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from .accumulator import Accumulator
from .metric_keys import canonical, fold
from .numbers import number, span
from .observations import Observation, SeverityName, Step

STATES = ("running", "stalled", "failing", "unknown")
"""States of a run that lives."""
PARTS = 30
"""Parts into which `within` is cut: the mean of each is kept, not every report. Our choice."""
AWAY_S = 120.0
"""Seconds between two looks after which nobody has watched: what was silent, or in a state, counts from
the second one. Our choice: a crowded box looks every few seconds."""


@dataclass(frozen=True)
class OwnRule:
    """Section `[[rule]]`: when you want to be told of something that only you know to be wrong."""

    name: str = ""
    """Its name in pushes; required, and each only once."""
    metric: str = ""
    """A number of the log, like `"loss"`, `"grad_norm"` or a name as `replay --json --metrics` prints it."""
    state: str = ""
    """Instead of a metric a state of the run: `running`, `stalled`, `failing` or `unknown`."""
    above: float | None = None
    """The condition holds while the metric is higher than this."""
    below: float | None = None
    """The condition holds while the metric is lower than this."""
    rises_by: Any = None
    """It holds while the metric is higher by so much than it was at its lowest within `within`: a number,
    or a share like `"20%"`."""
    falls_by: Any = None
    """It holds while the metric is lower by so much than it was at its highest within `within`."""
    within_s: float = 3600.0
    """How far back `rises_by` and `falls_by` look; they compare with means of a thirtieth of it."""
    no_report_for_s: float = 0.0
    """It holds once the log has not had this metric for so long, from the start of the watch on."""
    for_s: float = 0.0
    """How long the condition must hold, in each report or at each look, before it is told. It is over
    when it has not held for as long."""
    severity: SeverityName = "warning"
    """`critical` rings at any hour; `warning` within the budget; `info` is for the status page."""
    message: str = ""
    """Your words, before the numbers that prove it; empty: the name."""
    runs: tuple[str, ...] = ()
    """Patterns of names of runs that it is for, like `"gpt-*"`. Empty: all."""

    SAVED: ClassVar[Any] = {
        "name": "name",
        "metric": "metric",
        "state": "state",
        "above": "above",
        "below": "below",
        "rises_by": "rises_by",
        "falls_by": "falls_by",
        "within": "within_s",
        "no_report_for": "no_report_for_s",
        "for": "for_s",
        "severity": "severity",
        "message": "message",
        "runs": "runs",
    }

    @cached_property
    def key(self) -> str:
        """The canonical name of its metric."""
        return canonical(fold(self.metric)) or self.metric

    def value(self, values: Mapping[str, float]) -> float | None:
        """Its metric in a report; ``None`` without it. A loss that is not the one that is optimised keeps
        the name that the log gives it."""
        found = values.get(self.key)
        return values.get(self.metric) if found is None else found

    @property
    def silent(self) -> bool:
        """It is about a metric that does not come."""
        return self.no_report_for_s > 0

    @property
    def needs_looks(self) -> bool:
        """It is judged by time, not by reports."""
        return self.silent or bool(self.state)

    @property
    def mark(self) -> str:
        """What it judges: another condition under the same name begins anew."""
        told = (self.key, self.state, self.above, self.below, self.rises_by, self.falls_by)
        return repr((*told, self.within_s, self.no_report_for_s, self.for_s))


@dataclass(slots=True)
class Held:
    """Whether a condition has held for a time and, once it has, not yet ceased to for as long.

    Times are epoch seconds, or those of a log.
    """

    open: bool = False
    true_since: float | None = None
    false_since: float | None = None
    seen_at: float = 0.0
    """When it was looked at last."""

    def see(self, at: float, *, holds: bool, for_s: float) -> None:
        """Take in whether it holds at ``at``."""
        self.seen_at = at
        if holds:
            self.false_since = None
            self.true_since = at if self.true_since is None else min(self.true_since, at)
            self.open = self.open or at - self.true_since >= for_s
        else:
            self.true_since = None
            self.false_since = at if self.false_since is None else min(self.false_since, at)
            self.open = self.open and at - self.false_since < for_s

    def begin_again(self) -> None:
        """The time until now means nothing; what is open stays open."""
        self.true_since = self.false_since = None


@dataclass(slots=True)
class Past:
    """What a metric was within a time, in at most :data:`PARTS` and one means."""

    parts: deque[list[float]] = field(default_factory=lambda: deque(maxlen=PARTS + 1))
    """(beginning, sum, number of values) of each part, oldest first."""

    def add(self, at: float, value: float, within_s: float) -> None:
        """Take in a value; what is older than ``within_s`` is forgotten."""
        if self.parts and at < self.parts[-1][0]:
            self.parts.clear()  # the clock was set back
        if not self.parts or at - self.parts[-1][0] >= within_s / PARTS:
            self.parts.append([at, 0.0, 0.0])
        self.parts[-1][1] += value
        self.parts[-1][2] += 1.0
        while self.parts[0][0] < at - within_s:
            self.parts.popleft()

    def means(self) -> Iterator[float]:
        """The mean of each part."""
        return (total / count for _, total, count in self.parts)


@dataclass(slots=True)
class RuleState:
    """How one rule stands about one run."""

    mark: str = ""
    held: Held = field(default_factory=Held)
    past: Past = field(default_factory=Past)
    value: float | None = None
    """The newest value of the metric that was compared."""
    reported_at: float | None = None
    line: int = 0
    file: str = ""
    step: float | None = None
    """Where the condition began to hold."""
    was: float | None = None
    """What a change is measured from, at the newest report."""


@dataclass(eq=False)
class OwnRules(Accumulator):
    """How the rules of the person stand about one run; without rules it is quiet and empty."""

    takes: ClassVar[tuple[type, ...]] = (Step,)
    standings: dict[str, RuleState] = field(default_factory=dict)
    looked_at: float | None = None
    """The newest look (epoch seconds)."""
    counts_from: float = 0.0
    """From when on silence is counted, where there was no report: since then somebody has watched."""
    rules: Sequence[OwnRule] = ()
    SAVED: ClassVar[Any] = {
        "standings": "standings",
        "looked_at": "looked_at",
        "counts_from": "counts_from",
    }

    @property
    def quiet(self) -> bool:
        """While no condition has held for its time, and none that has is ceasing to."""
        return not any(one.held.open for one in self.standings.values())

    def follow(self, rules: Iterable[OwnRule]) -> None:
        """Judge by these rules; what is known of them from before a restart stays."""
        self.rules = tuple(rules)
        before = self.standings
        self.standings = {}
        for rule in self.rules:
            known = before.get(rule.name)
            same = known is not None and known.mark == rule.mark
            self.standings[rule.name] = known if known and same else RuleState(rule.mark)

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Load what was saved, as far as it is of rules that are still followed."""
        super().restore(saved)
        if self.rules:
            self.follow(self.rules)

    def add(self, seen: Observation) -> None:
        """Take in a report of the first rank: others say the same of other data."""
        if not self.rules or not isinstance(seen, Step) or seen.rank:
            return
        for rule in self.rules:
            value = rule.value(seen.values) if rule.metric else None
            if value is not None:
                self._report(rule, self.standings[rule.name], seen, value)

    def _report(self, rule: OwnRule, standing: RuleState, seen: Step, value: float) -> None:
        standing.reported_at = seen.at
        if rule.silent:
            standing.held.see(seen.at, holds=False, for_s=0.0)
            standing.value, standing.line, standing.file = value, seen.line, seen.file
            standing.step = seen.number
            return
        if math.isnan(value):
            return  # neither above nor below anything; `nan_loss` tells it
        holds = self._holds(rule, standing, seen.at, value)
        if holds and standing.held.true_since is None and not standing.held.open:
            standing.line, standing.file, standing.step = seen.line, seen.file, seen.number
        standing.value = value
        standing.held.see(seen.at, holds=holds, for_s=rule.for_s)

    def _holds(self, rule: OwnRule, standing: RuleState, at: float, value: float) -> bool:
        if rule.above is not None:
            return value > rule.above
        if rule.below is not None:
            return value < rule.below
        rises = rule.rises_by is not None
        means = list(standing.past.means())
        if math.isfinite(value):
            standing.past.add(at, value, rule.within_s)
        if not means:
            return False
        standing.was = min(means) if rises else max(means)
        by = amount(rule.rises_by if rises else rule.falls_by, standing.was)
        return value - standing.was > by if rises else standing.was - value > by

    def look(self, at: float, state: str) -> None:
        """Look at what only time shows. ``state``: that of the run now."""
        if self.looked_at is None or not 0.0 <= at - self.looked_at <= AWAY_S:
            self.counts_from = at
            for rule in self.rules:
                if rule.needs_looks:
                    self.standings[rule.name].held.begin_again()
        self.looked_at = at
        for rule in self.rules:
            standing = self.standings[rule.name]
            if rule.state:
                standing.held.see(at, holds=state == rule.state, for_s=rule.for_s)
            elif rule.silent and at - self.silent_since(standing) >= rule.no_report_for_s:
                standing.held.see(at, holds=True, for_s=0.0)

    def silent_since(self, standing: RuleState) -> float:
        """Since when a metric did not come, as far as somebody has watched."""
        if standing.reported_at is None:
            return self.counts_from
        return max(standing.reported_at, self.counts_from)

    def mark_gap(self) -> None:
        """Times before and after cannot be compared."""
        for standing in self.standings.values():
            standing.held.begin_again()
            standing.past.parts.clear()


def amount(by: object, base: float) -> float:
    """A change as a number: as it is, or a share (``"20%"``) of ``base``. Raises ValueError."""
    if isinstance(by, str):
        text = by.strip()
        if not text.endswith("%"):
            raise ValueError(f"cannot read {by!r}")
        told = float(text[:-1]) / 100.0
        size = told * abs(base)
    elif isinstance(by, (int, float)) and not isinstance(by, bool):
        size = told = float(by)
    else:
        raise ValueError(f"cannot read {by!r}")
    if not (math.isfinite(told) and told > 0.0):
        raise ValueError(f"must be more than zero, not {by!r}")
    return size


def follow(accumulators: Mapping[type[Accumulator], Accumulator], rules: Iterable[OwnRule]) -> None:
    """Have what is remembered of a run judged by these rules as well."""
    found = accumulators.get(OwnRules)
    if isinstance(found, OwnRules):
        found.follow(rules)


def look(accumulators: Mapping[type[Accumulator], Accumulator], at: float, state: str) -> None:
    """Once a second: what only time shows about a run that is in this ``state``."""
    found = accumulators.get(OwnRules)
    if isinstance(found, OwnRules) and found.rules:
        found.look(at, state)


def proof(rule: OwnRule, standing: RuleState, now: float) -> str:
    """The numbers that show that the condition holds: ``train_loss is 9.4, above 9 for 10 min``."""
    lasts = f" for {span(rule.for_s)}" if rule.for_s else ""
    if rule.state:
        return f"the run is {rule.state}{lasts}"
    if rule.silent:
        silent = rule.no_report_for_s
        if standing.reported_at is not None:
            silent = max(silent, now - standing.reported_at)
        return f"no {rule.metric} for {span(silent)}"
    is_now = f"{rule.metric} is {number(standing.value or 0.0)}"
    if rule.above is not None:
        return f"{is_now}, above {number(rule.above)}{lasts}"
    if rule.below is not None:
        return f"{is_now}, below {number(rule.below)}{lasts}"
    was, by = number(standing.was or 0.0), rule.rises_by
    ago = span(rule.within_s)
    if by is not None:
        return f"{is_now}, {_by(by)} above its lowest of {ago} ({was}){lasts}"
    return f"{is_now}, {_by(rule.falls_by)} below its highest of {ago} ({was}){lasts}"


def ceased(rule: OwnRule, standing: RuleState) -> str:
    """What is well again, once the condition has not held for as long as it had to; empty before.

    Also of an incident that an earlier daemon opened, whose rule is judged anew.
    """
    held = standing.held
    if held.open or held.false_since is None or held.true_since is not None:
        return ""
    if held.seen_at - held.false_since < rule.for_s:
        return ""
    lasts = f" for {span(rule.for_s)}" if rule.for_s else ""
    if rule.state:
        return f"the run is not {rule.state} any more{lasts}"
    if standing.reported_at is None or standing.value is None:
        return ""
    if rule.silent:
        return f"{rule.metric} is reported again: {number(standing.value)}"
    return f"{rule.metric} is {number(standing.value)}: {rule.name} has not held{lasts}"


def _by(by: object) -> str:
    return by.strip() if isinstance(by, str) else f"more than {number(float(str(by)))}"
