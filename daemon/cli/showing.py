"""``runs``, ``status``, ``incidents``, ``ack``, ``silence``, ``tui``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from typing import Any

from middlewatch.sentinels.kit.numbers import number

from ..errors import DaemonUnreachable, UsageError
from ..sinks.status_page import page
from . import out
from .context import client, state
from .offline import stored_incidents

Row = Mapping[str, Any]
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def runs(args: argparse.Namespace) -> int:
    """A line per run."""
    known = client(args).ask("runs")
    if args.json:
        out.as_json(known)
        return 0
    if not known:
        print("no run is watched; try `middlewatch watch` or `middlewatch run -- CMD`")
        return 0
    rows = [
        (
            r["run"],
            r["state"],
            _step(r["now"]),
            _loss(r["now"]),
            len(r["incidents"]),
            r["started_at"],
        )
        for r in known
    ]
    out.table(("RUN", "STATE", "STEP", "LOSS", "OPEN", "STARTED"), rows)
    return 0


def _step(now: Row) -> str:
    if now["step"] is None:
        return "-"
    return number(now["step"]) + (f"/{number(now['total'])}" if now["total"] else "")


def _loss(now: Row) -> str:
    value = now["values"].get("train_loss")
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.4g}"


def status(args: argparse.Namespace) -> int:
    """What is true now about one run; exit 1 when an incident is open."""
    data = client(args).ask("status", run=args.run)
    bad = bool(data["incidents"]) or data["state"] in ("failed", "failing", "stalled")
    if args.json:
        out.as_json(data)
    elif args.oneline:
        step, loss = _step(data["now"]), _loss(data["now"])
        told = "; ".join(out.clean(i["summary"]) for i in data["incidents"]) or data["state_reason"]
        print(f"{data['run']} {out.paint(data['state'])} step {step} loss {loss}: {told}")
    else:
        text = page(data, data["box"], data["watch"], data["updated_at"])
        print("\n".join(out.clean(line) for line in text.splitlines()))
    return int(bad)


def incidents(args: argparse.Namespace) -> int:
    """Open incidents (or all); exit 1 while one is open."""
    asked = client(args)
    if args.follow:
        return _follow(args)
    try:
        known = asked.ask("incidents", run=args.run, all=args.all)
    except DaemonUnreachable:
        # The store is a witness: it can be read when nobody watches. Still exit 3.
        known = stored_incidents(state(args), everything=args.all, run=args.run)
        _show_incidents(known, as_json=args.json)
        raise
    _show_incidents(known, as_json=args.json)
    return int(any(i["state"] != "resolved" for i in known))


def _show_incidents(known: Iterable[Row], *, as_json: bool) -> None:
    known = list(known)
    if as_json:
        out.as_json(known)
    elif not known:
        print("no incident is open")
    for one in () if as_json else known:
        describe(one)


def describe(one: Row) -> None:
    """One incident with its proof, on several lines."""
    print(
        f"{one['id']}  {out.paint(one['severity'])}  {one['class']}  {one['state']}  "
        f"run {out.clean(one['run'])}  since {one['opened_at']}"
    )
    print(f"    {out.clean(one['summary'])}")
    for proof in one["evidence"]:
        print(f"    proof ({proof['kind']}): {out.clean(proof['text'])}")
    for symptom in one["symptoms"]:
        print(f"    with it: {out.clean(symptom)}")
    safe = "" if one["remedy"]["safe"] else " (costly)"
    print(f"    first step{safe}: {out.clean(one['remedy']['first_step'])}")


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
        out.as_line({"change": change["change"], **change["incident"]})
    else:
        one = change["incident"]
        print(
            f"{change['change']}: {one['id']} {out.paint(one['severity'])} {one['class']} "
            f"on {out.clean(one['run'])}: {out.clean(one['summary'])}",
            flush=True,
        )


def ack(args: argparse.Namespace) -> int:
    """Acknowledge one incident."""
    one = client(args).ask("ack", id=args.id)
    if args.json:
        out.as_json(one)
    else:
        print(f"{one['id']} is {one['state']}: {out.clean(one['summary'])}")
    return 0


def silence(args: argparse.Namespace) -> int:
    """No pushes for a while."""
    match = _DURATION.fullmatch(args.duration.strip())
    if not match:
        raise UsageError(f"cannot read the time {args.duration!r}", "write it like 30m, 2h or 1d")
    seconds = float(match[1]) * _SECONDS[match[2]]
    made = client(args).ask("silence", run=args.run, **{"class": args.trouble, "for_s": seconds})
    if args.json:
        out.as_json(made)
    else:
        about = " ".join(made[k] for k in ("run", "class") if made[k]) or "everything"
        print(f"no push about {about} until {made['until']}")
    return 0


def tui(args: argparse.Namespace) -> int:
    """The terminal screen on this box's daemon."""
    if args.host:
        raise UsageError(
            "watching other boxes from here is not in this version",
            f"use: ssh -t {args.host[0]} middlewatch tui",
        )
    from middlewatch.tui.app import main

    return main(str(state(args).socket))
