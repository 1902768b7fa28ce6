"""``history``: all attempts of a run as one, with what ended each of them and what that cost."""

from __future__ import annotations

import argparse
from typing import Any

from middlewatch.sentinels.kit.numbers import number

from ..report.run_history import chain_of, history
from ..system.clock import SystemClock, epoch
from ..text.figures import duration
from ..text.moments import past
from . import console
from .context import client


def show(args: argparse.Namespace) -> int:
    """Print the history of a run."""
    daemon = client(args)
    run = daemon.ask("status", run=args.run)["run"]
    chain = chain_of(daemon.ask("runs"), run)
    incidents = {one["run"]: daemon.ask("incidents", run=one["run"], all=True) for one in chain}
    told = history(chain, incidents)
    if args.json:
        console.as_json(told)
        return 0
    now = SystemClock().now()
    head = f"{told['name']}: {told['state']}, {len(told['attempts'])} attempt"
    console.say(head + ("s" if len(told["attempts"]) > 1 else ""))
    console.table(
        ("ATTEMPT", "RUN", "STATE", "STEPS", "LASTED", "STARTED", "ENDED BY", "COST"),
        [_line(one, now) for one in told["attempts"]],
    )
    for row in told["lost"]:
        steps = "" if row["steps"] is None else f", {number(row['steps'])} steps"
        times = "once" if row["times"] == 1 else f"{row['times']} times"
        console.say(f"lost by {row['class']}: {duration(row['seconds'])}{steps} ({times})")
    if told["cost"]:
        console.say(
            f"cost of all attempts: {told['cost']['amount']:.2f} {told['cost']['currency']}"
        )
    return 0


def _line(one: dict[str, Any], now: float) -> tuple[object, ...]:
    ended = epoch(one["ended_at"]) if one["ended_at"] else now
    first, last = one["first_step"], one["last_step"]
    steps = "-" if last is None else f"{'?' if first is None else number(first)}-{number(last)}"
    return (
        one["attempt"],
        one["run"],
        one["state"],
        steps,
        duration(max(0.0, ended - epoch(one["started_at"]))),
        past(epoch(one["started_at"]), now),
        one["ended_by"] or "-",
        "-" if one["cost"] is None else f"{one['cost']:.2f}",
    )
