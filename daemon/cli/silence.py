"""``silence``: send no pushes for a while."""

from __future__ import annotations

import argparse
import re

from ..system.errors import UsageError
from . import console
from .context import client

_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def silence(args: argparse.Namespace) -> int:
    """Send no pushes for a while. Raises UsageError for a time that cannot be read."""
    match = _DURATION.fullmatch(args.duration.strip())
    if not match:
        raise UsageError(f"cannot read the time {args.duration!r}", "write it like 30m, 2h or 1d")
    seconds = float(match[1]) * _SECONDS[match[2]]
    made = client(args).ask("silence", run=args.run, **{"class": args.trouble, "for_s": seconds})
    if args.json:
        console.as_json(made)
    else:
        about = " ".join(made[k] for k in ("run", "class") if made[k]) or "everything"
        console.say(f"no push about {about} until {made['until']}")
    return 0
