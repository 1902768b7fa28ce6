"""``incidents``: list the open incidents or all of them, or print changes as they happen."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from ..system.clock import SystemClock, epoch
from ..system.errors import DaemonUnreachable
from ..text.moments import past
from . import console
from .context import client, state
from .offline import stored_incidents

Row = Mapping[str, Any]


def incidents(args: argparse.Namespace) -> int:
    """List the open incidents (or all); exit 1 when one is open."""
    asked = client(args)
    if args.follow:
        return _follow(args)
    try:
        known = asked.ask("incidents", run=args.run, all=args.all)
    except DaemonUnreachable:
        # Without a daemon the store still has the incidents: print them, but exit with 3.
        known = stored_incidents(state(args), everything=args.all, run=args.run)
        _show_incidents(known, as_json=args.json)
        raise
    _show_incidents(known, as_json=args.json)
    return int(any(i["state"] != "resolved" for i in known))


def _show_incidents(known: Iterable[Row], *, as_json: bool) -> None:
    known = list(known)
    if as_json:
        console.as_json(known)
    elif not known:
        console.say("no incident is open")
    for one in () if as_json else known:
        describe(one)


def describe(one: Row) -> None:
    """Print one incident with its evidence, on several lines."""
    console.say(
        f"{one['id']}  ",
        console.paint(one["severity"]),
        f"  {one['class']}  {one['state']}  run {one['run']}  since {_when(one.get('since') or one['opened_at'])}",
    )
    console.say(f"    {one['summary']}")
    for proof in one["evidence"]:
        console.say(f"    evidence ({proof['kind']}): {proof['text']}")
    for symptom in one["symptoms"]:
        console.say(f"    symptom: {symptom}")
    safe = "" if one["remedy"]["safe"] else " (costly)"
    console.say(f"    first step{safe}: {one['remedy']['first_step']}")


def _when(told: str) -> str:
    return past(epoch(told), SystemClock().now())


def _follow(args: argparse.Namespace) -> int:
    run = client(args).ask("status", run=args.run)["run"] if args.run else None
    answers = client(args).follow("follow", run=run)
    known = next(answers)
    if args.all:  # asked when changes are followed already: a list of years comes in pages
        known = client(args).ask("incidents", run=run, all=True)
    for one in known:
        _print_change({"change": "known", "incident": one}, as_json=args.json)
    for change in answers:
        if run in (None, change["incident"]["run"]):
            _print_change(change, as_json=args.json)
    return 0


def _print_change(change: Row, *, as_json: bool) -> None:
    if as_json:
        console.as_line({"change": change["change"], **change["incident"]})
    else:
        one = change["incident"]
        console.say(
            f"{change['change']}: {one['id']} ",
            console.paint(one["severity"]),
            f" {one['class']} on {one['run']}: {one['summary']}",
            flush=True,
        )
