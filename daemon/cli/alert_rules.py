"""``alert rules``: the rules of the person, and what they would have told about an old log."""

from __future__ import annotations

import argparse
from typing import Any

from middlewatch.sentinels.kit.numbers import number, span
from middlewatch.sentinels.kit.own_rules import OwnRule

from ..parsers import backlog
from ..replay.decompress import DamagedLog
from ..replay.log_input import open_log
from ..replay.rule_play import RuleChange, RulePlay
from ..system.errors import ConfigError, UsageError
from . import console
from .context import configuration
from .named_files import check_finished_log
from .silence import seconds

EXAMPLE = "middlewatch alert rules test train.log"


def rules(args: argparse.Namespace, words: list[str]) -> int:
    """List the rules, or with ``test FILE`` play a finished log through them; exit 1 when one would have
    been told. Raises UsageError, and ConfigError when there are none."""
    known = configuration(args).rules
    if not words:
        return _list(args, known)
    if words[0] != "test" or len(words) != 2:
        raise UsageError("`alert rules` takes `test` and one log", f"example: {EXAMPLE}")
    if not known:
        raise ConfigError(
            "the configuration has no [[rule]]",
            'like [[rule]] name = "loss-high", metric = "loss", above = 9.0, for = "10m"',
        )
    return _test(args, words[1], known)


def _list(args: argparse.Namespace, known: tuple[OwnRule, ...]) -> int:
    if args.json:
        console.as_json([_row(rule) for rule in known])
        return 0
    if not known:
        console.say("the configuration has no [[rule]]")
        return 0
    rows = [
        (rule.name, rule.severity, rule.metric or f"state {rule.state}", condition(rule))
        for rule in known
    ]
    console.table(("RULE", "SEVERITY", "OF", "TOLD WHEN"), rows)
    return 0


def _row(rule: OwnRule) -> dict[str, Any]:
    shown = {"name": rule.name, "severity": rule.severity, "metric": rule.metric or None}
    return shown | {"state": rule.state or None, "condition": condition(rule)}


def condition(rule: OwnRule) -> str:
    """What a rule waits for, in words."""
    lasts = f" for {span(rule.for_s)}" if rule.for_s else ""
    if rule.state:
        return f"the run is {rule.state}{lasts}"
    if rule.silent:
        return f"no report for {span(rule.no_report_for_s)}"
    if rule.above is not None:
        return f"above {number(rule.above)}{lasts}"
    if rule.below is not None:
        return f"below {number(rule.below)}{lasts}"
    way, by = ("rises", rule.rises_by) if rule.rises_by is not None else ("falls", rule.falls_by)
    return f"{way} by {by} within {span(rule.within_s)}{lasts}"


def _test(args: argparse.Namespace, name: str, known: tuple[OwnRule, ...]) -> int:
    play = RulePlay(known, seconds(args.step_time) if args.step_time else 0.0)
    check_finished_log(name)
    source = open_log(name)
    reader = backlog.everything(name)
    changes: list[RuleChange] = []
    damage = ""
    try:
        for chunk in source.chunks():
            changes += play.add(reader.feed(chunk, 0.0))
    except DamagedLog as error:
        damage = str(error)
    finally:
        source.close()
    changes += play.add(reader.finish(0.0))
    timed = any(rule.for_s or rule.silent or rule.rises_by or rule.falls_by for rule in play.rules)
    if timed and play.reports and play.untimed == play.reports:
        raise UsageError(
            f"{name} has no times in its lines, and these rules need them",
            "say how long a step takes: --step-time 1.5s",
        )
    if args.json:
        _told_as_json(name, known, play, changes, damage)
    else:
        _told(name, known, play, changes)
        if damage:
            console.complain(f"middlewatch: {name}: {damage}")
    return 2 if damage else int(bool(changes))


def _told_as_json(
    name: str, known: tuple[OwnRule, ...], play: RulePlay, changes: list[RuleChange], damage: str
) -> None:
    for one in changes:
        record = {"type": one.kind, "file": name, "line": one.line, "step": one.step}
        record |= {"at_s": round(one.at_s, 3), "rule": one.rule.name}
        console.as_line(record | {"severity": one.rule.severity, "summary": one.words})
    console.as_line(
        {
            "type": "end",
            "file": name,
            "reports": play.reports,
            "clock": play.clock or None,
            "lasted_s": round(play.last_s, 3),
            "rules": [
                _row(rule)
                | {
                    "tried": not rule.state,
                    "metric_seen": _seen(rule, play) if rule.metric else None,
                    "opened": play.opened.get(rule.name, 0),
                    "open": play.open.get(rule.name, False),
                }
                for rule in known
            ],
            "damage": damage or None,
        }
    )


def _told(name: str, known: tuple[OwnRule, ...], play: RulePlay, changes: list[RuleChange]) -> None:
    by = {"log": "times of the log", "steps": "times from its steps", "": "no times"}[play.clock]
    console.say(f"{name}: {play.reports:,} reports over {span(play.last_s)} ({by})")
    for one in changes:
        step = "" if one.step is None else f", step {number(one.step)}"
        head = one.rule.severity.upper() if one.kind == "opened" else "RESOLVED"
        console.say(f"  after {span(one.at_s)}, line {one.line}{step}: [{head}] {one.words}")
    for rule in known:
        if rule.state:
            console.say(f"  {rule.name}: not tried, a log does not show the state of a run")
        elif not _seen(rule, play):
            console.say(f"  {rule.name}: the log has no {rule.metric}; it has {_names(play)}")
        elif not play.opened[rule.name]:
            console.say(f"  {rule.name}: would not have been told")
        elif play.open[rule.name]:
            console.say(f"  {rule.name}: still holds at the end of the log")


def _seen(rule: OwnRule, play: RulePlay) -> bool:
    return rule.key in play.seen or rule.metric in play.seen


def _names(play: RulePlay) -> str:
    return ", ".join(sorted(play.seen)[:12]) or "no numbers"
