"""A rule that you wrote yourself has come true.

Decides: The condition of a section `[[rule]]` has held for its time, in each report or at each look; it
    is over when it has not held for as long.
Classes: own_rule
Sources: The person who wrote the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Finding, OpenIncident, Sentinel, Severity, Step, View
from .kit.own_rules import OwnRules, ceased, proof


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.own_rule]`."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding for each rule whose condition has held for its time."""
    own = view.accumulator(OwnRules)
    for rule in () if own is None else own.rules:
        standing = own.standings[rule.name] if own is not None else None
        if standing is None or not standing.held.open:
            continue
        yield Finding(
            trouble="own_rule",
            severity=Severity.parse(rule.severity),
            summary=f"{rule.message or rule.name}: {proof(rule, standing, view.now)}",
            key=rule.name,
            file=standing.file,
            line=standing.line,
            since=standing.held.true_since,
            details={
                "rule": rule.name,
                "metric": rule.metric or None,
                "value": standing.value,
                "state": rule.state or None,
            },
        )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the condition has not held for as long as it had to hold."""
    own = view.accumulator(OwnRules)
    if own is None:
        return ""
    rule = next((one for one in own.rules if one.name == case.key), None)
    if rule is None and case.trouble != "own_rule":
        return ""
    if rule is None:
        return f"the rule {case.key} is not in the configuration any more"
    return ceased(rule, own.standings[rule.name])


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(Step,),
    every_tick=True,
    clears_after_s=0.5,  # how long a condition must not hold is said by the rule itself
    accumulators=(OwnRules,),
    recovered=recovered,
)
