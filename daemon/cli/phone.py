"""Whether anybody is called: said by the commands that begin a watch."""

from __future__ import annotations

import argparse
from typing import Any

from ..config.phones import print_of
from ..system.errors import MiddlewatchError
from . import console
from .context import client, configuration

SETUP = "middlewatch setup"
ADD = "middlewatch alert add ntfys://ntfy.sh/YOUR-OWN-TOPIC"


def say_phone(args: argparse.Namespace) -> None:
    """Say when the daemon has nobody to call, or does not use the alert URLs of this shell."""
    for line in phone_words(args, client(args).ask("routes")):
        console.say(line)


def phone_words(args: argparse.Namespace, routes: dict[str, Any]) -> list[str]:
    """The sentences; none when all is well. ``routes``: the answer of the daemon."""
    try:
        mine = {print_of(url) for url in configuration(args).alert_urls}
    except MiddlewatchError:
        mine = set()
    missing = mine - set(routes["prints"])
    if missing:
        who = "an alert URL" if len(missing) == 1 else f"{len(missing)} alert URLs"
        return [f"the daemon does not call {who} of this shell; give it to the daemon: {ADD}"]
    if not routes["urls"]:
        return [f"no phone is set: nobody is called when something breaks; set one: {SETUP}"]
    return []
