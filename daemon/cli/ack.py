"""``ack``: mark an incident as seen by a person."""

from __future__ import annotations

import argparse

from . import console
from .context import client


def ack(args: argparse.Namespace) -> int:
    """Acknowledge one incident: no more reminders about it."""
    one = client(args).ask("ack", id=args.id)
    if args.json:
        console.as_json(one)
    else:
        console.say(f"{one['id']} is {one['state']}: {one['summary']}")
    return 0
