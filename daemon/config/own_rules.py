"""Reads the sections `[[rule]]`: rules of the person, checked before anything is judged by them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from typing import Any

from middlewatch.sentinels.kit.own_rules import STATES, OwnRule, amount

from ..system.errors import ConfigError

MOST = 50
"""Rules at most: each is looked at with every report of every run. Our choice."""
LONGEST_S = 7 * 86400.0
"""Seconds of a duration at most: a rule that needs longer has forgotten what it is about. Our choice."""
LONGEST_MESSAGE = 200
_NAME = re.compile(r"[\w.\-]{1,40}")
_COUNTERS = ("step", "epoch", "total", "epochs")
CONDITIONS = ("above", "below", "rises_by", "falls_by", "no_report_for")
_EXAMPLE = 'write it like name = "loss-high", metric = "loss", above = 9.0, for = "10m"'

Fill = Callable[[Mapping[str, Any], str], OwnRule]
"""(the values of one section, its dotted name) -> the rule; raises ConfigError."""
Complain = Callable[[str, str, str], ConfigError]
"""(dotted name, problem, hint) -> the error that names the line."""


def read_rules(given: object, fill: Fill, complain: Complain) -> tuple[OwnRule, ...]:
    """The rules of the configuration file, in its order. Raises ConfigError."""
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise complain("rule", "must be written as [[rule]], once for each rule", _EXAMPLE)
    if len(given) > MOST:
        raise complain(f"rule.{MOST + 1}", f"is one rule too many: {MOST} at most", _EXAMPLE)
    rules: list[OwnRule] = []
    for number, values in enumerate(given, 1):
        section = f"rule.{number}"
        rule = fill(values, section)
        if found := _wrong(rule, values):
            key, problem, hint = found
            raise complain(f"{section}.{key}" if key else section, problem, hint or _EXAMPLE)
        if any(rule.name == other.name for other in rules):
            raise complain(f"{section}.name", f"{rule.name!r} is the name of another rule", "")
        rules.append(rule)
    return tuple(rules)


def _wrong(rule: OwnRule, values: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """(key, what is wrong with it, what to write) of the first mistake."""
    if not rule.name:
        return "", "has no name", _EXAMPLE
    if not _NAME.fullmatch(rule.name):
        return "name", "has letters, digits, - _ and . only, 40 at most", ""
    conditions = [key for key in CONDITIONS if key in values]
    found = _subject(rule, conditions) or _durations(rule, values)
    if found:
        return found
    for key in ("rises_by", "falls_by"):
        if key in values:
            try:
                amount(values[key], 1.0)
            except ValueError as error:
                return key, str(error), f'write it like {key} = 0.5 or {key} = "20%"'
    if len(rule.message) > LONGEST_MESSAGE:
        return "message", f"is too long: {LONGEST_MESSAGE} characters at most", ""
    for pattern in rule.runs:
        try:
            translate(pattern)
        except ValueError:
            return "runs", f"cannot read the pattern {pattern!r}", ""
        if not pattern:
            return "runs", "has an empty pattern", ""
    return None


def _subject(rule: OwnRule, conditions: list[str]) -> tuple[str, str, str] | None:
    known = ", ".join(CONDITIONS)
    if rule.metric and rule.state:
        return "state", "and metric cannot stand together: write two rules", ""
    if rule.state:
        if rule.state not in STATES:
            return "state", f"is none of {', '.join(STATES)}", ""
        if conditions:
            return conditions[0], "needs a metric; a state has no value", ""
        return None
    if not rule.metric:
        return "", "has neither a metric nor a state", _EXAMPLE
    if rule.key in _COUNTERS:
        problem = f"{rule.metric!r} is a counter, not a metric"
        return (
            "metric",
            problem,
            'for a run without steps: no_report_for = "20m" with metric = "loss"',
        )
    if not conditions:
        return "metric", f"has no condition; one of {known}", _EXAMPLE
    if len(conditions) > 1:
        return conditions[1], f"is a second condition, after {conditions[0]}: write two rules", ""
    return None


def _durations(rule: OwnRule, values: Mapping[str, Any]) -> tuple[str, str, str] | None:
    if "no_report_for" in values:
        if not rule.no_report_for_s:
            return "no_report_for", "must be more than zero", 'like no_report_for = "20m"'
        if "for" in values:
            return "for", "has no meaning beside no_report_for", "leave it out"
    if "within" in values:
        if not {"rises_by", "falls_by"} & set(values):
            return (
                "within",
                "is for rises_by and falls_by only; how long a condition holds is `for`",
                "",
            )
        if not rule.within_s:
            return "within", "must be more than zero", 'like within = "1h"'
    told = {"for": rule.for_s, "within": rule.within_s, "no_report_for": rule.no_report_for_s}
    for key, seconds in told.items():
        if seconds > LONGEST_S:
            return key, "is too long: 7 days at most", ""
    return None
