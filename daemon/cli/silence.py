"""``silence``: send no pushes for a while; which silences there are, and their end."""

from __future__ import annotations

import argparse
import re

from middlewatch.sentinels.kit.classes import CLASSES

from ..system.clock import SystemClock, epoch
from ..system.errors import UsageError
from ..text.moments import ahead
from ..text.similar import meant
from . import console
from .context import client

_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def silence(args: argparse.Namespace) -> int:
    """Begin, list or cancel silences. Raises UsageError for a time or a class that is none, and without a
    scope."""
    daemon = client(args)
    if args.list or args.cancel:
        known = daemon.ask("silences", cancel=args.cancel)
        if args.json:
            console.as_json(known)
        elif args.cancel:
            console.say(f"silence {args.cancel} is over")
        elif known:
            rows = [
                (s["id"], s["run"] or "every run", s["class"] or "every class", _until(s))
                for s in known
            ]
            console.table(("ID", "RUN", "CLASS", "UNTIL"), rows)
        else:
            console.say("there is no silence")
        return 0
    if not args.duration:
        raise UsageError("for how long?", "add --for 30m, 2h or 1d")
    for_s = seconds(args.duration)
    if not (args.run or args.trouble or args.all):
        raise UsageError("a silence of what?", "name --run RUN or --class CLASS, or say --all")
    names = [row.name for row in CLASSES]
    if args.trouble and args.trouble not in names:
        raise UsageError(
            f"there is no class {args.trouble!r}",
            meant(args.trouble, names) or "see middlewatch explain",
        )
    made = daemon.ask("silence", run=args.run, **{"class": args.trouble, "for_s": for_s})
    if args.json:
        console.as_json(made)
    else:
        about = " ".join(made[k] for k in ("run", "class") if made[k]) or "everything"
        console.say(f"no push about {about} until {_until(made)}")
        console.say(f"  to end it before: middlewatch silence --cancel {made['id']}")
    return 0


def seconds(text: str) -> float:
    """Seconds of a time like ``30m``. Raises UsageError."""
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise UsageError(f"cannot read the time {text!r}", "write it like 30m, 2h or 1d")
    return float(match[1]) * _SECONDS[match[2]]


def _until(made: dict[str, str]) -> str:
    return ahead(epoch(made["until"]), SystemClock().now())
