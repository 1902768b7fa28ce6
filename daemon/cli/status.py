"""``status``: the state of a run now."""

from __future__ import annotations

import argparse

from ..config.secrets import mask_words
from ..report.status_page import page
from . import console
from .context import client
from .runs import loss_of, step_of


def status(args: argparse.Namespace) -> int:
    """Show one run; exit 1 when an incident is open, or the run failed, is failing or stalled."""
    data = client(args).ask("status", run=args.run)
    data["command"] = mask_words(data["command"])
    bad = bool(data["incidents"]) or data["state"] in ("failed", "failing", "stalled")
    if args.json:
        console.as_json(data)
    elif args.oneline:
        step, loss = step_of(data["now"]), loss_of(data["now"])
        told = "; ".join(i["summary"] for i in data["incidents"]) or data["state_reason"]
        state = console.paint(data["state"])
        console.say(f"{data['run']} ", state, f" step {step} loss {loss}: {told}")
    else:
        text = page(data, data["box"], data["watch"], data["updated_at"])
        for line in text.splitlines():
            console.say(line)
    return int(bad)
