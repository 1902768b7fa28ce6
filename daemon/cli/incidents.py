"""``incidents``: list the open incidents or all of them, or print changes as they happen."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from ..system.errors import DaemonUnreachable
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
        print("no incident is open")
    for one in () if as_json else known:
        describe(one)


def describe(one: Row) -> None:
    """Print one incident with its evidence, on several lines."""
    print(
        f"{one['id']}  {console.paint(one['severity'])}  {one['class']}  {one['state']}  "
        f"run {console.clean(one['run'])}  since {one['opened_at']}"
    )
    print(f"    {console.clean(one['summary'])}")
    for proof in one["evidence"]:
        print(f"    evidence ({proof['kind']}): {console.clean(proof['text'])}")
    for symptom in one["symptoms"]:
        print(f"    symptom: {console.clean(symptom)}")
    safe = "" if one["remedy"]["safe"] else " (costly)"
    print(f"    first step{safe}: {console.clean(one['remedy']['first_step'])}")


def _follow(args: argparse.Namespace) -> int:
    run = client(args).ask("status", run=args.run)["run"] if args.run else None
    answers = client(args).follow("follow", run=run, all=args.all)
    for one in next(answers):
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
        print(
            f"{change['change']}: {one['id']} {console.paint(one['severity'])} {one['class']} "
            f"on {console.clean(one['run'])}: {console.clean(one['summary'])}",
            flush=True,
        )
